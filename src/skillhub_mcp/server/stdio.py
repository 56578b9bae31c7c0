"""Serving over stdio until the client or a signal ends it: both end the server in the same way.

The thread that reads from the client waits for a line, and no signal wakes it. So the input is read here, beside a pipe
to which a signal writes: the server then finds its input at its end, as where the client has gone. It ends the calls in
flight and the commands that they run, and closes what it has opened.

The thread that writes to the client waits for it to read. So the output is written here, beside the same pipe: from the
end of the input on, what nobody reads is dropped.
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
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# A call that does not end would keep the server from ending.
_GRACE_SECONDS = 8.0
# Who has ended the input may go on reading. Clients end a server by force 4 seconds after they have.
_UNREAD_SECONDS = 3.0
# As many bytes as a pipe takes without waiting, where it takes any.
_TAKEN_AT_ONCE = getattr(select, "PIPE_BUF", 512)
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve_stdio(serve: Callable[[], object]) -> signal.Signals | None:
    """Run `serve`, which reads `sys.stdin` to its end, and return the signal that ended it; None for the client.

    A second signal, and a first one where ending takes too long, ends the process at once with 128 and its number.
    """
    have_descriptors = all(map(_has_a_descriptor, (sys.stdin, sys.stdout, sys.stderr)))
    if os.name != "posix" or not have_descriptors or threading.current_thread() is not threading.main_thread():
        serve()
        return None
    with _streams_that_end() as end, _on_signals(end) as received:
        serve()
        return received[0] if received else None


def _has_a_descriptor(stream: TextIO | None) -> bool:
    if stream is None:
        return False
    try:
        stream.fileno()
    except (AttributeError, io.UnsupportedOperation):  # a program that has replaced it
        return False
    return True


@contextmanager
def _streams_that_end() -> Iterator[Callable[[], None]]:
    """Replace `sys.stdin` and `sys.stdout` while this lasts, and yield what ends them."""
    stdin, stdout = sys.stdin, sys.stdout
    waking, wake = os.pipe()

    def end() -> None:
        os.write(wake, b".")

    # What starts here later must not read the client's messages: descriptor 0 is empty for it. Nor must it write among
    # those to the client: descriptor 1 is that of the log.
    source, out = os.dup(stdin.fileno()), os.dup(stdout.fileno())
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, stdin.fileno())
    os.close(empty)
    os.dup2(sys.stderr.fileno(), stdout.fileno())
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_EndableInput(source, waking, end)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_EndableOutput(out, waking, end)), encoding="utf-8")
    try:
        yield end
    finally:
        sys.stdin, sys.stdout = stdin, stdout
        os.dup2(source, stdin.fileno())
        os.dup2(out, stdout.fileno())


class _EndableInput(io.RawIOBase):
    """What can be read from `source`, until it ends or there is something in the pipe `waking`.

    At its end it calls `end`, which puts something there.
    """

    def __init__(self, source: int, waking: int, end: Callable[[], None]) -> None:
        self._source = source
        self._waking = waking
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        ready, _, _ = select.select([self._source, self._waking], [], [])
        count = 0 if self._waking in ready else os.readv(self._source, [buffer])
        if not count:
            self._end()
        return count


class _EndableOutput(io.RawIOBase):
    """What writes to `out`. From when there is something in the pipe `waking`, what nobody reads in time is dropped.

    Where nobody can read any more, it calls `end`, which puts something there.
    """

    def __init__(self, out: int, waking: int, end: Callable[[], None]) -> None:
        self._out = out
        self._waking = waking
        self._end = end
        self._is_read = True

    def writable(self) -> bool:
        return True

    def write(self, content: ReadableBuffer) -> int:
        part = memoryview(content)
        self._is_read = self._is_read and self._has_room()
        if not self._is_read:
            return len(part)
        try:
            return os.write(self._out, part[:_TAKEN_AT_ONCE])
        except BrokenPipeError:
            self._end()
            raise

    def _has_room(self) -> bool:
        _, room, _ = select.select([self._waking], [self._out], [])
        return bool(room or select.select([], [self._out], [], _UNREAD_SECONDS)[1])


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
