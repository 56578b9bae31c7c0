"""A mapping of bounded size that drops what was used least recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """The last `maxsize` entries that were read or written. Not thread-safe: the caller holds a lock where it must."""

    def __init__(self, maxsize: int) -> None:
        self._maxsize = maxsize
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        """Whether there is an entry; asking does not count as using it."""
        return key in self._entries

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys, the least recently used first."""
        return iter(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value and mark it as used, or return None."""
        value = self._entries.get(key)
        if key in self._entries:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Add or replace an entry; the least recently used one goes where there are too many."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._maxsize:
            self._entries.popitem(last=False)

    def pop(self, key: K) -> V | None:
        """Remove an entry and return its value, or None where there was none."""
        return self._entries.pop(key, None)

    def values(self) -> tuple[V, ...]:
        """Return the values, the least recently used first."""
        return tuple(self._entries.values())

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
