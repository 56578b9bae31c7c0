"""What is still being checked, in one line on a terminal, which is gone when all has been checked."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable
from typing import IO

from skillhub_mcp.cli.output import one_line
from skillhub_mcp.cli.progress_line import DELAY_SECONDS

_CLEAR = "\r\x1b[K"


class StatusLine:
    """A line on `stream`; nothing at all where that is no terminal, or all ends before the delay is over.

    Safe to use from several threads.
    """

    def __init__(self, stream: IO[str], names: Iterable[str], *, delay_seconds: float = DELAY_SECONDS) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._open = list(names)
        self._step = "Checking"
        self._lock = threading.Lock()
        self._delay_seconds = delay_seconds
        self._is_due = False

    def show(self) -> None:
        """Show what is being checked, from the end of the delay on."""
        if not self._shown:
            return
        if not self._delay_seconds:
            self._appear()
            return
        timer = threading.Timer(self._delay_seconds, self._appear)
        timer.daemon = True
        timer.start()

    def _appear(self) -> None:
        with self._lock:
            self._is_due = bool(self._open)
            self._write()

    def finish(self, name: str) -> None:
        """Take one off the line; with the last the line goes too."""
        with self._lock:
            self._open.remove(name)
            self._write()

    def step(self, step: str, done: int, total: int) -> None:
        """Show how far the indexing of skills has come."""
        with self._lock:
            self._step = f"{step.capitalize()} {done:,} of {total:,}; checking" if done < total else "Checking"
            self._write()

    def clear(self) -> None:
        """Remove the line, whatever is still being checked."""
        with self._lock:
            self._open.clear()
            self._write()

    def _write(self) -> None:
        if not (self._shown and self._is_due):
            return
        told = f"{self._step} {', '.join(self._open)} …" if self._open else ""
        try:
            self._stream.write(_CLEAR + one_line(told, width=shutil.get_terminal_size().columns - 1))
            self._stream.flush()
        except OSError:
            # The terminal is gone; the checks go on for who reads their result elsewhere.
            self._shown = False
