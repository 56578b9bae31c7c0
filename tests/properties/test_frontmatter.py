"""Whatever a SKILL.md holds, taking it apart ends, says something, and keeps what was written."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skillhub_mcp.skills import frontmatter
from skillhub_mcp.skills.frontmatter import Document, parse

LOADERS = [name for name in ("CSafeLoader", "SafeLoader") if hasattr(yaml, name)]

PIECES = st.sampled_from(
    (
        *("name", "description", "metadata", "a", "b", "null", "~", "yes", "1.10", "x: y", "#", " # ", "'", '"', "\\"),
        *(": ", ":", "- ", "? ", "[", "]", "{", "}", ",", "|", ">", ">-", "&a ", "*a", "!!map ", "!", "%", "@", "`"),
        *(
            "\n",
            "\n  ",
            "\r\n",
            "\t",
            " ",
            "  ",
            "---",
            "...",
            "--- ",
            "\u2028",
            "\x85",
            "\ufeff",
            "é",
            "🧪",
            "\0",
            "\x07",
        ),
        *(r"\ud800", r"\Uffffffff", r"\x", "<<: *a", "<<", "=", "0o17"),
    )
)
YAML_LIKE = st.lists(PIECES, max_size=60).map("".join)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
HEADERS = YAML_LIKE | TEXT
LINE_BREAKS = st.sampled_from(["\n", "\r\n"])
KEYS = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=12)


@pytest.fixture(autouse=True, params=LOADERS, scope="module")
def parser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every property holds with libyaml and with the pure parser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontmatter, "_Loader", getattr(yaml, request.param))
        yield


def assert_sound(document: Document, content: bytes) -> None:
    assert document.values is not None or document.diagnostics
    document.body.encode()
    lines = content.count(b"\n") + 1
    for diagnostic in document.diagnostics:
        assert diagnostic.line is None or 1 <= diagnostic.line <= lines
    assert all(1 <= line <= lines for line in document.lines.values())
    assert set(document.lines) == set(document.values or {})
    assert_plain(document.values)


def assert_plain(value: object) -> None:
    """Values are text, lists and maps of text that can be written as UTF-8."""
    if isinstance(value, dict):
        for key, item in value.items():
            assert isinstance(key, str)
            assert_plain(item)
    elif isinstance(value, list):
        for item in value:
            assert_plain(item)
    elif value is not None:
        assert isinstance(value, str)
        value.encode()


@given(content=st.binary(max_size=400))
@example(content=b"\xff\xfe")
@example(content=b"\xfe\xff\x00")
@example(content=b"\xef\xbb\xbf---")
def test_any_bytes_are_taken_apart(content: bytes) -> None:
    document = parse(content)
    assert document.values is not None or document.diagnostics


@given(header=HEADERS, body=TEXT, line_break=LINE_BREAKS)
def test_any_text_between_fences_is_taken_apart(header: str, body: str, line_break: str) -> None:
    content = f"---{line_break}{header}{line_break}---{line_break}{body}".encode()
    assert_sound(parse(content), content)


@given(values=st.dictionaries(KEYS, TEXT | st.lists(TEXT, max_size=3), max_size=5))
def test_lists_come_back_as_they_were(values: dict[str, str | list[str]]) -> None:
    # Double quotes hold every character but as an escape, so that this is no test of PyYAML's folding.
    header = yaml.safe_dump(values, sort_keys=False, default_style='"')
    assert parse(f"---\n{header}---\n".encode()).values == values


@given(header=st.binary(max_size=200))
def test_any_bytes_between_fences_are_taken_apart(header: bytes) -> None:
    document = parse(b"---\n" + header + b"\n---\nbody\n")
    assert document.values is not None or document.diagnostics


@given(values=st.dictionaries(KEYS, TEXT, max_size=8), body=TEXT, style=st.sampled_from([None, "'", '"', "|", ">"]))
def test_written_values_come_back_as_they_were(values: dict[str, str], body: str, style: str | None) -> None:
    assume("\0" not in body)
    header = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, default_style=style)
    # Only where the writer is right: PyYAML writes a lone U+0085, for one, so that it does not read it back.
    assume(yaml.safe_load(header) == values)
    document = parse(f"---\n{header}---\n{body}".encode())
    assert document.values == values
    assert list(document.lines) == list(values)
    assert document.body == body
    assert document.diagnostics == ()


@pytest.mark.acceptance("S2-22")
@given(body=TEXT, line_break=LINE_BREAKS, blanks=st.text(" \t", max_size=3))
@example(body="---\n---\n", line_break="\n", blanks="")
@example(body="\r\n---\r\n", line_break="\r\n", blanks="")
def test_the_body_is_exactly_what_follows_the_fence(body: str, line_break: str, blanks: str) -> None:
    assume("\0" not in body)
    document = parse(f"---{line_break}name: a{line_break}---{blanks}{line_break}{body}".encode())
    assert document.values == {"name": "a"}
    assert document.body == body


@given(value=st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1).map(str.strip))
def test_any_one_line_of_plain_text_is_served_as_yaml_reads_it_or_as_it_stands(value: str) -> None:
    """A lone value never breaks a file, unless it opens a quote, a bracket or a block of its own."""
    assume(value and value[0] not in "'\"[{|>#&!")
    document = parse(f"---\nname: a\ndescription: {value}\n---\n".encode())
    assert document.values is not None
    assert document.values["name"] == "a"
    if document.diagnostics:
        assert document.values["description"] == value
