"""Parsing any SKILL.md ends, reports what is wrong, and preserves the text."""

from __future__ import annotations

import string
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skillhub_mcp.skills.frontmatter import MAX_HEADER_BYTES, Document, header_end, parse
from skillhub_mcp.skills.model import FileStamp
from skillhub_mcp.skills.parser import parse_skill

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

# Lines of pairs, as most headers are, with keys and values that YAML reads as something else.
NASTY = st.text(
    st.sampled_from("ab01 :#'\"-?,[]{}&*!|>%@`~\\.=<+\t\r\x85\xa0\u2028\u2029\u3000\ufeff\ufffe\x07\x7fé日🧪"),
    max_size=12,
)
WORDS = st.sampled_from(
    (
        *("", "~", "null", "Null", "NULL", "nULL", "yes", "1.10", "2024-01-01", "a b", "a: b", "a #b", "a#b", "#a"),
        *("''", '""', "'", '"', "'a'", '"a"', "'a''b'", '"a\\n"', "'a' b", "'a'b'", '"a" #b', "'a' : b", "'# x'"),
        *("a:", "a:b", ":a", "http://x/y", "- a", "-a", "---", "...", "? a", "& a", "*a", "|", ">-", "[a]", "{a}"),
        *("a ", "a\t", "\ta", "a\t#b", "a\t: b", "x" * 2_000, "x " * 1_000, "'" + "y" * 2_000 + "'", "=", "<<"),
    )
)
PAIR_KEYS = st.sampled_from(
    ("a", "b", "name", "description", "null", "yes", "1", "a.b", "a-", "a_b", "-a", "a b", "'a'", "<<", "é", "x" * 101)
) | st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=4)
PAIRS = st.tuples(
    st.sampled_from(("", "", "", " ", "  ", "    ", "\t", "         ")),
    PAIR_KEYS,
    st.sampled_from((": ", ": ", ": ", ":", ":  ", " : ", ":\t")),
    WORDS | NASTY,
).map("".join)
LINES = PAIRS | st.sampled_from(("", " ", "\t", "\r", "# a", "  # a", "- a", "  - a", "...", "a", "  a", "metadata:"))
PAIRED = st.lists(st.tuples(LINES, st.sampled_from(("\n", "\n", "\n", "\r\n", "\r"))).map("".join), max_size=8).map(
    "".join
)


# Nearly plain: different keys, one way of indenting, and about one unusual value.
SPANS = st.lists(NASTY, max_size=3).map("x y".join)
VALUES = st.one_of(
    WORDS, SPANS.map("a{}".format), SPANS.map("a{}b".format), SPANS.map("'{}'".format), SPANS.map('"{}"'.format)
)
NEARLY_PLAIN = st.lists(
    st.tuples(st.sampled_from(("", "", "  ")), VALUES | st.just("a b"), st.booleans()), max_size=5
).map(
    lambda rows: "".join(
        f"k{number}:\n  inner{number}: {value}\n" if nested else f"{indent if number else ''}k{number}: {value}\n"
        for number, (indent, value, nested) in enumerate(rows)
    )
)
HEADERS = YAML_LIKE | TEXT | PAIRED | NEARLY_PLAIN


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
def test_any_bytes_are_parsed(content: bytes) -> None:
    document = parse(content)
    assert document.values is not None or document.diagnostics


@given(header=HEADERS, body=TEXT, line_break=LINE_BREAKS)
def test_any_text_between_fences_is_parsed(header: str, body: str, line_break: str) -> None:
    content = f"---{line_break}{header}{line_break}---{line_break}{body}".encode()
    assert_sound(parse(content), content)


@given(values=st.dictionaries(KEYS, TEXT | st.lists(TEXT, max_size=3), max_size=5))
def test_lists_are_preserved(values: dict[str, str | list[str]]) -> None:
    # Double quotes hold every character but as an escape, so that this is no test of PyYAML's folding.
    header = yaml.safe_dump(values, sort_keys=False, default_style='"')
    assert parse(f"---\n{header}---\n".encode()).values == values


@given(header=st.binary(max_size=200))
def test_any_bytes_between_fences_are_parsed(header: bytes) -> None:
    document = parse(b"---\n" + header + b"\n---\nbody\n")
    assert document.values is not None or document.diagnostics


@given(values=st.dictionaries(KEYS, TEXT, max_size=8), body=TEXT, style=st.sampled_from([None, "'", '"', "|", ">"]))
def test_values_are_preserved(values: dict[str, str], body: str, style: str | None) -> None:
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


@given(pairs=st.dictionaries(KEYS, st.sampled_from(("", "a b", "1.10", "'a: b'", '"# c"', "é", "~")), max_size=6))
def test_plain_pairs_are_read_verbatim(pairs: dict[str, str]) -> None:
    assume("metadata" not in pairs)
    assume(all(key[0].isalpha() for key in pairs))
    written = {key: value for key, value in pairs.items() if value}
    header = "".join(f"{key}: {value}\n" for key, value in written.items())
    header += "metadata:\n" + "".join(f"  {key}: {value}\n" for key, value in written.items()) if written else ""
    read = {key: None if value == "~" else value.strip("'\"") for key, value in written.items()}
    document = parse(f"---\n{header}---\n".encode())
    assert document.values == ({**read, "metadata": read} if written else {})
    assert document.lines == {
        key: 2 + place for place, key in enumerate([*written, *(["metadata"] if written else [])])
    }
    assert document.diagnostics == ()


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
    PAIRED.map(str.encode) | YAML_LIKE.map(str.encode) | st.binary(max_size=40),
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


# Real headers, spoiled

SPOILING = (
    *(b"\0", b"\t", b"\r", b"\n", b" ", b"  ", b":", b": ", b" #", b"'", b'"', b"---\n", b"\n---\n", b"- ", b"? "),
    *(b"[", b"]", b"{", b"}", b",", b"|", b">", b"&a ", b"*a", b"!!map ", b"%", b"@", b"`", b"\\", b"\\ud800"),
    *(b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xff", b"\xfe", b"\xc3", b"\x07", b"<<: *a\n"),
)


def spoiled(header: bytes, random: Random) -> bytes:
    """Return a header with a few bytes flipped, put in, taken out, cut off or repeated."""
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(header))
        until = min(len(header), at + random.randint(1, 12))
        how = random.randrange(5)
        if how == 0:
            header = header[:at] + bytes(byte ^ 1 << random.randrange(8) for byte in header[at:until]) + header[until:]
        elif how == 1:
            header = header[:at] + random.choice(SPOILING) + header[at:]
        elif how == 2:
            header = header[:at] + header[until:]
        elif how == 3:
            header = header[:at]
        else:
            header = header[:at] + header[at:until] * random.randint(2, 40) + header[until:]
    return header


@pytest.mark.acceptance("S3-14")
def test_damaged_headers_of_real_skills_give_a_skill_or_a_reason(corpus: Path) -> None:
    random = Random(20_240_607)
    files = sorted(corpus.rglob("SKILL.md"))
    stamp = FileStamp(0, 0, "", 0)
    for _ in range(1_000):
        content = random.choice(files).read_bytes()[:6_000]
        content = spoiled(content[: header_end(content, whole=True)], random) + random.choice((b"", b"\n---\nbody\n"))
        document = parse(content)
        assert document.values is not None or document.diagnostics
        if not OF_THE_FILE & {diagnostic.rule for diagnostic in document.diagnostics}:
            assert_sound(document, content)
        assert_prefix_decides(content, (1, 5, 40, 200))
        read = parse_skill(content, directory="/r/a", root="/r", directory_name="a", stamp=stamp)
        assert (read.skill is not None) or read.diagnostics
        if read.skill is not None:
            assert len(read.skill.name) > 0
            read.skill.searchable_text.encode()
        assert 0 <= read.shape.longest <= len(content)
        assert read.shape.lines <= content.count(b"\n") + 1
