"""Frontmatter as JSON, with the keys on whose values YAML parsers disagree. No I/O.

A host compares an entry's frontmatter with its own parse of the SKILL.md and rejects the skill if they differ
(SEP-2640, Frontmatter Verification). YAML 1.1 and 1.2 read `yes`, `012` or `2024-01-01` differently: values on which
they agree are typed; other values keep their text, and their keys are reported as doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Json = object  # None, bool, int, float, str, list[Json] or dict[str, Json]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+")
# Scalars that some parser does not read as strings: numbers and times of all kinds, booleans, nulls and merge keys.
_MAYBE_NOT_TEXT = re.compile(
    r"""(?ix) [-+]? (?: 0b[01_]+ | 0o[0-7_]+ | 0x[0-9a-f_]+
                      | (?: [0-9][0-9_,]* )? (?: \.[0-9_,]* )? (?: e[-+]?[0-9]+ )?
                      | [0-9][0-9_]* (?: :[0-5]?[0-9] )+ (?: \.[0-9_]* )?
                      | \.inf | \.nan )
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (?: [tT\ \t].* )?
      | y | n | yes | no | on | off | true | false | null | << | ="""
)
# Integers of up to this many digits are exact in every parser.
_EXACT_DIGITS = 15
# Parsers differ in whether some of these characters end a line, a tab separates tokens, a byte order mark is text, and
# a comment needs a blank before it.
_DOUBTFUL = re.compile("[\t\x85\u2028\u2029\ufeff]|\r(?!\n)|[|>][-+0-9]*#")
_LINE_END = re.compile("\r\n?|\n")
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class PortableFrontmatter:
    """A frontmatter as JSON. `doubts` are the top-level keys on which parsers disagree; "" stands for all of them."""

    values: Mapping[str, Json]
    doubts: frozenset[str]


def read_portable(header: str) -> PortableFrontmatter:
    """Return the frontmatter in `header` as JSON.

    `header` must have been read by `frontmatter.parse`, which limits its depth and size. Raises yaml.YAMLError if it is
    not valid YAML.
    """
    reader = _Reader(header)
    values = reader.document()
    doubts = reader.doubts | ({""} if _DOUBTFUL.search(header) else set())
    return PortableFrontmatter(values, frozenset(doubts))


class _Reader:
    def __init__(self, header: str) -> None:
        self._next: Callable[[], yaml.Event] = _Loader(header).get_event
        self._header = header
        self._lines = _LINE_END.split(header)
        self._anchored: dict[str, Json] = {}
        self._key = ""
        self._column = 0  # of the innermost map or list in block style
        self._open_ended = False
        self.doubts: set[str] = set()

    def document(self) -> dict[str, Json]:
        self._next()  # the stream's start
        event = self._next()
        if isinstance(event, yaml.DocumentStartEvent):
            if event.explicit or event.version or event.tags:
                self._doubt()
            event = self._next()
        if not isinstance(event, yaml.MappingStartEvent):
            return {}
        values = self._mapping(event, top=True)
        if self._open_ended:
            self._doubt()
        return values

    def _value(self, event: yaml.Event) -> Json:
        if isinstance(event, yaml.AliasEvent):
            self._doubt()
            return self._anchored.get(str(event.anchor))
        if getattr(event, "tag", None) is not None:
            self._doubt()
        value: Json = None
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event)
        elif isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._doubt()
            self._anchored[anchor] = value
        return value

    def _mapping(self, start: yaml.MappingStartEvent, *, top: bool = False) -> dict[str, Json]:
        values: dict[str, Json] = {}
        outside = self._enter(start)
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if top:
                self._key = getattr(event, "value", "")
            key = self._value(event)
            if not isinstance(key, str) or key in values:
                self._doubt()
                key = event.value if isinstance(event, yaml.ScalarEvent) else "?"
            following = self._next()
            if _start(following).column <= self._column and not isinstance(following, yaml.SequenceStartEvent):
                self._doubt()
            values[key] = self._value(following)
        self._leave(start, event, outside)
        return values

    def _sequence(self, start: yaml.SequenceStartEvent) -> list[Json]:
        values: list[Json] = []
        outside = self._enter(start)
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event))
        self._leave(start, event, outside)
        return values

    def _enter(self, start: yaml.CollectionStartEvent) -> int:
        outside = self._column
        if not start.flow_style:
            self._column = _start(start).column
        elif self._header[_start(start).index] not in "[{":
            self._doubt()  # a single pair in a flow list, which not all parsers support
        return outside

    def _leave(self, start: yaml.CollectionStartEvent, end: yaml.Event, outside: int) -> None:
        self._column = outside
        if start.flow_style:
            self._doubt_tight_layout(start, end)

    def _scalar(self, event: yaml.ScalarEvent) -> Json:
        # Hosts differ in whether the last line of the frontmatter they extract has its line break.
        self._open_ended = event.style in ("|", ">") and event.value.endswith("\n")
        if not event.style:
            return self._plain(event.value)
        if event.style in ("'", '"'):
            self._doubt_tight_layout(event, event)
        return event.value

    def _doubt_tight_layout(self, start: yaml.Event, end: yaml.Event) -> None:
        """Doubt unindented continuation lines and a comment without a blank before it: some parsers reject them."""
        following = self._lines[_start(start).line + 1 : _end(end).line + 1]
        flush = any(line.strip() and len(line) - len(line.lstrip(" ")) <= self._column for line in following)
        if flush or self._header.startswith("#", _end(end).index):
            self._doubt()

    def _plain(self, text: str) -> Json:
        """Return the value of an unquoted scalar."""
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        number = self._number(text)
        if number is not None:
            return number
        if _MAYBE_NOT_TEXT.fullmatch(text):
            self._doubt()
        return text

    def _number(self, text: str) -> int | float | None:
        """Return `text` as a number if all parsers agree on it; they do not agree on the sign of zero, for example."""
        if text.startswith("-") and not text.strip("-0."):
            return None
        if _INTEGER.fullmatch(text):
            return int(text) if len(text) <= _EXACT_DIGITS else None
        if _DECIMAL.fullmatch(text):
            number = float(text)
            return number if _DECIMAL.fullmatch(repr(number)) else None
        return None

    def _doubt(self) -> None:
        self.doubts.add(self._key)


def _start(event: yaml.Event) -> Any:
    # The mark is typed as optional and differs between the two parsers, but both always set it.
    return event.start_mark


def _end(event: yaml.Event) -> Any:
    return event.end_mark
