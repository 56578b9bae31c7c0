"""How do several processes answer at one address? One listens and looks after the others, which answer.

They are spawned and never forked, which LanceDB does not survive; each makes its hub for itself, and they share the
database as other servers do.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.server.http.app import GRACE_SECONDS, HttpOptions, listening
from skillhub_mcp.server.http.shutdown import GracefulServer, end_well_when_told

log = logging.getLogger(__name__)

MakeServer = Callable[[], GracefulServer]

# A worker that ends sooner than this has not begun well; when so many in a row have not, none will.
_SETTLED_SECONDS = 10.0
_MOST_FALSE_STARTS = 5
# On top of the time that a worker gives the answers in flight.
_LEAVING_SECONDS = 5.0


def serve_by_workers(make_server: MakeServer, options: HttpOptions, count: int) -> bool:
    """Answer by `count` processes until told to stop; one that ends before is replaced.

    `make_server` travels to each and is called there. Return whether they stayed up until then. Raises InvalidSetting
    when the address cannot be had, and KeyboardInterrupt.
    """
    with _told_to_stop() as told, listening(options) as listener:
        workers = _Workers(make_server, listener, count)
        try:
            return workers.look_after(told)
        finally:
            workers.stop()


class _Workers:
    def __init__(self, make_server: MakeServer, listener: socket.socket, count: int) -> None:
        self._make_server = make_server
        self._listener = listener
        self._spawning = multiprocessing.get_context("spawn")
        self._working = [self._begun() for _ in range(count)]

    def look_after(self, told: socket.socket) -> bool:
        """Replace whoever ends until something is said; return False once that has no prospects."""
        false_starts = 0
        while told not in wait([told, *(process.sentinel for process, _ in self._working)]):
            for number, (process, began) in enumerate(self._working):
                if process.is_alive():
                    continue
                process.join()
                false_starts = false_starts + 1 if time.monotonic() - began < _SETTLED_SECONDS else 0
                if false_starts >= _MOST_FALSE_STARTS:
                    log.error("%d workers in a row ended soon after they began: no more are tried", false_starts)
                    return False
                log.warning("Worker %s ended with %s: another takes its place", process.pid, process.exitcode)
                self._working[number] = self._begun()
        return True

    def stop(self) -> None:
        """Have every worker answer what it is at and end; one that takes too long is killed."""
        for process, _ in self._working:
            process.terminate()
        until = time.monotonic() + GRACE_SECONDS + _LEAVING_SECONDS
        for process, _ in self._working:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _begun(self) -> tuple[SpawnProcess, float]:
        process = self._spawning.Process(target=_work, args=(self._make_server, self._listener))
        process.start()
        return process, time.monotonic()


def _work(make_server: MakeServer, listener: socket.socket) -> None:
    """Be a worker."""
    end_well_when_told()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        # Ctrl+C is typed to all of them at once.
        with contextlib.suppress(KeyboardInterrupt):
            make_server().run(sockets=[listener])
    except SkillHubError as error:
        log.error("A worker cannot begin: %s", error.message)  # noqa: TRY400 - its sentence says it all
        sys.exit(1)


def _end_with_parent() -> None:
    """Stop when whoever looks after this process is gone, rather than hold its address for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _told_to_stop() -> Iterator[socket.socket]:
    """Yield what has something to read once SIGTERM or SIGINT came; after the latter, raise KeyboardInterrupt."""
    heard, said = socket.socketpair()
    said.setblocking(False)
    seen: list[int] = []

    def tell(number: int, _: FrameType | None) -> None:
        seen.append(number)
        with contextlib.suppress(BlockingIOError):
            said.send(b".")

    before = {number: signal.signal(number, tell) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with heard, said:
            yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in seen:
        raise KeyboardInterrupt
