"""Threads that compute behind answers give way to those that answer."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

_SWITCH_SECONDS = 0.0002


class _GivingWay:
    """While anybody computes in it, other threads have the interpreter as soon as they ask for it.

    A search gives it up dozens of times, with each array that it computes, and would wait 5 ms for it each time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._usual = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_SECONDS)
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                sys.setswitchinterval(self._usual)


# The interval is that of the process, however many indexes it has.
GIVING_WAY = _GivingWay()
