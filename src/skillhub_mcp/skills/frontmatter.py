"""How is a SKILL.md read? Bytes in; frontmatter values, body and diagnostics out. No I/O.

The rules of this module:
1. A real YAML parser reads first; a repair is tried only after it failed, and is always noted.
2. Scalars are the text that was written: `1.10`, `yes` and `2024-01-01` stay text (DECISIONS 15).
3. Everything is bounded while it is read: characters, depth, nodes.
4. The closing fence is a line, never a substring: `---` inside a value or the body is just text.
5. A header of nothing but one-line `key: value` pairs is read without the YAML machinery, which costs five times as
   much as all the rest of a scan. Whatever is not beyond doubt goes to the real parser; a property test holds both to
   one outcome.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from skillhub_mcp.skills.rules import Diagnostic, breach

MAX_FRONTMATTER_CHARACTERS = 64 * 1024
# No header needs more bytes: four for each character, and as much again for blanks before it and for the fences.
MAX_HEADER_BYTES = 2 * 4 * MAX_FRONTMATTER_CHARACTERS
MAX_DEPTH = 32
MAX_NODES = 10_000

_OPENING = re.compile(r"-{3}[ \t]*\r?\n")
_CLOSING = re.compile(r"^-{3}[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_OPENING_BYTES = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n \t]*-{3}[ \t]*\r?\n")
_CLOSING_BYTES = re.compile(rb"(?<=\n)-{3}[ \t]*\r?(?:\n|\Z)")
# Blanks stand in one place only: two ways to share them out would take the square of their number.
_MAYBE_OPENING_BYTES = re.compile(rb"(?:\xef\xbb?\xbf?)?[\r\n \t]*(?:-{1,2}|-{3}[ \t]*\r?)?\Z")
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_NULL_WORDS = frozenset({"", "~", "null", "Null", "NULL"})
_TOP_LEVEL_LINE = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?:[ \t]+(?P<value>.*))?$")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
# What YAML allows nowhere, not even quoted.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
# One line `key: value` or `key:`, in printable characters that end no line for YAML either.
_PAIR = re.compile(
    r"( {0,8})([A-Za-z][A-Za-z0-9_.-]{0,100}):"
    r"(?:[ ]+([^\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
    r"(?:[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]*"
    r"[^\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff])?))?[ ]*\r?\Z"
)
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_MAX_PLAIN_LINES = 1_000
_NOT_PLAIN_SCALAR = object()
# A value that begins so is a structure, a comment or already quoted: quoting it would change what it means.
_NOT_PLAIN = ("'", '"', "[", "{", "|", ">", "#")
_NOT_STRUCTURED = ("'", '"', "|", ">", "#")
# libyaml reads ten times faster; the pure parser is the same language, for an installation without it.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The pure parser also fails in chr(), where an escape names no character.
_UNPARSABLE = (yaml.YAMLError, ValueError, OverflowError)

Value = object  # None, str, list[Value] or dict[str, Value]


@dataclass(frozen=True, slots=True)
class Document:
    """A SKILL.md taken apart. `values` is None when the frontmatter could not be used; `diagnostics` says why."""

    values: Mapping[str, Value] | None
    lines: Mapping[str, int]
    body: str
    diagnostics: tuple[Diagnostic, ...]
    header: str = ""
    first_line: int = 1


class _TooComplex(Exception):
    """The YAML is deeper or larger than any honest frontmatter."""


class _Broken(yaml.YAMLError):
    """The parser's events are not a document."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        super().__init__(problem)
        self.problem_mark = event.start_mark


def parse(content: bytes) -> Document:
    """Take a SKILL.md's bytes apart (seed 002 §5.2, DECISIONS 11 and 15). Never raises on bad content."""
    text, found = decode(content)
    if text is None:
        return Document(None, {}, "", tuple(found))
    header, body, first_line, fence_breaches = _split(text)
    found += fence_breaches
    if header is None:
        return Document(None, {}, body, tuple(found))
    values, lines, yaml_breaches = _read_yaml(header, first_line)
    return Document(values, lines, body, (*found, *yaml_breaches), header, first_line)


def header_end(content: bytes, *, whole: bool) -> int | None:
    """Return how many of a file's first bytes decide what its frontmatter is; None when more of them are needed.

    `whole` says that `content` is all of the file. What lies behind those bytes changes nothing (seed 003 §1).
    """
    content = content[:MAX_HEADER_BYTES]
    enough = len(content) if whole or len(content) == MAX_HEADER_BYTES else None
    if content.startswith(_UTF_16_MARKS):
        return enough
    opening = _OPENING_BYTES.match(content)
    if opening is None:
        return enough if _MAYBE_OPENING_BYTES.match(content) else len(content)
    closing = _CLOSING_BYTES.search(content, opening.end())
    if closing is None or (closing.end() == len(content) and not content.endswith(b"\n")):
        return enough
    return closing.end()


def decode(content: bytes) -> tuple[str | None, list[Diagnostic]]:
    """Return the text of a file and what is odd about its encoding; no text where it is none (DECISIONS 15)."""
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            text = content[2:].decode(encoding, errors="replace")
            if "\0" in text:
                return None, [breach("file-binary", "the file holds NUL characters")]
            return text, [breach("file-encoding", f"the file is {encoding.upper()}")]
    if b"\0" in content:
        return None, [breach("file-binary", "the file holds NUL bytes")]
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        # Windows-1252 is what such files nearly always are; Latin-1 takes the few bytes it leaves undefined.
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
        return text, [breach("file-encoding", "the file is not UTF-8; it was read as Windows-1252", line=line)]


def _split(text: str) -> tuple[str | None, str, int, list[Diagnostic]]:
    """Return the frontmatter's text, the body, the line the frontmatter's text begins on, and any breaches."""
    found: list[Diagnostic] = []
    start = len(text) - len(text.lstrip("\r\n \t"))
    opening = _OPENING.match(text, start)
    if opening is None:
        return (
            None,
            text,
            1,
            [breach("frontmatter-missing", "the file does not begin with a line ---", line=1)],
        )
    if start:
        found.append(breach("frontmatter-late", "the frontmatter does not begin on the first line", line=1))
    header_start = opening.end()
    first_line = text.count("\n", 0, header_start) + 1
    closing = _CLOSING.search(text, header_start)
    if closing is not None and closing.start() - header_start <= MAX_FRONTMATTER_CHARACTERS:
        return text[header_start : closing.start()], text[closing.end() :], first_line, found
    found.append(
        breach(
            "frontmatter-unclosed",
            f"no closing line --- within {MAX_FRONTMATTER_CHARACTERS:,} characters",
            line=first_line - 1,
        )
    )
    return None, text[header_start:], first_line, found


_Yaml = tuple[Mapping[str, Value] | None, Mapping[str, int], list[Diagnostic]]


def _read_yaml(header: str, first_line: int) -> _Yaml:
    plain = _plain_values(header, first_line)
    if plain is not None:
        return (*plain, [])
    try:
        return _values(header, first_line)
    except _TooComplex as error:
        return None, {}, [breach("yaml-too-complex", str(error), line=first_line)]
    except _UNPARSABLE as error:
        failure = _yaml_failure(error, header, first_line)
    for attempt in _repairs(header):
        try:
            values, lines, found = _values(attempt, first_line)
        except (_TooComplex, *_UNPARSABLE):
            continue
        if values is not None:
            return values, lines, [breach("yaml-repaired", failure.message, line=failure.line), *found]
    return None, {}, [failure]


def _repairs(header: str) -> Iterator[str]:
    """Yield what the header perhaps was meant to be, the least change first."""
    printable = _UNPRINTABLE.sub(" ", header)
    lines = printable.split("\n")
    tried = {header}
    for kept, wanted in (
        (_NOT_PLAIN, _is_broken),
        (_NOT_PLAIN, lambda _: True),
        # A value that looks like a list or a map and is none is not worth a skill, unless it is what names it.
        (_NOT_STRUCTURED, _is_broken_aside),
        (_NOT_STRUCTURED, _is_plain_or_broken_aside),
    ):
        attempt = "\n".join(_rewritten_lines(lines, kept, wanted))
        if attempt not in tried:
            tried.add(attempt)
            yield attempt


def _values(header: str, first_line: int) -> _Yaml:
    reader = _EventReader(header, first_line)
    values = reader.document()
    if not isinstance(values, dict):
        return None, {}, [breach("yaml-not-mapping", "the frontmatter is not a map", line=first_line)]
    return values, reader.lines, list(reader.found)


def _plain_values(header: str, first_line: int) -> tuple[dict[str, Value], dict[str, int]] | None:
    """Read a header of one-line pairs, at most one map of such pairs deep; None for anything else (rule 5)."""
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    inner: dict[str, Value] | None = None
    indent = ""
    for number, line in enumerate(header.split("\n"), first_line):
        if not line or line == "\r":
            continue
        pair = _PAIR.match(line)
        if pair is None or number - first_line > _MAX_PLAIN_LINES:
            return None
        blanks, key, written = pair.groups()
        if blanks:
            if inner is None or written is None or blanks != (indent or blanks):
                return None
            indent, target = blanks, inner
        else:
            # A key with nothing behind and nothing below has no value, which the parser may say.
            if inner == {}:
                return None
            lines[key] = number
            inner, indent, target = (None, "", values) if written is not None else ({}, "", values)
        value = inner if written is None else _plain_scalar(written)
        if value is _NOT_PLAIN_SCALAR or key in target:
            return None
        target[key] = value
    return None if inner == {} else (values, lines)


def _plain_scalar(written: str) -> Value:
    """Return what a scalar on one line stands for, or `_NOT_PLAIN_SCALAR` where that takes the parser to tell."""
    first = written[0]
    if first in "\"'":
        quoted = written[1:-1]
        closed = len(written) > 1 and written[-1] == first
        return quoted if closed and first not in quoted and "\\" not in quoted else _NOT_PLAIN_SCALAR
    if first in _INDICATORS or written[-1] == ":" or ": " in written or " #" in written:
        return _NOT_PLAIN_SCALAR
    return None if written in _NULL_WORDS else written


class _EventReader:
    """Makes plain values of the parser's events, counting as it goes.

    Events, not nodes: PyYAML composes nodes by recursion in C, where a few thousand brackets end the whole process.
    An alias is written out where it stands, so that an alias bomb meets the same bounds as any other text.
    """

    def __init__(self, header: str, first_line: int) -> None:
        self.lines: dict[str, int] = {}
        self.found: dict[Diagnostic, None] = {}  # in order, each once
        self._header = header
        self._first_line = first_line
        self._next: Callable[[], yaml.Event] = _Loader(header).get_event
        self._anchored: dict[str, Value] = {}
        self._unfinished: set[str] = set()
        self._nodes = 0
        self._characters = 0

    def document(self) -> Value:
        """Return the value of the only document; an empty one is an empty map."""
        self._next()  # the stream's start
        if isinstance(self._next(), yaml.StreamEndEvent):
            return {}
        value = self._value(self._next(), depth=0)
        self._next()  # the document's end
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise _Broken("a second YAML document begins", after)
        return value

    def _value(self, event: yaml.Event, depth: int) -> Value:
        if isinstance(event, yaml.AliasEvent):
            return self._written_out(event, depth)
        text = event.value if isinstance(event, yaml.ScalarEvent) else ""
        self._count(text, depth)
        if not text.isascii() and _HALF_CHARACTER.search(text):
            raise _Broken("found half of a character", event)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._unfinished.add(anchor)
        value: Value
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(depth)
        else:
            value = None if not getattr(event, "style", None) and text in _NULL_WORDS else text
        if anchor is not None:
            self._unfinished.discard(anchor)
            self._anchored[anchor] = value
        return value

    def _mapping(self, depth: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key_value = self._value(event, depth + 1)
            key = event.value if isinstance(event, yaml.ScalarEvent) else key_value
            if not isinstance(key, str):
                key = "?"
            if key in values:
                self._note("yaml-duplicate-key", f"{key!r} stands twice", event)
            if depth == 0:
                self.lines[key] = self._line(event)
            values[key] = self._value(self._next(), depth + 1)
        return values

    def _sequence(self, depth: int) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event, depth + 1))
        return values

    def _written_out(self, event: yaml.AliasEvent, depth: int) -> Value:
        if event.anchor in self._unfinished:
            raise _TooComplex(f"the alias {event.anchor!r} stands in what it stands for")
        if event.anchor not in self._anchored:
            raise _Broken(f"undefined alias {event.anchor!r}", event)
        self._note("yaml-alias", f"the alias {event.anchor!r} is used", event)
        return self._copy(self._anchored[event.anchor], depth)

    def _copy(self, value: Value, depth: int) -> Value:
        self._count(value if isinstance(value, str) else "", depth)
        if isinstance(value, dict):
            return {self._copy(key, depth + 1): self._copy(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item, depth + 1) for item in value]
        return value

    def _count(self, text: str, depth: int) -> None:
        self._nodes += 1
        self._characters += len(text)
        if depth > MAX_DEPTH:
            raise _TooComplex(f"the frontmatter is nested more than {MAX_DEPTH} deep")
        if self._nodes > MAX_NODES:
            raise _TooComplex(f"the frontmatter holds more than {MAX_NODES:,} keys and values")
        if self._characters > MAX_FRONTMATTER_CHARACTERS:
            raise _TooComplex(
                f"the frontmatter's aliases stand for more than {MAX_FRONTMATTER_CHARACTERS:,} characters"
            )

    def _note(self, rule: str, what: str, event: yaml.Event) -> None:
        self.found[breach(rule, what, line=self._line(event))] = None

    def _line(self, event: yaml.Event) -> int:
        mark = event.start_mark
        return _line_at(0 if mark is None else mark.index, self._header, self._first_line)


def _line_at(index: int, header: str, first_line: int) -> int:
    # Not the parser's own count of lines: for it, U+2028 and the like end a line, for an editor they do not.
    return first_line + header.count("\n", 0, index)


def _yaml_failure(error: Exception, header: str, first_line: int) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    index = None if mark is None else mark.index
    if isinstance(error, yaml.reader.ReaderError):
        # Its position counts bytes in one parser and characters in the other.
        index = next((found.start() for found in _UNPRINTABLE.finditer(header)), None)
    return breach("yaml-invalid", str(problem), line=None if index is None else _line_at(index, header, first_line))


def repaired(header: str) -> str:
    """Return the header as it is read where it is not YAML as written, or as it is where that does not help either."""
    for attempt in _repairs(header):
        try:
            if _values(attempt, 1)[0] is not None:
                return attempt
        except (_TooComplex, *_UNPARSABLE):
            continue
    return header


def _is_plain_or_broken_aside(entry: str) -> bool:
    return not entry.partition(":")[2].strip().startswith(("[", "{")) or _is_broken_aside(entry)


def _is_broken_aside(entry: str) -> bool:
    """Whether an entry is broken that a skill can do without."""
    return entry.partition(":")[0] not in ("name", "description") and _is_broken(entry)


def _is_broken(entry: str) -> bool:
    """Whether one `key: value`, which may run on over lines, is not YAML by itself."""
    try:
        return _values(entry, 1)[0] is None
    except (_TooComplex, *_UNPARSABLE):
        return True


def _rewritten_lines(lines: list[str], kept: tuple[str, ...], wanted: Callable[[str], bool]) -> Iterator[str]:
    """Put those values in quotes, where colons, hashes and quotes are only text, that are `wanted` and do not begin
    with one of the signs `kept`. Lines stay lines; `wanted` is asked of each whole `key: value`.
    """
    position = 0
    while position < len(lines):
        first = position
        line = lines[position]
        position += 1
        match = _TOP_LEVEL_LINE.match(line)
        value = (match.group("value") or "").rstrip() if match else ""
        if match is None or not value or value.startswith(kept):
            yield line
            continue
        written = [value]
        while position < len(lines) and lines[position][:1] in (" ", "\t") and lines[position].strip():
            written.append(lines[position].strip())
            position += 1
        if not wanted("\n".join(lines[first:position])):
            yield from lines[first:position]
            continue
        ending = "\r" if line.endswith("\r") else ""
        quoted = f"{ending}\n  ".join(written).replace("'", "''")
        yield f"{match.group('key')}: '{quoted}'{ending}"
