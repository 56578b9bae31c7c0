"""Parsing any SKILL.md ends, reports what is wrong, and preserves the text."""

from __future__ import annotations

import string
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skillhub_mcp.skills.frontmatter import MAX_HEADER_BYTES, Document, header_end, parse

pytestmark = pytest.mark.slow

PIECES = st.sampled_from(
    (
        *("name", "description", "metadata", "a", "b", "null", "~", "yes", "1.10", "x: y", "#", " # ", "'", '"', "\\"),
        *(": ", ":", "- ", "? ", "[", "]", "{", "}", ",", "|", ">", ">-", "&a ", "*a", "!!map ", "!", "%", "@", "`"),
        *("\n", "\n  ", "\r\n", "\t", " ", "  ", "---", "...", "--- ", "\u2028", "\x85", "\ufeff", "é", "🧪", "\0"),
        *(r"\ud800", r"\Uffffffff", r"\x", "<<: *a", "<<", "=", "0o17"),
    )
)
YAML_LIKE = st.lists(PIECES, max_size=60).map("".join)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
LINE_BREAKS = st.sampled_from(["\n", "\r\n"])
KEYS = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=12)

HEADERS = YAML_LIKE | TEXT


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


@given(
    content=st.binary(max_size=400) | st.binary(max_size=200).map(lambda header: b"---\n" + header + b"\n---\nbody\n")
)
@example(content=b"\xff\xfe")
@example(content=b"\xfe\xff\x00")
@example(content=b"\xef\xbb\xbf---")
def test_any_bytes_are_parsed(content: bytes) -> None:
    document = parse(content)
    assert document.values is not None or document.diagnostics


@given(header=HEADERS, body=TEXT, line_break=LINE_BREAKS)
def test_any_text_between_fences_is_parsed(header: str, body: str, line_break: str) -> None:
    content = f"---{line_break}{header}{line_break}---{line_break}{body}".encode()
    assert_sound(parse(content), content)


@given(
    values=st.dictionaries(KEYS, TEXT | st.lists(TEXT, max_size=3), max_size=8),
    body=TEXT,
    style=st.sampled_from([None, "'", '"', "|", ">"]),
)
def test_values_are_preserved(values: dict[str, str | list[str]], body: str, style: str | None) -> None:
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
def test_the_body_is_what_follows_the_fence(body: str, line_break: str, blanks: str) -> None:
    assume("\0" not in body)
    document = parse(f"---{line_break}name: a{line_break}---{blanks}{line_break}{body}".encode())
    assert document.values == {"name": "a"}
    assert document.body == body


@given(value=st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1).map(str.strip))
def test_plain_text_is_read_as_yaml_or_verbatim(value: str) -> None:
    """A lone value never breaks a file, unless it opens a quote, a bracket or a block of its own."""
    assume(value and value[0] not in "'\"[{|>#&!")
    document = parse(f"---\nname: a\ndescription: {value}\n---\n".encode())
    assert document.values is not None
    assert document.values["name"] == "a"
    if document.diagnostics:
        assert document.values["description"] == value


# What follows the frontmatter changes nothing

OPENINGS = st.sampled_from(
    (
        *(b"---\n", b"---\r\n", b"--- \t\n", b"\xef\xbb\xbf---\n", b"\n\r\n \t---\n", b"\xef\xbb\xbf\n---\n"),
        *(b"", b"-", b"--", b"---", b"----\n", b"---x\n", b"--- x\n", b"\xef\xbb---\n", b"\xef\xbf---\n", b"# a\n"),
        *(b"\xff\xfe", b"\xfe\xff", b"\xff\xfe-\0-\0-\0\n\0", b"\0", b"---\r", b"-\n--\n", b" - - -\n"),
    )
)
CLOSINGS = st.sampled_from(
    (b"\n---\n", b"\n---\r\n", b"\n--- \t\n", b"\n---", b"\n--- ", b"\n---\r", b"\n----\n", b"\n ---\n", b"---\n", b"")
)
FILES = st.tuples(
    OPENINGS,
    YAML_LIKE.map(str.encode) | st.binary(max_size=40),
    CLOSINGS,
    st.binary(max_size=40),
).map(b"".join)


OF_THE_FILE = {"file-binary", "file-encoding", "file-encoding-unknown"}


def as_judged(document: Document) -> object:
    """What a scan takes from a document: everything but the body."""
    return document.values, document.lines, document.diagnostics, document.header, document.first_line


def assert_prefix_decides(content: bytes, sizes: Iterable[int]) -> None:
    end = header_end(content, whole=True)
    assert end is not None
    assert end <= len(content)
    judged = as_judged(parse(content[:end]))
    for size in sizes:
        before = header_end(content[:size], whole=False)
        if before is not None and before != end:
            # It may be settled early only that there is no frontmatter, whatever else there is.
            assert before <= size
            assert parse(content[:before]).values is parse(content[:end]).values is None
    # The body's own bytes may be of another encoding: but for that, the whole file says the same.
    whole = parse(content)
    if not OF_THE_FILE & {d.rule for d in whole.diagnostics}:
        assert as_judged(whole) == judged


@given(content=FILES)
@example(content=b"---\na: b\n---\n\xff\0")
@example(content=b"---\na: b\n---x\n---\n")
@example(content=b"---\n---\n---\n")
@example(content=b"---\na: \xc3\n---\nbody")
def test_the_beginning_decides_as_the_whole_file(content: bytes) -> None:
    assert_prefix_decides(content, range(len(content) + 1))


@pytest.mark.acceptance("S3-6")
def test_the_beginning_of_a_real_skill_decides(corpus: Path) -> None:
    for file in corpus.rglob("SKILL.md"):
        content = file.read_bytes()
        assert_prefix_decides(content, (1, 2, 5, 64, 500, 2_048, 4_096, 16_384))


@pytest.mark.parametrize(
    "content",
    [
        b" " * 400_000 + b"x",
        b"\n" * 400_000 + b"x",
        b" \t\r\n" * 100_000 + b"--",
        b"---" + b" " * 400_000 + b"x",
        b"\n" * 400_000 + b"---\na: b\n---\n",
        b"\n" * 600_000 + b"---\na: b\n---\n",
        b"---\n" + b"---x\n" * 100_000,
        b"---\n---" + b" " * 400_000 + b"x\n",
        b"---\n" + b"\n" * 400_000 + b"---\n",
        b"---\na: b\n---\n" + b"x" * 2_000_000,
        b"\xff\xfe" + b"-\0" * 500_000,
    ],
    ids=lambda content: repr(content[:8] + b".." + content[-8:]),
)
def test_half_a_megabyte_decides_for_a_file_of_any_size(content: bytes) -> None:
    # Without a bound on what is tried, some of these take hours: there is no need to measure.
    sizes = [2_048 << doubled for doubled in range(9)]
    ends = [header_end(content[:size], whole=size >= len(content)) for size in sizes]
    first = next(end for end in ends if end is not None)
    assert first <= MAX_HEADER_BYTES
    assert parse(content[:first]).values == parse(content[: header_end(content, whole=True)]).values
