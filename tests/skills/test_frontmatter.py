"""What a SKILL.md is taken apart into, whatever its bytes (DECISIONS 15)."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.frontmatter import MAX_FRONTMATTER_BYTES, Document, parse


def rules(document: Document) -> list[str]:
    return [diagnostic.rule for diagnostic in document.diagnostics]


def values(header: str) -> dict[str, object]:
    document = parse(f"---\n{header}\n---\nbody".encode())
    assert document.values is not None, document.diagnostics
    return dict(document.values)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1.10", "1.10"),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        (".nan", ".nan"),
        ("null", None),
        ("~", None),
        ("", None),
        ('"null"', "null"),
        ("'it''s'", "it's"),
        ("a --- b", "a --- b"),
        ("'--- x'", "--- x"),
        ("!!python/object:os.system x", "x"),
        ("[a, 'b c']", ["a", "b c"]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        (">-\n  one\n  two", "one two"),
        ("|\n  one\n  ---\n  two\n", "one\n---\ntwo\n"),
    ],
)
def test_a_value_is_the_text_that_was_written(written: str, expected: object) -> None:
    assert values(f"key: {written}")["key"] == expected


@pytest.mark.acceptance("S2-22")
@pytest.mark.parametrize(
    "body",
    ["", "\n", "text", "\r\n# T\r\n\r\n", "---\n", "a\n---\nb\n---\n", "  \n\t", "日本語\n", "\ufefflate mark"],
)
def test_the_body_is_all_that_follows_the_closing_line(body: str) -> None:
    assert parse(b"---\nname: a\n---\n" + body.encode()).body == body


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_make_no_difference(newline: str, mark: str) -> None:
    document = parse((mark + newline.join(["---", "name: a", "---", "b"])).encode())
    assert (document.values, document.body, rules(document)) == ({"name": "a"}, "b", [])


def test_a_closing_line_may_end_the_file() -> None:
    document = parse(b"---\nname: a\n---")
    assert (document.values, document.body) == ({"name": "a"}, "")


@pytest.mark.parametrize(
    ("content", "name", "rule"),
    [
        ("---\nname: é\n---\n".encode("cp1252"), "é", "file-encoding"),
        (b"---\nname: \x81\n---\n", None, "file-encoding"),
        ("\ufeff---\nname: é\n---\n".encode("utf-16-le"), "é", "file-encoding"),
        ("\ufeff---\nname: é\n---\n".encode("utf-16-be"), "é", "file-encoding"),
    ],
)
def test_other_encodings_are_read_and_noted(content: bytes, name: str | None, rule: str) -> None:
    document = parse(content)
    assert rules(document)[0] == rule
    if name is not None:
        assert document.values == {"name": name}


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "frontmatter-missing"),
        (b"# Title\n", "frontmatter-missing"),
        (b"---", "frontmatter-missing"),
        (b"----\nname: a\n----\n", "frontmatter-missing"),
        (b"---\nname: a\n", "frontmatter-unclosed"),
        (b"---\nname: a\n ---\n", "frontmatter-unclosed"),
        (b"---\nx: " + b"a" * (MAX_FRONTMATTER_BYTES + 10) + b"\n---\n", "frontmatter-unclosed"),
        (b"---\nname: \0\n---\n", "file-binary"),
        (b"---\n- a\n- b\n---\n", "yaml-not-mapping"),
        (b"---\njust text\n---\n", "yaml-not-mapping"),
        (b"---\nname: [a\n---\n", "yaml-invalid"),
        (b"---\n\tname: a\n---\n", "yaml-invalid"),
        (b"---\nx: " + b"[" * 5_000 + b"\n---\n", "yaml-invalid"),
        (b"---\nx: " + b"[" * 50 + b"]" * 50 + b"\n---\n", "yaml-too-complex"),
        (b"---\na: &a [*a]\n---\n", "yaml-too-complex"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_rule(content: bytes, rule: str) -> None:
    document = parse(content)
    assert document.values is None
    assert rules(document)[-1] == rule


def test_an_alias_bomb_ends_early() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for name, before in zip("bcdefgh", "abcdefg", strict=True):
        bomb += f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    document = parse(f"---\n{bomb}---\n".encode())
    assert document.values is None
    assert rules(document) == ["yaml-too-complex"]


def test_an_alias_that_is_no_bomb_is_read_and_noted() -> None:
    document = parse(b"---\na: &x hello\nb: *x\n---\n")
    assert document.values == {"a": "hello", "b": "hello"}
    assert rules(document) == ["yaml-alias"]


def test_a_duplicate_key_is_noted_with_its_line_and_the_last_counts() -> None:
    document = parse(b"---\nname: a\ndescription: d\nname: b\n---\n")
    assert document.values == {"name": "b", "description": "d"}
    assert [(d.rule, d.line) for d in document.diagnostics] == [("yaml-duplicate-key", 4)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Use when: a PDF arrives", "Use when: a PDF arrives"),
        ("a: b: c", "a: b: c"),
        ("`code` first", "`code` first"),
        ("@mention first", "@mention first"),
        ("100% sure: yes", "100% sure: yes"),
        ("first: part\n  second: part", "first: part second: part"),
    ],
)
def test_a_value_that_should_have_been_quoted_is_mended_and_noted(written: str, expected: str) -> None:
    document = parse(f"---\nname: a\ndescription: {written}\n---\n".encode())
    assert document.values == {"name": "a", "description": expected}
    assert rules(document) == ["yaml-repaired"]
    assert document.diagnostics[0].line == 3


def test_a_nested_name_is_not_the_name() -> None:
    assert values("metadata:\n  name: inner") == {"metadata": {"name": "inner"}}


def test_keys_of_any_kind_are_text() -> None:
    assert values("1: a\ntrue: b\n? [x]\n: c") == {"1": "a", "true": "b", "?": "c"}


def test_blank_lines_before_the_frontmatter_are_noted() -> None:
    document = parse(b"\n\n---\nname: a\n---\n")
    assert document.values == {"name": "a"}
    assert rules(document) == ["frontmatter-late"]
    assert document.lines == {"name": 4}
