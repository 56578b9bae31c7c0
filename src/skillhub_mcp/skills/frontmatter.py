"""Parse SKILL.md: bytes in; frontmatter, body and diagnostics out. YAML first, then repairs; scalars stay text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import yaml

from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.skills.repairs import INVISIBLE, UNPRINTABLE, Repaired, quoted, repair
from skillhub_mcp.skills.rules import Diagnostic, violation

MAX_FRONTMATTER_CHARACTERS = 64 * 1024
# Four bytes for each character, and as much again for what precedes the header and for the fences.
MAX_HEADER_BYTES = 2 * 4 * MAX_FRONTMATTER_CHARACTERS
MAX_DEPTH = 32
MAX_NODES = 10_000

# How many characters may precede the frontmatter. Blank lines do not count.
_MAX_BEFORE = 4_096
_OPENING = re.compile(rf"^(?P<indent>[ \t{INVISIBLE}]*)(?P<fence>-{{3,}}|\+{{3,}})[ \t]*\r?\n", re.MULTILINE)
_REQUIRED_KEY = re.compile(r"^[ \t]*(?:name|description)[ \t]*[:=]", re.MULTILINE)
_TOML_KEY = re.compile(r"^(?:name|description)[ \t]*=", re.MULTILINE)
_LINE_BREAK = re.compile(rb"\r\n?|\n")
_WITHOUT_INVISIBLE = dict.fromkeys(map(ord, INVISIBLE))
_LONE_CR = re.compile(rb"\r(?!\n)")
_UTF_16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_SURROGATE = re.compile("[\ud800-\udfff]")
# The rest of a line behind a plain value: YAML takes it for a comment.
_YAML_TAG = re.compile(r"!!(?:str|int|float|bool|null|map|seq|set|timestamp|binary|python)\b")
_LOST_WORDS = re.compile(r"[ \t]*(#[^\s#][^\r\n]*)")
# libyaml is ten times faster; the pure-Python parser reads the same language where libyaml is not installed.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The pure-Python parser also fails in chr(), for an escape that is no character.
_UNPARSABLE = (yaml.YAMLError, ValueError, OverflowError)
# From PyYAML 6.0.4 on the scanner has a limit of its own, a thousand levels, which it meets before our reader does.
_TOO_DEEP = "exceeded maximum nesting depth"
_TOO_DEEP_MESSAGE = f"the frontmatter is nested more than {MAX_DEPTH} levels deep"

Value = object  # None, str, list[Value] or dict[str, Value]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed SKILL.md; unusable without `values`. `header` starts at character `header_start`, on `first_line`.

    `as_read` is the header after repairs, with quotes around what YAML would drop; `lossy` if words are left out.
    """

    values: Mapping[str, Value] | None
    lines: Mapping[str, int]
    body: str
    diagnostics: tuple[Diagnostic, ...]
    header: str = ""
    first_line: int = 1
    header_start: int = 0
    before: str = ""
    is_toml: bool = False
    as_read: str = ""
    lossy: bool = False


class _Unusable(Exception):
    """A header cannot be used: the `rule` that it violates, why, and at which character (`index`)."""

    def __init__(self, rule: str, message: str, index: int = 0) -> None:
        super().__init__(message)
        self.rule = rule
        self.index = index


def parse(content: bytes) -> Document:
    """Parse the bytes of a SKILL.md. Never raises on bad content."""
    text, found = decode(content)
    if text is None:
        return Document(None, {}, "", tuple(found))
    parts = _split(text)
    parts = replace(parts, diagnostics=(*found, *parts.diagnostics))
    if not parts.header_start:
        return parts
    return _read_toml(parts) if parts.is_toml else _read_yaml(parts)


def header_end(content: bytes, *, whole: bool) -> int | None:
    """Return how many leading bytes determine the frontmatter; None if more are needed, unless `content` is `whole`."""
    content = content[:MAX_HEADER_BYTES]
    enough = len(content) if whole or len(content) == MAX_HEADER_BYTES else None
    if content[:2] in _UTF_16_BOMS:
        return enough
    text = _with_line_feeds(content).decode("utf-8", "surrogateescape")
    found = _fences(text)
    if found is None:
        rest = len(text) - _blanks_before(text)
        return len(content) if rest > _MAX_BEFORE and _opening(text, 0) is None else enough
    _, closing = found
    if closing is None or (closing.end() == len(text) and not closing[0].endswith("\n")):
        return enough
    return len(text[: closing.end()].encode("utf-8", "surrogateescape"))


def decode(content: bytes) -> tuple[str | None, list[Diagnostic]]:
    """Return the text of a file and diagnostics on its encoding; the text is None for one that is refused."""
    encoding = _UTF_16_BOMS.get(content[:2])
    if encoding is not None:
        try:
            text = content[2:].decode(encoding)
        except UnicodeDecodeError:
            return None, [violation("file-encoding-unknown", f"the file is not valid {encoding.upper()}")]
        if "\0" in text:
            return None, [violation("file-binary", "the file contains NUL characters")]
        found = [violation("file-encoding", f"the file is encoded as {encoding.upper()}")]
        return text, found
    if b"\0" in content:
        return None, [violation("file-binary", "the file contains NUL bytes")]
    content = content.removeprefix(b"\xef\xbb\xbf")
    plain = _with_line_feeds(content)
    try:
        text = plain.decode("utf-8")
    except UnicodeDecodeError as error:
        line = plain.count(b"\n", 0, error.start) + 1
        return None, [violation("file-encoding-unknown", "the file is not UTF-8", line=line)]
    if plain is content:
        return text, []
    return text, [violation("file-line-ends", "lines end with a carriage return only")]


def _with_line_feeds(content: bytes) -> bytes:
    """Return the bytes with line feeds for carriage returns, if the first line ends with one alone; same length."""
    first = _LINE_BREAK.search(content) if b"\r" in content else None
    is_cr = first is not None and first[0] == b"\r" and first.end() < len(content)
    return _LONE_CR.sub(b"\n", content) if is_cr else content


def _blanks_before(text: str) -> int:
    return len(text) - len(text.lstrip("\r\n \t" + INVISIBLE))


def _opening(text: str, start: int) -> re.Match[str] | None:
    """Return the first opening fence at or behind `start` that is near enough to the start of the text."""
    found = _OPENING.search(text, start)
    return found if found is not None and found.start() - _blanks_before(text) <= _MAX_BEFORE else None


def _closing(opening: re.Match[str]) -> re.Pattern[str]:
    """Return the pattern of the closing fence, which is indented as the opening one is."""
    indent = opening["indent"].translate(_WITHOUT_INVISIBLE)
    return re.compile(rf"^{indent}\{opening['fence'][0]}{{3,}}[ \t]*\r?(?:\n|\Z)", re.MULTILINE)


def _fences(text: str) -> tuple[re.Match[str], re.Match[str] | None] | None:
    """Return the opening and the closing fence; no closing fence if that is missing, None if there is neither."""
    start = 0
    while (opening := _opening(text, start)) is not None:
        first = opening.start() <= _blanks_before(text)
        closing = _closing(opening).search(text, opening.end())
        if first and opening["fence"] == "---":
            return opening, closing
        if closing is None:
            return (opening, None) if first else None
        if _REQUIRED_KEY.search(text, opening.end(), closing.start()):
            return opening, closing
        start = opening.end()
    return None


def _split(text: str) -> Document:
    """Return the parts of a SKILL.md, with a header that is not read yet; without one, `header_start` is 0."""
    fences = _fences(text)
    if fences is None:
        missing = violation("frontmatter-missing", "the file does not start with a line ---", line=1)
        return Document(None, {}, text, (missing,))
    opening, closing = fences
    start = opening.start("fence")
    before, first_line = text[:start], text.count("\n", 0, opening.end()) + 1
    found: list[Diagnostic] = []
    if before:
        words = next((line for line in before.translate(_WITHOUT_INVISIBLE).splitlines() if line.strip()), "")
        subject = f"{words.strip()[:40]!r} precedes" if words else "blank lines or invisible characters precede"
        what = f"{subject} the frontmatter"
        found.append(violation("frontmatter-late", what, line=1))
    if closing is None or closing.start() - opening.end() > MAX_FRONTMATTER_CHARACTERS:
        message = f"there is no closing line --- within {MAX_FRONTMATTER_CHARACTERS:,} characters"
        found.append(violation("frontmatter-unclosed", message, line=first_line - 1))
        return Document(None, {}, text[opening.end() :], tuple(found), before=before)
    header, body = text[opening.end() : closing.start()], text[closing.end() :]
    odd = next((fence for fence in (opening["fence"], closing[0].strip()) if fence != "---"), None)
    if odd is not None:
        found.append(violation("frontmatter-fence", f"a fence of the frontmatter is {odd!r}", line=first_line - 1))
    if before.strip().rpartition("\n")[2].lstrip().startswith(("```", "~~~")):
        body = _without_code_fence(body)
    is_toml = opening["fence"][0] == "+" and _TOML_KEY.search(header) is not None
    return Document(None, {}, body, tuple(found), header, first_line, opening.end(), before, is_toml, as_read=header)


def _without_code_fence(body: str) -> str:
    """Return the body of a file that is a code block, without the fence that closes the block."""
    first, _, rest = body.lstrip().partition("\n")
    if _is_code_fence(first):
        return rest
    above, line_break, last = body.rstrip().rpartition("\n")
    return above + line_break if _is_code_fence(last) else body


def _is_code_fence(line: str) -> bool:
    plain = line.strip()
    return plain.startswith(("```", "~~~")) and not plain.strip(plain[0])


def _read_toml(parts: Document) -> Document:
    """Return the document with the values of its header in TOML, which other site generators keep between `+++`."""
    try:
        found = read_toml(parts.header, most_characters=MAX_FRONTMATTER_CHARACTERS)
    except BadToml as error:
        reason = violation("yaml-invalid", f"the frontmatter is neither YAML nor TOML: {error}")
        return replace(parts, diagnostics=(*parts.diagnostics, reason))
    lines: dict[str, int] = {}
    for number, line in enumerate(parts.header.split("\n"), parts.first_line):
        lines.setdefault(line.partition("=")[0].strip(), number)
    return replace(
        parts,
        values={key: _texts(value) for key, value in found.items()},
        lines={key: lines[key] for key in found if key in lines},
        diagnostics=(*parts.diagnostics, violation("yaml-repaired", "the frontmatter is TOML", line=parts.first_line)),
    )


def _texts(value: object) -> Value:
    if isinstance(value, dict):
        return {str(key): _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_yaml(parts: Document) -> Document:
    """Return the document with the values of its header, as it is or else repaired."""
    read = _mapping(parts.header, parts.first_line)
    found = list(parts.diagnostics)
    repaired = Repaired(parts.header)
    if isinstance(read, Diagnostic):
        failure = read
        if failure.rule != "yaml-too-complex":
            repaired = repair(parts.header, _mapping_of) or repaired
            read = _mapping(repaired.header, parts.first_line)
        # Without a description there is no skill either way, and the failure says why.
        if isinstance(read, Diagnostic) or not read.values.get("description"):
            return replace(parts, diagnostics=(*found, failure))
        found.append(violation("yaml-repaired", failure.message, line=failure.line))
    found += (violation("yaml-words-lost", f"YAML would drop {one.words[:40]!r}", line=one.line) for one in read.lost)
    if read.lost:
        repaired = Repaired(read.with_lost_words(), repaired.lost)
        whole = _mapping(repaired.header, parts.first_line)
        read = read if isinstance(whole, Diagnostic) else whole
    return replace(
        parts,
        values=read.values,
        lines=read.lines,
        diagnostics=(*found, *read.found),
        as_read=repaired.header,
        lossy=repaired.lost,
    )


def _mapping(header: str, first_line: int) -> _EventReader | Diagnostic:
    """Return the reader of a header that is a mapping, or why it is not one."""
    try:
        reader = _EventReader(header, first_line)
        if reader.read():
            return reader
        return violation("yaml-not-mapping", "the frontmatter is not a mapping", line=first_line)
    except _Unusable as error:
        return violation(error.rule, str(error), line=_line_at(error.index, header, first_line))
    except _UNPARSABLE as error:
        if _TOO_DEEP in str(getattr(error, "problem", "")):
            return violation("yaml-too-complex", _TOO_DEEP_MESSAGE, line=first_line)
        return _yaml_failure(error, header, first_line)


def _mapping_of(text: str) -> Mapping[str, Value] | None:
    """Return the mapping that a YAML text is, or None."""
    read = _mapping(text, 1)
    return None if isinstance(read, Diagnostic) else read.values


class _Lost(NamedTuple):
    """A plain value from which YAML drops words, its place in the header, and the words."""

    start: int
    end: int
    words: str
    line: int


class _EventReader:
    """Builds values from YAML events within limits. Composing nodes would recurse in C and can crash."""

    def __init__(self, header: str, first_line: int) -> None:
        self.values: dict[str, Value] = {}
        self.lines: dict[str, int] = {}
        self.found: dict[Diagnostic, None] = {}  # in order, each once
        self.lost: list[_Lost] = []
        self._header = header
        self._first_line = first_line
        self._next: Callable[[], yaml.Event] = _Loader(header).get_event
        self._anchored: dict[str, Value] = {}
        self._unfinished: set[str] = set()
        self._nodes = 0
        self._characters = 0

    def with_lost_words(self) -> str:
        """Return the header with quotes around the values from which YAML drops words."""
        header = self._header
        for one in reversed(self.lost):
            header = header[: one.start] + quoted(header[one.start : one.end]) + header[one.end :]
        return header

    def read(self) -> bool:
        """Read the only document, and return whether it is a mapping, as an empty one is."""
        self._next()  # the stream's start
        if isinstance(self._next(), yaml.StreamEndEvent):
            return True
        value = self._value(self._next(), depth=0)
        self._next()  # the document's end
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise _Unusable("yaml-invalid", "a second YAML document starts", _start(after))
        if isinstance(value, dict):
            self.values = value
        return isinstance(value, dict)

    def _value(self, event: yaml.Event, depth: int) -> Value:
        if isinstance(event, yaml.AliasEvent):
            return self._expanded(event, depth)
        text = event.value if isinstance(event, yaml.ScalarEvent) else ""
        self._count(text, depth)
        if not text.isascii() and _SURROGATE.search(text):
            raise _Unusable("yaml-invalid", "found a lone surrogate", _start(event))
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
            if not key.isascii():
                key = key.strip(INVISIBLE + "\u00a0") or key
            if key in values:
                self._report("yaml-duplicate-key", f"{key!r} occurs more than once", event)
            if depth == 0:
                self.lines[key] = self._line(event)
            # Skills have the same few keys.
            values[sys.intern(key)] = self._value(self._checked(self._next()), depth + 1)
        return values

    def _sequence(self, depth: int) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(self._checked(event), depth + 1))
        return values

    def _checked(self, event: yaml.Event) -> yaml.Event:
        """Note the words that YAML drops from a plain value."""
        first, last = event.start_mark, event.end_mark
        if not isinstance(event, yaml.ScalarEvent) or event.style or first is None or last is None:
            return event
        start, end = first.index, last.index
        behind = _LOST_WORDS.match(self._header, end)
        if behind is not None:
            start = start if event.value or event.tag or event.anchor else behind.start(1)
            self._lose(start, behind.end(), behind[1])
        elif event.tag is not None and not _YAML_TAG.match(self._header, start):
            self._lose(start, end, event.tag)
        elif event.anchor is not None and f"*{event.anchor}" not in self._header:
            self._lose(start, end, f"&{event.anchor}")
        return event

    def _lose(self, start: int, end: int, words: str) -> None:
        text, line = self._header[start:end].rstrip(), _line_at(start, self._header, self._first_line)
        self.lost.append(_Lost(start, start + len(text), words.strip(), line))

    def _expanded(self, event: yaml.AliasEvent, depth: int) -> Value:
        if event.anchor in self._unfinished:
            raise _Unusable("yaml-too-complex", f"the alias {event.anchor!r} refers to itself")
        if event.anchor not in self._anchored:
            raise _Unusable("yaml-invalid", f"undefined alias {event.anchor!r}", _start(event))
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
            raise _Unusable("yaml-too-complex", _TOO_DEEP_MESSAGE)
        if self._nodes > MAX_NODES:
            raise _Unusable("yaml-too-complex", f"the frontmatter has more than {MAX_NODES:,} keys and values")
        if self._characters > MAX_FRONTMATTER_CHARACTERS:
            message = f"the frontmatter's aliases expand to more than {MAX_FRONTMATTER_CHARACTERS:,} characters"
            raise _Unusable("yaml-too-complex", message)

    def _report(self, rule: str, message: str, event: yaml.Event) -> None:
        self.found[violation(rule, message, line=self._line(event))] = None

    def _line(self, event: yaml.Event) -> int:
        return _line_at(_start(event), self._header, self._first_line)


def _start(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.index


def _line_at(index: int, header: str, first_line: int) -> int:
    # Not the parser's line number: it counts U+2028 and the like as line breaks, and editors do not.
    return first_line + header.count("\n", 0, index)


def _yaml_failure(error: Exception, header: str, first_line: int) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    index = None if mark is None else mark.index
    if isinstance(error, yaml.reader.ReaderError):
        # One parser gives its position in bytes, the other in characters.
        index = next((found.start() for found in UNPRINTABLE.finditer(header)), None)
    return violation("yaml-invalid", str(problem), line=None if index is None else _line_at(index, header, first_line))
