"""The progress of indexing, reported to the command line and to waiting clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

ProgressCallback = Callable[[str, int, int], None]


def no_progress(step: str, done: int, total: int) -> None:
    """Ignore the progress."""


class IndexProgress:
    """The current step of one hub's indexing, reported to `progress` and to listeners. Safe to use from threads."""

    def __init__(self, progress: ProgressCallback = no_progress) -> None:
        self._progress = progress
        self._listeners: tuple[Callable[[], None], ...] = ()
        # The name of the current step, and how many of how many skills it has processed.
        self.latest: tuple[str, int, int] | None = None

    def report(self, step: str, done: int, total: int) -> None:
        """Report the progress of a step."""
        self._progress(step, done, total)
        self._show((step, done, total))

    def finish(self) -> None:
        """Report that no step is running any more."""
        self._show(None)

    def _show(self, step: tuple[str, int, int] | None) -> None:
        self.latest = step
        for listener in self._listeners:
            listener()

    @contextmanager
    def listen(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` on each change, from the thread that made it, until the context ends.

        It must neither block nor raise.
        """
        self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._listeners = tuple(one for one in self._listeners if one is not listener)
