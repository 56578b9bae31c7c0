"""The progress of long work: one line on stderr, which appears after some tenths of a second and is gone at the end.

It is shown on a terminal alone. A thread draws it, so that it moves while a step says nothing, as a request to a
provider does, and before the first step. Whoever writes something else to the terminal calls `hide_progress` before.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from skillhub_mcp.cli.text_width import cut, pad

if TYPE_CHECKING:
    from skillhub_mcp.index.progress import ProgressCallback

DELAY_SECONDS = 0.4
_INTERVAL_SECONDS = 0.1
_CLEAR = "\r\x1b[K"
_BAR_COLUMNS = 24
_SPINNER = "|/-\\"


class ProgressLine:
    """The line; a ProgressCallback. Safe to use from threads.

    Until something else is written it says `what` is done; from then on it shows steps alone.
    """

    def __init__(self, stream: IO[str], what: str, *, delay_seconds: float) -> None:
        self._stream = stream
        self._what = what
        self._delay_seconds = delay_seconds
        self._step: tuple[str, int, int] | None = None
        self._ticks = 0
        self._drawn = False
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin: the line appears when the delay is over."""
        threading.Thread(target=self._run, name="skillhub-progress", daemon=True).start()

    def __call__(self, step: str, done: int, total: int) -> None:
        """Take the progress of a step, which ends where all is `done`."""
        with self._lock:
            self._step = (step, done, total) if done < total else None
            if self._step is None:
                self._erase()

    def say(self, what: str) -> None:
        """From now on say that `what` is done, where no step is."""
        with self._lock:
            self._what = what

    def hide(self) -> None:
        """Remove the line; it comes back with the next step."""
        with self._lock:
            self._what = ""
            self._erase()

    def close(self) -> None:
        """Remove the line for good."""
        with self._lock:
            self._closed.set()
            self._erase()

    def _run(self) -> None:
        wait = self._delay_seconds
        while not self._closed.wait(wait):
            wait = _INTERVAL_SECONDS
            with self._lock:
                if not self._closed.is_set() and (self._step or self._what):
                    self._draw()

    def _draw(self) -> None:
        self._ticks += 1
        columns = shutil.get_terminal_size().columns
        step, done, total = self._step or (self._what, 0, 0)
        self._write(_CLEAR + progress_text(step, done, total, columns=columns, tick=self._ticks))
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal is gone, or the stream is closed at exit; the work goes on.
            self._closed.set()


# The line of this process's terminal, while there is one: two would write over each other.
_line: ProgressLine | None = None


@contextmanager
def terminal_progress(what: str = "bringing skills and index up to date") -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress on stderr, or nothing if that is no terminal, until the context ends.

    `what` is shown where no step is. Within another such context, it is the same line.
    """
    global _line  # noqa: PLW0603 - a terminal is one too
    # A dumb terminal cannot remove a line.
    if _line is not None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _line or _nothing
        return
    _line = ProgressLine(sys.stderr, what, delay_seconds=DELAY_SECONDS)
    _line.start()
    try:
        yield _line
    finally:
        _line.close()
        _line = None


def say_progress(what: str) -> None:
    """Say on the line, while there is one, that `what` is done now."""
    if _line is not None:
        _line.say(what)


def hide_progress() -> None:
    """Remove the line for now, because something else is about to be written to the terminal."""
    if _line is not None:
        _line.hide()


def _nothing(step: str, done: int, total: int) -> None:
    """Show nothing."""


def progress_text(step: str, done: int, total: int, *, columns: int, tick: int) -> str:
    """Return the line, shorter than a terminal of `columns`; of unknown length with a `total` of 0.

    `tick` counts the times that it was drawn.
    """
    turning = _SPINNER[tick % len(_SPINNER)]
    if not total:
        return cut(f"{turning} {step} …", columns - 1)
    filled = _BAR_COLUMNS * done // total
    return cut(
        f"{turning} {step} [{pad('#' * filled, _BAR_COLUMNS)}] {done:,} of {total:,} ({done / total:.0%})",
        columns - 1,
    )
