"""How is a SKILL.md read? Bytes in; frontmatter values, body and diagnostics out. No I/O.

The rules of this module:
1. A real YAML parser reads first; a repair is tried only after it failed, and is always noted.
2. Scalars are the text that was written: `1.10`, `yes` and `2024-01-01` stay text (DECISIONS 15).
3. Everything is bounded before it is parsed: bytes, depth, nodes.
4. The closing fence is a line, never a substring: `---` inside a value or the body is just text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from skillhub_mcp.skills.rules import Diagnostic, breach

MAX_FRONTMATTER_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_NODES = 10_000

_FENCE = re.compile(r"-{3}[ \t]*\r?\n?")
_NULL_WORDS = frozenset({"", "~", "null", "Null", "NULL"})
_TOP_LEVEL_LINE = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?:[ \t]+(?P<value>.*?))?[ \t]*$")
# A value that begins so is a structure or already quoted: quoting it would change what it means.
_NOT_PLAIN = ("'", '"', "[", "{", "|", ">")
# libyaml reads ten times faster; the pure parser is the same language, for an installation without it.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Value = object  # None, str, list[Value] or dict[str, Value]


@dataclass(frozen=True, slots=True)
class Document:
    """A SKILL.md taken apart. `values` is None when the frontmatter could not be used; `diagnostics` says why."""

    values: Mapping[str, Value] | None
    lines: Mapping[str, int]
    body: str
    diagnostics: tuple[Diagnostic, ...]


class _TooComplex(Exception):
    """The YAML is deeper or larger than any honest frontmatter."""


def parse(content: bytes) -> Document:
    """Take a SKILL.md's bytes apart (seed 002 §5.2, DECISIONS 11 and 15). Never raises on bad content."""
    text, found = _decode(content)
    if text is None:
        return Document(None, {}, "", tuple(found))
    header, body, first_line, fence_breaches = _split(text)
    found += fence_breaches
    if header is None:
        return Document(None, {}, body, tuple(found))
    values, lines, yaml_breaches = _read_yaml(header, first_line)
    return Document(values, lines, body, (*found, *yaml_breaches))


def _decode(content: bytes) -> tuple[str | None, list[Diagnostic]]:
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            text = content[2:].decode(encoding, errors="replace")
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
    opening = _FENCE.match(text, start)
    if opening is None or not opening.group().endswith("\n"):
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
    position = header_start
    while position < len(text) and position - header_start <= MAX_FRONTMATTER_BYTES:
        closing = _FENCE.match(text, position)
        if closing is not None and (closing.group().endswith("\n") or closing.end() == len(text)):
            return text[header_start:position], text[closing.end() :], first_line, found
        line_end = text.find("\n", position)
        if line_end < 0:
            break
        position = line_end + 1
    found.append(breach("frontmatter-unclosed", "no closing line --- was found", line=first_line - 1))
    return None, text[header_start:], first_line, found


def _read_yaml(header: str, first_line: int) -> tuple[Mapping[str, Value] | None, Mapping[str, int], list[Diagnostic]]:
    try:
        return _values(header, first_line)
    except _TooComplex as error:
        return None, {}, [breach("yaml-too-complex", str(error), line=first_line)]
    except (yaml.YAMLError, RecursionError) as error:
        failure = _yaml_failure(error, first_line)
    repaired = _quote_plain_values(header)
    if repaired != header:
        try:
            values, lines, found = _values(repaired, first_line)
        except (_TooComplex, yaml.YAMLError, RecursionError):
            return None, {}, [failure]
        if values is not None:
            return values, lines, [breach("yaml-repaired", failure.message, line=failure.line), *found]
    return None, {}, [failure]


def _values(header: str, first_line: int) -> tuple[Mapping[str, Value] | None, Mapping[str, int], list[Diagnostic]]:
    node = yaml.compose(header, Loader=_Loader)
    if node is None:
        return {}, {}, []
    if not isinstance(node, yaml.MappingNode):
        return None, {}, [breach("yaml-not-mapping", "the frontmatter is not a map", line=first_line)]
    reader = _NodeReader(first_line)
    lines = {str(key.value): key.start_mark.line + first_line for key, _ in node.value}
    values = reader.mapping(node, depth=0)
    return values, lines, reader.found


class _NodeReader:
    """Turns YAML nodes into plain values, counting as it goes so that an alias bomb ends early."""

    def __init__(self, first_line: int) -> None:
        self.found: list[Diagnostic] = []
        self._first_line = first_line
        self._nodes = 0
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, depth: int) -> Value:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _TooComplex(f"the frontmatter expands to more than {MAX_NODES:,} values")
        if depth > MAX_DEPTH:
            raise _TooComplex(f"the frontmatter is nested more than {MAX_DEPTH} deep")
        if id(node) in self._seen:
            self._note("yaml-alias", "a YAML alias is used", node)
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        text = str(node.value)
        return None if not getattr(node, "style", None) and text in _NULL_WORDS else text

    def mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            if key in values:
                self._note("yaml-duplicate-key", f"{key!r} stands twice", key_node)
            values[key] = self.value(value_node, depth + 1)
        return values

    def _note(self, rule: str, what: str, node: yaml.Node) -> None:
        line = node.start_mark.line + self._first_line
        diagnostic = breach(rule, what, line=line)
        if diagnostic not in self.found:
            self.found.append(diagnostic)


def _yaml_failure(error: yaml.YAMLError | RecursionError, first_line: int) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return breach("yaml-invalid", str(problem), line=None if mark is None else mark.line + first_line)


def _quote_plain_values(header: str) -> str:
    """Rewrite each top-level plain value as a folded block, in which colons, hashes and quotes are only text."""
    return "".join(_rewritten_lines(header.splitlines()))


def _rewritten_lines(lines: list[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        match = _TOP_LEVEL_LINE.match(line)
        value = match.group("value") if match else None
        if match is None or not value or value.startswith(_NOT_PLAIN):
            yield line + "\n"
            continue
        yield f"{match.group('key')}: >-\n  {value}\n"
        while position < len(lines) and lines[position][:1] in (" ", "\t") and lines[position].strip():
            yield f"  {lines[position].strip()}\n"
            position += 1
