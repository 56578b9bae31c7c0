"""A pause after a failure of a provider, so that callers do not wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable


class CircuitBreaker:
    """Open for `seconds` after a failure, and twice as long after each further one, up to `longest` seconds.

    A success closes it. `longest` is `seconds` by default. Safe to use from several threads.
    """

    def __init__(
        self, seconds: float, *, longest: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = self._next = seconds
        self._longest = seconds if longest is None else longest
        self._clock = clock
        self._open_until = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether the dependency failed so recently that it should not be called."""
        return self.seconds_left > 0.0

    @property
    def seconds_left(self) -> float:
        """How many seconds the circuit stays open, 0 if it is closed."""
        return max(0.0, self._open_until - self._clock())

    def record_failure(self) -> None:
        """Open the circuit from now on."""
        self._open_until = self._clock() + self._next
        self._next = min(self._next * 2, self._longest)

    def record_success(self) -> None:
        """Close the circuit; the next failure opens it as if it were the first."""
        self._open_until = float("-inf")
        self._next = self._seconds
