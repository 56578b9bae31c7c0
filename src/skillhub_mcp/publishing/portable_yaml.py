"""Which JSON does every YAML parser make of this frontmatter? No I/O.

A host compares the frontmatter of an entry with what its own parser makes of the SKILL.md, and refuses the skill
where they differ (SEP-2640, Frontmatter Verification). YAML 1.1 and 1.2 read `yes`, `012` or `2024-01-01` differently,
so what they agree on is typed, and what they do not is told as doubtful and kept as the text that was written.
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
# Numbers and times of all kinds, and words for yes, no and a merge, are something else than text to some parser.
_PERHAPS_NO_TEXT = re.compile(
    r"""(?ix) [-+]? (?: 0b[01_]+ | 0o[0-7_]+ | 0x[0-9a-f_]+
                      | (?: [0-9][0-9_,]* )? (?: \.[0-9_,]* )? (?: e[-+]?[0-9]+ )?
                      | [0-9][0-9_]* (?: :[0-5]?[0-9] )+ (?: \.[0-9_]* )?
                      | \.inf | \.nan )
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (?: [tT\ \t].* )?
      | y | n | yes | no | on | off | true | false | null | << | ="""
)
# Every whole number of so many digits is exact everywhere.
_EXACT_DIGITS = 15
# Some parsers end a line at some of these and others do not, a tab separates for some only, a mark of byte order is
# nothing to one and text to another, and a comment needs a blank before it for all but one.
_DOUBTFUL = re.compile("[\t\x85\u2028\u2029\ufeff]|\r(?!\n)|[|>][-+0-9]*#")
_LINE_END = re.compile("\r\n?|\n")
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class PortableFrontmatter:
    """A frontmatter as JSON. `doubts` are the top-level keys that some parser reads otherwise; "" stands for all."""

    values: Mapping[str, Json]
    doubts: frozenset[str]


def read_portable(header: str) -> PortableFrontmatter:
    """Return the frontmatter in `header` as JSON.

    `header` has been read by `frontmatter.parse`, which holds its depth and size to bounds. Raises yaml.YAMLError where
    it is no YAML after all.
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
        self._column = 0  # of the innermost map or list that is written in lines
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
            if _begin(following).column <= self._column and not isinstance(following, yaml.SequenceStartEvent):
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
            self._column = _begin(start).column
        elif self._header[_begin(start).index] not in "[{":
            self._doubt()  # a pair in a list, which takes some wit to see
        return outside

    def _leave(self, start: yaml.CollectionStartEvent, end: yaml.Event, outside: int) -> None:
        self._column = outside
        if start.flow_style:
            self._doubt_what_is_crowded(start, end)

    def _scalar(self, event: yaml.ScalarEvent) -> Json:
        # Whether the frontmatter's last line ends as others do is not the same for all who cut it out.
        self._open_ended = event.style in ("|", ">") and event.value.endswith("\n")
        if not event.style:
            return self._plain(event.value)
        if event.style in ("'", '"'):
            self._doubt_what_is_crowded(event, event)
        return event.value

    def _doubt_what_is_crowded(self, start: yaml.Event, end: yaml.Event) -> None:
        """Doubt lines that are not indented and a comment without a blank before it: some parsers want both."""
        following = self._lines[_begin(start).line + 1 : _end(end).line + 1]
        flush = any(line.strip() and len(line) - len(line.lstrip(" ")) <= self._column for line in following)
        if flush or self._header.startswith("#", _end(end).index):
            self._doubt()

    def _plain(self, text: str) -> Json:
        """Return what a scalar without quotes stands for."""
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        number = self._number(text)
        if number is not None:
            return number
        if _PERHAPS_NO_TEXT.fullmatch(text):
            self._doubt()
        return text

    def _number(self, text: str) -> int | float | None:
        """Return the number that every parser makes of `text`; none where there is doubt, as of a zero's sign."""
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


def _begin(event: yaml.Event) -> Any:
    # Typed as optional, and of two kinds; both parsers always say where.
    return event.start_mark


def _end(event: yaml.Event) -> Any:
    return event.end_mark
