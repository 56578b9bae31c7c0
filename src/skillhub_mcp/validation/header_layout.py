"""Where the keys and values of a frontmatter stand in its text, so that one of them can be replaced alone. Pure.

Only for a header that `parse` has read without repair: its limits on depth and size are not checked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping and its value, as offsets in characters: `start` of the key, `value_start`, `value_end`.

    The value's text excludes comments after it. `entries` are those of a mapping in block style, and `is_flow` says
    that the value is a collection in flow style, such as `[a, b]`.
    """

    key: str
    start: int
    value_start: int
    value_end: int
    entries: tuple[Entry, ...] = ()
    is_flow: bool = False


def layout(header: str) -> tuple[Entry, ...]:
    """Return the entries of a header's top-level mapping; none if that is not a mapping in block style.

    Raises yaml.YAMLError for a header that is not valid YAML.
    """
    next_event: Callable[[], yaml.Event] = _Loader(header).get_event
    next_event()  # the stream's start
    if isinstance(next_event(), yaml.StreamEndEvent):
        return ()
    return _Reader(header, next_event).value(next_event()).entries


@dataclass(frozen=True, slots=True)
class _Value:
    start: int
    end: int
    entries: tuple[Entry, ...] = ()
    is_flow: bool = False


class _Reader:
    def __init__(self, header: str, next_event: Callable[[], yaml.Event]) -> None:
        self._header = header
        self._next = next_event

    def value(self, event: yaml.Event) -> _Value:
        start, end = _index(event.start_mark), _index(event.end_mark)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, start)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, start)
        # A block scalar, and an empty one, end where the next key starts.
        return _Value(start, start + len(self._header[start:end].rstrip()))

    def _mapping(self, event: yaml.MappingStartEvent, start: int) -> _Value:
        entries: list[Entry] = []
        while not isinstance(inner := self._next(), yaml.MappingEndEvent):
            key = inner.value if isinstance(inner, yaml.ScalarEvent) else ""
            key_start = _index(inner.start_mark)
            if not isinstance(inner, yaml.ScalarEvent):
                self.value(inner)
            value = self.value(self._next())
            entries.append(Entry(key, key_start, value.start, value.end, value.entries, value.is_flow))
        if event.flow_style:
            return _Value(start, _index(inner.end_mark), is_flow=True)
        return _Value(start, max((entry.value_end for entry in entries), default=start), tuple(entries))

    def _sequence(self, event: yaml.SequenceStartEvent, start: int) -> _Value:
        end = start
        while not isinstance(inner := self._next(), yaml.SequenceEndEvent):
            end = max(end, self.value(inner).end)
        if event.flow_style:
            return _Value(start, _index(inner.end_mark), is_flow=True)
        return _Value(start, end)


def _index(mark: Any) -> int:
    return 0 if mark is None else int(mark.index)
