"""What was worked out last, kept while what it was worked out from stays the same."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

from skillhub_mcp._util.lru import LRUCache

T = TypeVar("T")


class Recent(Generic[T]):
    """The last values, each for one caller and key. Safe to use from several threads.

    All depend on the `sources` (a snapshot, an index): once one of them is another object, all values are dropped. Each
    depends on its `caller` (a policy) too. Both are compared by identity, which is cheap.
    """

    def __init__(self, maxsize: int) -> None:
        self._lock = threading.Lock()
        self._sources: tuple[object, ...] = ()
        # The caller is kept with its values, so that no other object can take its identity.
        self._values = LRUCache[tuple[int, Hashable], tuple[object, T]](maxsize)

    def get(self, sources: tuple[object, ...], caller: object, key: Hashable) -> T | None:
        """Return the value, or None."""
        with self._lock:
            if tuple(map(id, sources)) != tuple(map(id, self._sources)):
                return None
            known = self._values.get((id(caller), key))
            return None if known is None else known[1]

    def put(self, sources: tuple[object, ...], caller: object, key: Hashable, value: T) -> None:
        """Keep a value."""
        with self._lock:
            if tuple(map(id, sources)) != tuple(map(id, self._sources)):
                self._sources = sources
                self._values.clear()
            self._values.put((id(caller), key), (caller, value))
