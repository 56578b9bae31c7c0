"""The stderr of a serving process, which its client need not read: what is written waits, and nobody who writes it.

A full pipe would hold up each thread that logs, and so each answer, and the end of the process. So one thread of its
own hands on what was written, in order and each line at once, and what has no room is counted and dropped.
"""

from __future__ import annotations

import atexit
import io
import logging
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TextIO

from skillhub_mcp.cli.output import drop

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

log = logging.getLogger(__name__)

MOST_BYTES = 1 << 20
# The end of a process waits so long for whoever reads.
_END_SECONDS = 1.0
# For a stderr that somebody made non-blocking, and that has no room now.
_NO_ROOM_SECONDS = 0.05


def never_wait_for_stderr() -> None:
    """Replace `sys.stderr` by a stream that takes what is written without waiting, until the process ends.

    The end waits a second for what was written to be read. A stderr that is no file stays as it is.
    """
    stderr = sys.stderr
    # Without its buffer, whose lock the thread that waits would hold when the process ends.
    raw = getattr(getattr(stderr, "buffer", None), "raw", getattr(stderr, "buffer", None))
    if not (isinstance(stderr, io.TextIOWrapper) and isinstance(raw, io.RawIOBase)):
        return
    stderr.flush()
    waiting = _Waiting(raw)
    stream = io.TextIOWrapper(waiting, encoding=stderr.encoding, errors=stderr.errors, line_buffering=True)
    threading.Thread(target=waiting.hand_on, name="skillhub-stderr", daemon=True).start()
    sys.stderr = stream
    atexit.register(_end, stream, waiting, stderr)


def _end(stream: TextIO, waiting: _Waiting, stderr: TextIO) -> None:
    stream.flush()
    if waiting.was_handed_on(_END_SECONDS):
        sys.stderr = stderr
    else:
        # Nothing that Python still writes may wait.
        drop(stderr)


class _Waiting(io.RawIOBase):
    """What was written and is not handed on to `out` yet, at most MOST_BYTES of it. Safe to use from several threads.

    Each write is handed on by itself: what several processes write to one pipe stays whole lines.
    """

    name = "<stderr>"

    def __init__(self, out: io.RawIOBase) -> None:
        self._out = out
        self._written: deque[bytes] = deque()
        self._size = 0
        self._dropped_lines = 0
        # Reentrant, as a signal's handler and a finaliser may write while their own thread does.
        self._changed = threading.Condition(threading.RLock())

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._out.isatty()

    def fileno(self) -> int:
        return self._out.fileno()

    def write(self, content: ReadableBuffer) -> int:
        part = bytes(content)
        with self._changed:
            if self._written and self._size + len(part) > MOST_BYTES:
                self._dropped_lines += _lines(part)
            else:
                self._written.append(part)
                self._size += len(part)
                self._changed.notify()
        return len(part)

    def was_handed_on(self, seconds: float) -> bool:
        """Whether all that was written is handed on within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._written, seconds)

    def hand_on(self) -> None:
        """Hand on what is written, for ever."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._written)
                part = self._written[0]
            handed_on = _hand_on(self._out, part)
            if handed_on:
                self._tell_of_dropped()
            with self._changed:
                self._written.popleft()
                self._size -= len(part)
                if not handed_on:
                    self._dropped_lines += _lines(part)
                self._changed.notify()

    def _tell_of_dropped(self) -> None:
        with self._changed:
            # Not before there is room for it.
            if not self._dropped_lines or self._size > MOST_BYTES // 2:
                return
            lines, self._dropped_lines = self._dropped_lines, 0
        # Behind all that was not dropped before, and as the log is written.
        log.error("%d lines of the log were dropped here, since nobody read stderr or it could not be written", lines)


def _lines(part: bytes) -> int:
    return max(1, part.count(b"\n"))


def _hand_on(out: io.RawIOBase, part: bytes) -> bool:
    """Write all of it, and return whether that was possible."""
    left = memoryview(part)
    try:
        while left:
            count = out.write(left)
            if count is None:
                time.sleep(_NO_ROOM_SECONDS)
            else:
                left = left[count:]
    except (OSError, ValueError):  # nobody can read it any more, the disk is full, or it is closed
        return False
    return True
