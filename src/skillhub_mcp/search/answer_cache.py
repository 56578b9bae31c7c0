"""The answers of the last searches, kept while what they were computed from stays the same."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

from skillhub_mcp.lru import LRUCache

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """The last answers. Safe to use from several threads.

    Every answer depends on the `sources` (a snapshot and an index): once one of them is another object, all answers
    are dropped. Some depend on the `caller` (a policy) too. Both are compared by identity, which is cheap.
    """

    def __init__(self, maxsize: int) -> None:
        self._lock = threading.Lock()
        self._sources: tuple[object, ...] = ()
        # The caller is kept with its answers, so that no other object can take its identity.
        self._answers = LRUCache[tuple[int, Hashable], tuple[object, T]](maxsize)

    def get(self, sources: tuple[object, ...], caller: object, key: Hashable) -> T | None:
        """Return the cached answer, or None."""
        with self._lock:
            if not self._are_current(sources):
                return None
            cached = self._answers.get((id(caller), key))
            return None if cached is None else cached[1]

    def put(self, sources: tuple[object, ...], caller: object, key: Hashable, answer: T) -> None:
        """Cache an answer."""
        with self._lock:
            if not self._are_current(sources):
                self._sources = sources
                self._answers.clear()
            self._answers.put((id(caller), key), (caller, answer))

    def _are_current(self, sources: tuple[object, ...]) -> bool:
        current = self._sources
        return len(sources) == len(current) and all(a is b for a, b in zip(sources, current, strict=True))
