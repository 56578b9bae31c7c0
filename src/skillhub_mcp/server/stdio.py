"""Serving over stdio until the client or a signal ends it: both end the server in the same way.

The thread that reads from the client waits for a line, and no signal wakes it. So the input is read here, beside a pipe
to which a signal writes: the server then finds its input at its end, as where the client has gone. It ends the calls in
flight and the commands that they run, and closes what it has opened.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# A client that does not read what it is sent would keep the server from ending.
_GRACE_SECONDS = 8.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve_stdio(serve: Callable[[], object]) -> signal.Signals | None:
    """Run `serve`, which reads `sys.stdin` to its end, and return the signal that ended it; None for the client.

    A second signal, and a first one where ending takes too long, ends the process at once with 128 and its number.
    """
    if os.name != "posix" or not _stdin_has_a_descriptor() or threading.current_thread() is not threading.main_thread():
        serve()
        return None
    with _stdin_that_ends() as end, _on_signals(end) as received:
        serve()
        return received[0] if received else None


def _stdin_has_a_descriptor() -> bool:
    try:
        sys.stdin.fileno()
    except (AttributeError, io.UnsupportedOperation):  # a process without one, a program that has replaced it
        return False
    return True


@contextmanager
def _stdin_that_ends() -> Iterator[Callable[[], None]]:
    """Replace `sys.stdin` while this lasts, and yield what ends it."""
    before = sys.stdin
    waking, wake = os.pipe()
    # What starts here later must not read the client's messages: descriptor 0 is empty for it.
    kept = os.dup(before.fileno())
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, before.fileno())
    os.close(empty)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_EndableInput(kept, waking)), encoding="utf-8")
    try:
        yield lambda: os.close(wake)
    finally:
        sys.stdin = before
        os.dup2(kept, before.fileno())


class _EndableInput(io.RawIOBase):
    """What can be read from `source`, until it ends or the other end of the pipe `waking` is closed."""

    def __init__(self, source: int, waking: int) -> None:
        self._source = source
        self._waking = waking

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        ready, _, _ = select.select([self._source, self._waking], [], [])
        return 0 if self._waking in ready else os.readv(self._source, [buffer])


@contextmanager
def _on_signals(end: Callable[[], None]) -> Iterator[list[signal.Signals]]:
    """Call `end` at the first signal, and yield the list that will hold it."""
    received: list[signal.Signals] = []

    def handle(number: int, _: FrameType | None) -> None:
        if received:
            os._exit(128 + number)
        received.append(signal.Signals(number))
        end()
        late = threading.Timer(_GRACE_SECONDS, os._exit, (128 + number,))
        late.daemon = True
        late.start()

    # Not where a signal is ignored, as SIGINT is in the background of a script.
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, handle)
    try:
        yield received
    finally:
        for number in handled:
            signal.signal(number, before[number])
