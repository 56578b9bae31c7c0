"""A circuit breaker: after a failure a provider is not called for a while, so that callers do not wait for it.

Used for embeddings in `search.searcher` and `index.indexer`, and for the model reranker.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class CircuitBreaker:
    """Open for `seconds` after each failure. Safe to use from several threads."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._open_until = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether the dependency failed so recently that it should not be called."""
        return self._clock() < self._open_until

    def record_failure(self) -> None:
        """Open the circuit from now on."""
        self._open_until = self._clock() + self._seconds
