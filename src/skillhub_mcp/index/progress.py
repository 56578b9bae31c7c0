"""How far is the index that others wait for? What is told to those who wait, from any thread and in any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ProgressCallback = Callable[[str, int, int], None]


def no_progress(step: str, done: int, total: int) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """What is being done, and how many of how many skills it has been done to."""

    name: str
    done: int
    total: int


class IndexProgress:
    """The steps of one hub's index, passed on to `progress` and to whoever listens."""

    def __init__(self, progress: ProgressCallback = no_progress) -> None:
        self._progress = progress
        self._listeners: tuple[Callable[[], None], ...] = ()
        self.latest: ProgressStep | None = None

    @property
    def listener_count(self) -> int:
        """How many are listening."""
        return len(self._listeners)

    def report(self, step: str, done: int, total: int) -> None:
        """Say how far a step is."""
        self._progress(step, done, total)
        self.latest = ProgressStep(step, done, total)
        self.notify()

    def finish(self) -> None:
        """Say that nothing is being done any longer."""
        self.latest = None
        self.notify()

    def notify(self) -> None:
        """Say that something is other than it was."""
        for listener in self._listeners:
            listener()

    @contextmanager
    def listen(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener`, from whatever thread has news, while this lasts. It must neither wait nor fail."""
        self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._listeners = tuple(one for one in self._listeners if one is not listener)
