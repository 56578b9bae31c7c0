"""Which JSON does every YAML parser make of this frontmatter? No I/O.

A host compares the frontmatter of an entry with what its own parser makes of the SKILL.md, and refuses the skill
where they differ (SEP-2640, Frontmatter Verification). YAML 1.1 and 1.2 read `yes`, `012` or `2024-01-01` differently,
so what they agree on is typed, and what they do not is told as doubtful and kept as the text that was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import yaml

Json = object  # None, bool, int, float, str, list[Json] or dict[str, Json]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+")
# Numbers and times of all kinds, and words for yes, no and a merge, are something else than text to some parser.
_PERHAPS_NO_TEXT = re.compile(
    r"""(?ix) [-+]? (?: 0b[01_]+ | 0o[0-7_]+ | 0x[0-9a-f_]+
                      | (?: [0-9][0-9_]* (?: \.[0-9_]* )? | \.[0-9_]+ ) (?: e[-+]?[0-9]+ )?
                      | [0-9][0-9_]* (?: :[0-5]?[0-9] )+ (?: \.[0-9_]* )?
                      | \.inf | \.nan )
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (?: [tT\ \t].* )?
      | y | n | yes | no | on | off | true | false | null | << | ="""
)
_EXACT_INTEGER = 2**53
# The older YAML ends a line at these, the newer does not.
_DOUBTFUL_LINE_ENDS = ("\x85", "\u2028", "\u2029")
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A frontmatter as JSON. `doubts` are the top-level keys that some parser reads otherwise; "" stands for all."""

    values: Mapping[str, Json]
    doubts: frozenset[str]


def read_verbatim(header: str) -> Verbatim:
    """Return the frontmatter in `header` as JSON.

    `header` has been read by `frontmatter.parse`, which holds its depth and size to bounds. Raises yaml.YAMLError where
    it is no YAML after all.
    """
    reader = _Reader(header)
    values = reader.document()
    doubts = reader.doubts | ({""} if any(end in header for end in _DOUBTFUL_LINE_ENDS) else set())
    return Verbatim(values, frozenset(doubts))


class _Reader:
    def __init__(self, header: str) -> None:
        self._next: Callable[[], yaml.Event] = _Loader(header).get_event
        self._anchored: dict[str, Json] = {}
        self._key = ""
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
        return self._mapping(top=True)

    def _value(self, event: yaml.Event) -> Json:
        if isinstance(event, yaml.AliasEvent):
            self._doubt()
            return self._anchored.get(str(event.anchor))
        if getattr(event, "tag", None) is not None:
            self._doubt()
        value: Json = None
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping()
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence()
        elif isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else self._plain(event.value)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._doubt()
            self._anchored[anchor] = value
        return value

    def _mapping(self, *, top: bool = False) -> dict[str, Json]:
        values: dict[str, Json] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if top:
                self._key = getattr(event, "value", "")
            key = self._value(event)
            if not isinstance(key, str) or key in values:
                self._doubt()
                key = event.value if isinstance(event, yaml.ScalarEvent) else "?"
            values[key] = self._value(self._next())
        return values

    def _sequence(self) -> list[Json]:
        values: list[Json] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event))
        return values

    def _plain(self, text: str) -> Json:
        """Return what a scalar without quotes stands for."""
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if _INTEGER.fullmatch(text) and abs(int(text)) <= _EXACT_INTEGER:
            return int(text)
        if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        if _PERHAPS_NO_TEXT.fullmatch(text):
            self._doubt()
        return text

    def _doubt(self) -> None:
        self.doubts.add(self._key)
