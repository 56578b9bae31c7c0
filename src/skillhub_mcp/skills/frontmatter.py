"""The parser of SKILL.md: bytes in; frontmatter values, body and diagnostics out. No I/O.

Its rules:
1. A YAML parser reads the frontmatter first. A repair is tried only if that fails, and is always reported.
2. Scalars keep their text: `1.10`, `yes` and `2024-01-01` are strings.
3. Characters, depth and nodes are bounded while they are read.
4. The closing fence is a whole line: `---` inside a value or the body is ordinary text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from skillhub_mcp.skills.encodings import SAMPLE_BYTES, damaged_utf_8, detect, one_of, sampled
from skillhub_mcp.skills.rules import Diagnostic, violation

MAX_FRONTMATTER_CHARACTERS = 64 * 1024
# Four bytes for each character, and as much again for blanks before the header and for the fences.
MAX_HEADER_BYTES = 2 * 4 * MAX_FRONTMATTER_CHARACTERS
MAX_DEPTH = 32
MAX_NODES = 10_000

_OPENING = re.compile(r"-{3}[ \t]*\r?\n")
_CLOSING = re.compile(r"^-{3}[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_OPENING_BYTES = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n \t]*-{3}[ \t]*\r?\n")
_CLOSING_BYTES = re.compile(rb"(?<=\n)-{3}[ \t]*\r?(?:\n|\Z)")
# Blanks match in one place only: two ways to divide them would make matching quadratic.
_MAYBE_OPENING_BYTES = re.compile(rb"(?:\xef\xbb?\xbf?)?[\r\n \t]*(?:-{1,2}|-{3}[ \t]*\r?)?\Z")
_UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TOP_LEVEL_LINE = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?:[ \t]+(?P<value>.*))?$")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Characters that YAML allows nowhere, not even quoted.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
# A value with such a prefix is a structure, a comment or already quoted: quoting would change its meaning.
_NOT_PLAIN = ("'", '"', "[", "{", "|", ">", "#")
_NOT_STRUCTURED = ("'", '"', "|", ">", "#")
# libyaml is ten times faster; the pure-Python parser reads the same language where libyaml is not installed.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The pure-Python parser also fails in chr(), for an escape that is no character.
_UNPARSABLE = (yaml.YAMLError, ValueError, OverflowError)
# From PyYAML 6.0.4 on the scanner has a limit of its own, a thousand levels, which it meets before our reader does.
_TOO_DEEP = "exceeded maximum nesting depth"
_TOO_DEEP_TOLD = f"the frontmatter is nested more than {MAX_DEPTH} levels deep"

Value = object  # None, str, list[Value] or dict[str, Value]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed SKILL.md. `values` is None if the frontmatter is unusable; `diagnostics` say why.

    `lines` gives the 1-based line of each top-level key. `header` is the frontmatter's text between the fences, which
    starts on line `first_line`.
    """

    values: Mapping[str, Value] | None
    lines: Mapping[str, int]
    body: str
    diagnostics: tuple[Diagnostic, ...]
    header: str = ""
    first_line: int = 1


class _TooComplex(Exception):
    """The YAML exceeds the limits on depth or size."""


class _Broken(yaml.YAMLError):
    """The parser's events do not form one document."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        super().__init__(problem)
        self.problem_mark = event.start_mark


def parse(content: bytes) -> Document:
    """Parse the bytes of a SKILL.md. Never raises on bad content."""
    text, found = decode(content)
    if text is None:
        return Document(None, {}, "", tuple(found))
    header, body, first_line, fence_violations = _split(text)
    found += fence_violations
    if header is None:
        return Document(None, {}, body, tuple(found))
    values, lines, yaml_violations = _read_yaml(header, first_line)
    return Document(values, lines, body, (*found, *yaml_violations), header, first_line)


def body_of(content: bytes) -> str:
    """Return the body of a SKILL.md whose frontmatter is known to be usable; parses no YAML."""
    text, _ = decode(content)
    return "" if text is None else _split(text)[1]


def header_end(content: bytes, *, whole: bool) -> int | None:
    """Return how many leading bytes of a file determine its frontmatter; None if more bytes are needed.

    `whole` says that `content` is the entire file. Bytes after the returned position change nothing.
    """
    content = content[:MAX_HEADER_BYTES]
    enough = len(content) if whole or len(content) == MAX_HEADER_BYTES else None
    if content.startswith(_UTF_16_BOMS):
        return enough
    opening = _OPENING_BYTES.match(content)
    if opening is None:
        return enough if _MAYBE_OPENING_BYTES.match(content) else len(content)
    closing = _CLOSING_BYTES.search(content, opening.end())
    if closing is None or (closing.end() == len(content) and not content.endswith(b"\n")):
        return enough
    return _with_encoding(content, closing.end(), whole=whole)


def _with_encoding(content: bytes, end: int, *, whole: bool) -> int | None:
    """Return `end` or, where what is before it is not UTF-8, the end of what its encoding is told from."""
    if _is_utf_8(content[:end]):
        return end
    sample = sampled(content)
    known = whole or len(content) >= min(sample.start + SAMPLE_BYTES + 1, MAX_HEADER_BYTES)
    return max(end, min(sample.stop, len(content))) if known else None


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def decode(content: bytes) -> tuple[str | None, list[Diagnostic]]:
    """Return the text of a file and diagnostics on its encoding; the text is None for a binary file."""
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    for bom, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(bom):
            text = content[2:].decode(encoding, errors="replace")
            if "\0" in text:
                return None, [violation("file-binary", "the file contains NUL characters")]
            return text, [violation("file-encoding", f"the file is encoded as {encoding.upper()}")]
    if b"\0" in content:
        return None, [violation("file-binary", "the file contains NUL bytes")]
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        return _decode_other(content, line=content.count(b"\n", 0, error.start) + 1)


def _decode_other(content: bytes, *, line: int) -> tuple[str | None, list[Diagnostic]]:
    """Return what `decode` returns for a text that is not UTF-8, as can be seen on that line."""
    damaged = damaged_utf_8(content)
    if damaged is not None:
        return damaged, [violation("file-damaged", "there are bytes that are no UTF-8", line=line)]
    found = detect(content)
    if found.encoding is not None:
        try:
            text = content.decode(found.encoding.codec)
        except UnicodeDecodeError:
            message = f"the file starts as {found.encoding.name} and goes on as something else"
            return None, [violation("file-encoding-unclear", message, line=line)]
        return text, [violation("file-encoding", f"the file is encoded as {found.encoding.name}", line=line)]
    if not found.likely:
        return None, [violation("file-binary", "the file is not UTF-8, and no text in another encoding", line=line)]
    message = f"the file is not UTF-8, and may be {one_of(found.likely)}"
    return None, [violation("file-encoding-unclear", message, line=line)]


def _split(text: str) -> tuple[str | None, str, int, list[Diagnostic]]:
    """Return the frontmatter's text, the body, the first line of the frontmatter's text, and any violations."""
    found: list[Diagnostic] = []
    start = len(text) - len(text.lstrip("\r\n \t"))
    opening = _OPENING.match(text, start)
    if opening is None:
        return (
            None,
            text,
            1,
            [violation("frontmatter-missing", "the file does not start with a line ---", line=1)],
        )
    if start:
        found.append(violation("frontmatter-late", "the frontmatter does not start on the first line", line=1))
    header_start = opening.end()
    first_line = text.count("\n", 0, header_start) + 1
    closing = _CLOSING.search(text, header_start)
    if closing is not None and closing.start() - header_start <= MAX_FRONTMATTER_CHARACTERS:
        return text[header_start : closing.start()], text[closing.end() :], first_line, found
    found.append(
        violation(
            "frontmatter-unclosed",
            f"there is no closing line --- within {MAX_FRONTMATTER_CHARACTERS:,} characters",
            line=first_line - 1,
        )
    )
    return None, text[header_start:], first_line, found


_Yaml = tuple[Mapping[str, Value] | None, Mapping[str, int], list[Diagnostic]]


def _read_yaml(header: str, first_line: int) -> _Yaml:
    try:
        return _values(header, first_line)
    except _TooComplex as error:
        return None, {}, [violation("yaml-too-complex", str(error), line=first_line)]
    except _UNPARSABLE as error:
        if _TOO_DEEP in str(getattr(error, "problem", "")):
            return None, {}, [violation("yaml-too-complex", _TOO_DEEP_TOLD, line=first_line)]
        failure = _yaml_failure(error, header, first_line)
    for attempt in _repairs(header):
        try:
            values, lines, found = _values(attempt, first_line)
        except (_TooComplex, *_UNPARSABLE):
            continue
        if values is not None:
            return values, lines, [violation("yaml-repaired", failure.message, line=failure.line), *found]
    return None, {}, [failure]


def _repairs(header: str) -> Iterator[str]:
    """Yield likely intended headers, the smallest change first."""
    printable = _UNPRINTABLE.sub(" ", header)
    lines = printable.split("\n")
    tried = {header}
    for prefixes, needs_quotes in (
        (_NOT_PLAIN, _is_broken),
        (_NOT_PLAIN, lambda _: True),
        # A broken list or map becomes text rather than cost the whole skill, except in `name` and `description`.
        (_NOT_STRUCTURED, _is_broken_and_optional),
        (_NOT_STRUCTURED, _is_plain_or_broken_and_optional),
    ):
        attempt = "\n".join(_quoted_lines(lines, prefixes, needs_quotes))
        if attempt not in tried:
            tried.add(attempt)
            yield attempt


def _values(header: str, first_line: int) -> _Yaml:
    reader = _EventReader(header, first_line)
    values = reader.document()
    if not isinstance(values, dict):
        return None, {}, [violation("yaml-not-mapping", "the frontmatter is not a mapping", line=first_line)]
    return values, reader.lines, list(reader.found)


class _EventReader:
    """Builds plain values from the parser's events and enforces the limits.

    Events, not nodes: PyYAML composes nodes by recursion in C, where a few thousand brackets crash the process.
    An alias is expanded in place, so that the same limits apply to an alias bomb as to any other text.
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
        """Return the value of the only document; an empty document is an empty mapping."""
        self._next()  # the stream's start
        if isinstance(self._next(), yaml.StreamEndEvent):
            return {}
        value = self._value(self._next(), depth=0)
        self._next()  # the document's end
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise _Broken("a second YAML document starts", after)
        return value

    def _value(self, event: yaml.Event, depth: int) -> Value:
        if isinstance(event, yaml.AliasEvent):
            return self._expanded(event, depth)
        text = event.value if isinstance(event, yaml.ScalarEvent) else ""
        self._count(text, depth)
        if not text.isascii() and _SURROGATE.search(text):
            raise _Broken("found a lone surrogate", event)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._unfinished.add(anchor)
        value: Value
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(depth)
        else:
            value = None if not getattr(event, "style", None) and text in _NULLS else text
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
                self._report("yaml-duplicate-key", f"{key!r} occurs more than once", event)
            if depth == 0:
                self.lines[key] = self._line(event)
            # Skills have the same few keys.
            values[sys.intern(key)] = self._value(self._next(), depth + 1)
        return values

    def _sequence(self, depth: int) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event, depth + 1))
        return values

    def _expanded(self, event: yaml.AliasEvent, depth: int) -> Value:
        if event.anchor in self._unfinished:
            raise _TooComplex(f"the alias {event.anchor!r} refers to itself")
        if event.anchor not in self._anchored:
            raise _Broken(f"undefined alias {event.anchor!r}", event)
        self._report("yaml-alias", f"the alias {event.anchor!r} is used", event)
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
            raise _TooComplex(_TOO_DEEP_TOLD)
        if self._nodes > MAX_NODES:
            raise _TooComplex(f"the frontmatter has more than {MAX_NODES:,} keys and values")
        if self._characters > MAX_FRONTMATTER_CHARACTERS:
            raise _TooComplex(
                f"the frontmatter's aliases expand to more than {MAX_FRONTMATTER_CHARACTERS:,} characters"
            )

    def _report(self, rule: str, message: str, event: yaml.Event) -> None:
        self.found[violation(rule, message, line=self._line(event))] = None

    def _line(self, event: yaml.Event) -> int:
        mark = event.start_mark
        return _line_at(0 if mark is None else mark.index, self._header, self._first_line)


def _line_at(index: int, header: str, first_line: int) -> int:
    # Not the parser's line number: it counts U+2028 and the like as line breaks, and editors do not.
    return first_line + header.count("\n", 0, index)


def _yaml_failure(error: Exception, header: str, first_line: int) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    index = None if mark is None else mark.index
    if isinstance(error, yaml.reader.ReaderError):
        # One parser gives its position in bytes, the other in characters.
        index = next((found.start() for found in _UNPRINTABLE.finditer(header)), None)
    return violation("yaml-invalid", str(problem), line=None if index is None else _line_at(index, header, first_line))


def repaired(header: str) -> str:
    """Return the first repair of an invalid header that is valid YAML, or the header itself if none is."""
    for attempt in _repairs(header):
        try:
            if _values(attempt, 1)[0] is not None:
                return attempt
        except (_TooComplex, *_UNPARSABLE):
            continue
    return header


def _is_plain_or_broken_and_optional(entry: str) -> bool:
    return not entry.partition(":")[2].strip().startswith(("[", "{")) or _is_broken_and_optional(entry)


def _is_broken_and_optional(entry: str) -> bool:
    """Whether an entry is broken and a skill does not need it."""
    return entry.partition(":")[0] not in ("name", "description") and _is_broken(entry)


def _is_broken(entry: str) -> bool:
    """Whether one `key: value`, which may continue over several lines, is not valid YAML by itself."""
    try:
        return _values(entry, 1)[0] is None
    except (_TooComplex, *_UNPARSABLE):
        return True


def _quoted_lines(lines: list[str], prefixes: tuple[str, ...], needs_quotes: Callable[[str], bool]) -> Iterator[str]:
    """Quote the values for which `needs_quotes` holds, so that their colons, hashes and quotes are only text.

    `needs_quotes` is given each whole `key: value`. Values that start with one of `prefixes` stay as they are. The
    number of lines does not change.
    """
    position = 0
    while position < len(lines):
        first = position
        line = lines[position]
        position += 1
        match = _TOP_LEVEL_LINE.match(line)
        value = (match.group("value") or "").rstrip() if match else ""
        if match is None or not value or value.startswith(prefixes):
            yield line
            continue
        written = [value]
        while position < len(lines) and lines[position][:1] in (" ", "\t") and lines[position].strip():
            written.append(lines[position].strip())
            position += 1
        if not needs_quotes("\n".join(lines[first:position])):
            yield from lines[first:position]
            continue
        ending = "\r" if line.endswith("\r") else ""
        quoted = f"{ending}\n  ".join(written).replace("'", "''")
        yield f"{match.group('key')}: '{quoted}'{ending}"
