"""A mapping of bounded size that drops what was used least recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, ValuesView
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """The last `maxsize` entries that were read or written. Not thread-safe."""

    def __init__(self, maxsize: int) -> None:
        self._maxsize = maxsize
        self._entries: OrderedDict[K, V] = OrderedDict()
        self.clear = self._entries.clear

    def __contains__(self, key: K) -> bool:
        """Whether there is an entry; this does not use it."""
        return key in self._entries

    def get(self, key: K) -> V | None:
        """Return the value and mark it as used, or return None."""
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        """Add or replace an entry; the least recently used one goes if there are too many."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._maxsize:
            self._entries.popitem(last=False)

    def pop(self, key: K) -> V | None:
        """Remove an entry and return its value, or None if there is none."""
        return self._entries.pop(key, None)

    def values(self) -> ValuesView[V]:
        """Return the values, the least recently used first."""
        return self._entries.values()
