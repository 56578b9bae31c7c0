"""Serving over stdio until the client closes its end or a signal arrives.

No signal interrupts the SDK's thread that waits for a line. So a signal ends the input: the server then cancels the
calls in flight, ends their commands and closes the hub, as when the client leaves.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

# A call that does not end, or a client that does not read its answers, must not keep the server from ending.
_GRACE_SECONDS = 8.0


def serve_stdio(serve: Callable[[], object]) -> signal.Signals | None:
    """Run `serve`, which reads `sys.stdin` to its end, and return the signal that ended it; None for the client.

    A second signal ends the process at once with 128 and its number, and so does the grace period after the end of the
    input (1 if no signal arrived). The process can only exit afterwards: its stdin and signal handlers are replaced.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        serve()
        return None
    received: list[signal.Signals] = []
    waking, wake = os.pipe()

    def on_signal(number: int, _: FrameType | None) -> None:
        if received:
            os._exit(128 + number)
        received.append(signal.Signals(number))
        os.close(wake)

    def on_end() -> None:
        late = threading.Timer(_GRACE_SECONDS, lambda: os._exit(128 + received[0] if received else 1))
        late.daemon = True
        late.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        # A signal that is ignored stays ignored, as SIGINT is for a background job of a shell script.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, on_signal)
    source, empty = os.dup(sys.stdin.fileno()), os.open(os.devnull, os.O_RDONLY)
    # A child process must not read the client's messages.
    os.dup2(empty, sys.stdin.fileno())
    os.close(empty)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_EndableInput(source, waking, on_end)), encoding="utf-8")
    serve()
    return received[0] if received else None


class _EndableInput(io.RawIOBase):
    """The bytes of `source` until its end, or until the other end of the pipe `waking` is closed."""

    def __init__(self, source: int, waking: int, on_end: Callable[[], None]) -> None:
        self._source = source
        self._waking = waking
        self._on_end = on_end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        ready, _, _ = select.select([self._source, self._waking], [], [])
        count = 0 if self._waking in ready else os.readv(self._source, [buffer])
        if not count:
            self._on_end()
        return count
