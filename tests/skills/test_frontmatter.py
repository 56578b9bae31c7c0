"""Parsing SKILL.md: text stays text, problems are reported at their lines, nothing raises or hangs."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.frontmatter import MAX_DEPTH, MAX_FRONTMATTER_CHARACTERS, MAX_NODES, Document, parse


def with_header(header: str, body: str = "# Body\n") -> bytes:
    return f"---\n{header}\n---\n{body}".encode()


def values_of(header: str) -> object:
    return parse(with_header(header)).values


def violations(document: Document) -> list[tuple[str, int | None]]:
    return [(diagnostic.rule, diagnostic.line) for diagnostic in document.diagnostics]


# Scalars


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1.10", "1.10"),
        ("0x1F", "0x1F"),
        ("1:30", "1:30"),
        (".nan", ".nan"),
        ("No", "No"),
        ("true", "true"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
        ("'null'", "null"),
        ('"~"', "~"),
        ("''", ""),
        ("split on --- markers", "split on --- markers"),
        ("'--- x'", "--- x"),
        ("a#b", "a#b"),
        ("it's", "it's"),
        ('say "hi" twice', 'say "hi" twice'),
        ('"a: b # c"', "a: b # c"),
        ("'it''s: here'", "it's: here"),
        (r'"\x41\u00e9\n"', "Aé\n"),
        ("日本語のスキル", "日本語のスキル"),
        ("https://example.org/a#b", "https://example.org/a#b"),
    ],
)
def test_a_scalar_is_the_text_as_written(written: str, text: str) -> None:
    document = parse(with_header(f"description: {written}"))
    assert document.values == {"description": text}
    assert document.diagnostics == ()


@pytest.mark.parametrize("written", ["", "~", "null", "Null", "NULL"])
def test_a_null_is_no_value(written: str) -> None:
    assert values_of(f"description: {written}") == {"description": None}


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("|\n  one\n  two\n", "one\ntwo\n"),
        ("|-\n  one\n   two", "one\n two"),
        ("|+\n  one\n", "one\n\n"),
        (">\n  one\n  two\n\n  three", "one two\nthree\n"),
        (">-\n  one: two\n  # three", "one: two # three"),
        ("|2-\n    one", "  one"),
        ("one\n  two\n  three", "one two three"),
        ('"one\n  two"', "one two"),
        ("'one\n\n  two'", "one\ntwo"),
        ("|\n  ---\n  a\n  ---", "---\na\n---\n"),
    ],
)
def test_multi_line_text_is_folded_as_in_yaml(block: str, text: str) -> None:
    document = parse(with_header(f"description: {block}\nname: x"))
    assert document.values == {"description": text, "name": "x"}
    assert document.diagnostics == ()


def test_flow_and_block_lists_and_maps_are_kept() -> None:
    header = "a: [x, 1.0]\nb:\n- x\n- [y]\nc: {d: e, f: {g: 1}}\nh:\n  i:\n  - no"
    assert values_of(header) == {
        "a": ["x", "1.0"],
        "b": ["x", ["y"]],
        "c": {"d": "e", "f": {"g": "1"}},
        "h": {"i": ["no"]},
    }


def test_a_name_below_metadata_is_not_the_name() -> None:
    document = parse(with_header("metadata:\n  name: inner\nname: outer"))
    assert document.values == {"metadata": {"name": "inner"}, "name": "outer"}
    assert document.lines == {"metadata": 2, "name": 4}


@pytest.mark.parametrize(
    ("header", "key"),
    [("1: x", "1"), ("yes: x", "yes"), ("null: x", "null"), ("'': x", ""), ("? [a, b]\n: x", "?"), ("<<: x", "<<")],
)
def test_a_non_text_key_becomes_text(header: str, key: str) -> None:
    assert values_of(header) == {key: "x"}


@pytest.mark.parametrize(
    "tagged",
    [
        "!!python/object/apply:os.system [echo]",
        "!!python/object:os.system {a: b}",
        "!!python/name:os.system x",
        "!!python/module:os x",
        "!!binary aGk=",
        "!!int 7",
        "!!timestamp 2024-01-01",
    ],
)
def test_yaml_tags_create_only_text_lists_and_maps(tagged: str) -> None:
    document = parse(with_header(f"description: {tagged}"))
    assert document.values is not None
    assert document.values["description"] in (["echo"], {"a": "b"}, "x", "aGk=", "7", "2024-01-01")


# The body


@pytest.mark.acceptance("S2-22")
@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "# A\n\ntext\n",
        "no newline at the end",
        "---\n\nname: not frontmatter\n---\n",
        "a\n\n---\n\nb\n---",
        "\n\n  indented\t\n   \n",
        "line\r\nbreaks\r\nof\rall\nkinds\u2028\x85\x0c\n",
        "\ufeffa mark within",
        "```yaml\n---\nname: x\n---\n```\n",
    ],
)
def test_the_body_is_everything_after_the_closing_fence(body: str) -> None:
    for line_break in ("\n", "\r\n"):
        fences = f"---{line_break}name: a{line_break}---{line_break}"
        document = parse(fences.encode() + body.encode())
        assert document.values == {"name": "a"}
        assert document.body == body
        assert document.diagnostics == ()


@pytest.mark.acceptance("S4-6")
@pytest.mark.parametrize("end", ["---", "---\n", "--- ", "---\r\n"])
def test_a_fence_may_end_the_file(end: str) -> None:
    document = parse(f"---\nname: a\n{end}".encode())
    assert (document.values, document.body, document.diagnostics) == ({"name": "a"}, "", ())


@pytest.mark.parametrize("line", ["---x", "--- x", " ---", "--", "- - -"])
def test_only_a_line_of_exactly_three_hyphens_closes(line: str) -> None:
    document = parse(f"---\nname: a\ndescription: |\n  x\n# {line}\n---\nbody".encode())
    assert document.body == "body"
    unclosed = parse(f"---\nname: a\n{line}\nbody\n".encode())
    assert violations(unclosed) == [("frontmatter-unclosed", 1)]


# Encodings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_read_and_reported(encoding: str) -> None:
    text = "---\nname: a\ndescription: é日本\n---\nbödy\n"
    mark = "" if encoding == "utf-16" else "\ufeff"
    document = parse((mark + text).encode(encoding))
    assert document.values == {"name": "a", "description": "é日本"}
    assert document.body == "bödy\n"
    assert [rule for rule, _ in violations(document)] == ["file-encoding"]


@pytest.mark.parametrize(
    "content",
    [
        b"---\nname: a\n---\n\x00",
        b"\x7fELF\x02\x01\x01\x00",
        "---\nname: a\n---\n".encode("utf-16-le"),
        "---\nname: a\n---\n".encode("utf-32"),
        "\ufeff---\nname: a\n---\n\0".encode("utf-16-be"),
    ],
)
def test_a_file_with_a_nul_is_not_text(content: bytes) -> None:
    document = parse(content)
    assert document.values is None
    assert document.body == ""
    assert violations(document) == [("file-binary", None)]


# Unusable frontmatter


@pytest.mark.parametrize("content", [b"", b"\n", b"# Title\n", b"name: a\n---\n", b"---", b"---name: a\n---\n"])
def test_missing_frontmatter_is_reported_at_line_one(content: bytes) -> None:
    document = parse(content)
    assert document.values is None
    assert violations(document) == [("frontmatter-missing", 1)]


def test_blank_lines_before_the_frontmatter_are_skipped_and_reported() -> None:
    document = parse(b"\n \n---\nname: a\nb: c: d\ndescription: d\n---\nbody")
    assert document.values == {"name": "a", "b": "c: d", "description": "d"}
    assert document.lines == {"name": 4, "b": 5, "description": 6}
    assert violations(document) == [("frontmatter-late", 1), ("yaml-repaired", 5)]


def test_frontmatter_up_to_the_maximum_size_is_read() -> None:
    header = "description: ".ljust(MAX_FRONTMATTER_CHARACTERS - 1, "x")
    assert parse(with_header(header)).values == {"description": header.removeprefix("description: ")}
    assert violations(parse(with_header(header + "x"))) == [("frontmatter-unclosed", 1)]


@pytest.mark.parametrize("header", ["- a\n- b", "just text", "null", "'quoted'", "[a, b]", "7"])
def test_frontmatter_that_is_not_a_map_is_refused(header: str) -> None:
    document = parse(with_header(header))
    assert document.values is None
    assert violations(document) == [("yaml-not-mapping", 2)]


@pytest.mark.parametrize("header", ["", "# only a remark", "\n\n", "{}"])
def test_empty_frontmatter_is_an_empty_map(header: str) -> None:
    document = parse(with_header(header))
    assert (document.values, document.diagnostics) == ({}, ())


@pytest.mark.parametrize(
    ("header", "line"), [("name: a\nb: 'open", 4), ('name: "a" b', 2), ("name:\n\tb: c", 3), ("name: a\n... \nmore", 4)]
)
def test_unreadable_yaml_is_refused_at_its_line(header: str, line: int) -> None:
    document = parse(with_header(header))
    assert document.values is None
    (violation,) = document.diagnostics
    assert violation.rule == "yaml-invalid"
    assert violation.line is not None
    # The end of an open quote is reported, or its line.
    assert line - 1 <= violation.line <= line + 1
    assert violation.message


# Repair


def test_lines_are_right_after_a_repair() -> None:
    header = "name: a\ndescription: Use: this\n  and: that\nlicense: MIT\nextra: x\nextra: y\nmetadata:\n  a: b"
    document = parse(with_header(header))
    assert document.lines == {"name": 2, "description": 3, "license": 5, "extra": 7, "metadata": 8}
    assert violations(document) == [("yaml-repaired", 3), ("yaml-duplicate-key", 7)]


def test_a_repair_keeps_structures_quotes_and_comments() -> None:
    header = 'b: "x: y"\nc: [p, q]\nd: {e: f}\ng: |\n  h: i\nmetadata: # a remark\n  j: k\nbroken: x: y\ndescription: d'
    assert values_of(header) == {
        "b": "x: y",
        "c": ["p", "q"],
        "d": {"e": "f"},
        "g": "h: i\n",
        "metadata": {"j": "k"},
        "broken": "x: y",
        "description": "d",
    }


# Lines


def test_lines_are_counted_as_in_an_editor() -> None:
    header = "name: a\ndescription: 'one\u2028\n  two\x85'\nextra: x\nextra: y"
    document = parse(with_header(header))
    assert document.lines == {"name": 2, "description": 3, "extra": 6}
    assert violations(document) == [("yaml-duplicate-key", 6)]


# Duplicate keys and aliases


def test_the_last_of_two_equal_keys_counts_and_is_noted() -> None:
    document = parse(with_header("name: a\nname: b\nmetadata:\n  x: 1\n  x: 2"))
    assert document.values == {"name": "b", "metadata": {"x": "2"}}
    assert document.lines["name"] == 3
    assert violations(document) == [("yaml-duplicate-key", 3), ("yaml-duplicate-key", 6)]


def test_a_yaml_alias_is_expanded_and_noted_at_its_line() -> None:
    document = parse(with_header("a: &x [p, {q: r}]\nb: 1\nc: *x\nd: [*x]"))
    assert document.values == {"a": ["p", {"q": "r"}], "b": "1", "c": ["p", {"q": "r"}], "d": [["p", {"q": "r"}]]}
    assert violations(document) == [("yaml-alias", 4), ("yaml-alias", 5)]


def alias_bomb(levels: int, width: int, *, top: str = "") -> str:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines) + top.replace("*last", f"*a{levels - 1}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(alias_bomb(9, 9), id="lists"),
        pytest.param(alias_bomb(4, 12, top="\n? *last\n: x"), id="as a key"),
        pytest.param(alias_bomb(4, 12, top="\n? [*last]\n: x"), id="within a key"),
        pytest.param("a: &a {k: v}\n" + "\n".join(f"k{n}: *a" for n in range(6_000)), id="many small ones"),
        pytest.param("a: &a " + "y" * 30_000 + "\nb: [*a, *a, *a]", id="long text"),
        pytest.param("a: &a {" + ", ".join(f"{n:0900}: v" for n in range(33)) + "}\nb: [*a, *a, *a]", id="long keys"),
        pytest.param("a0: &a0 " + "[" * 20 + "]" * 20 + "\na1: &a1 " + "[" * 20 + "*a0" + "]" * 20, id="depth"),
        pytest.param("a: &a [*a]", id="a list in itself"),
        pytest.param("a: &a {b: {c: *a}}", id="a mapping in itself"),
        pytest.param("&a a: &b [*b]", id="a value in itself"),
        pytest.param("\n".join(f"k{n}:" for n in range(MAX_NODES // 2 + 1)), id="many keys"),
        pytest.param("a:\n" * 20_000, id="one key many times"),
        pytest.param("a: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), id="too deep by one"),
        pytest.param("a: " + "[" * 3_000 + "]" * 3_000, id="deep and closed"),
        pytest.param("a: " + "[" * 60_000, id="deep and open"),
        pytest.param("a: " + "{a: " * 12_000, id="deep maps"),
        pytest.param("- " * 30_000, id="deep block lists"),
        pytest.param("? " * 30_000, id="deep keys"),
        pytest.param("[" * 60_000, id="deep from the start"),
    ],
)
def test_excessive_yaml_is_refused_early(header: str) -> None:
    document = parse(with_header(header))
    assert document.values is None
    assert violations(document) == [("yaml-too-complex", 2)]


def test_yaml_of_the_maximum_depth_is_read() -> None:
    assert values_of("a: " + "[" * (MAX_DEPTH - 1) + "x" + "]" * (MAX_DEPTH - 1)) is not None
