"""Worker processes: one process listens and supervises the others, which answer at the same address.

They are spawned and never forked, because LanceDB does not survive a fork.
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
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.server.http.app import GRACE_SECONDS, HttpOptions, listening, url_of
from skillhub_mcp.server.http.shutdown import GracefulServer, exit_cleanly_on_sigterm

log = logging.getLogger(__name__)

_WORKER = "skillhub-worker-"
FIRST_WORKER = f"{_WORKER}0"

# It is given the URL of /mcp at which the server will be asked.
MakeServer = Callable[[str], GracefulServer]

# A worker that ends sooner than this has failed to start; after so many failures in a row no more are started.
_START_SECONDS = 10.0
_MAX_FAILED_STARTS = 5
# In addition to the grace period for requests in flight.
_EXIT_SECONDS = 5.0


def serve_by_workers(make_server: MakeServer, options: HttpOptions, count: int) -> None:
    """Serve with `count` processes until this one is stopped; a process that ends earlier is replaced.

    `make_server` is pickled and called in each. Returns if too many failed to start in a row. Raises InvalidSetting for
    an address that cannot be used, and KeyboardInterrupt and SystemExit when it is stopped.
    """
    exit_cleanly_on_sigterm()
    workers: list[SpawnProcess] = []
    with listening(options) as listener:
        try:
            _supervise(workers, lambda number: _start(make_server, listener, number), count)
        finally:
            _stop(workers)


def _supervise(workers: list[SpawnProcess], start: Callable[[int], SpawnProcess], count: int) -> None:
    """Start workers, and replace those that end, until a signal or too many failed starts in a row."""
    workers.extend(map(start, range(count)))
    started = [time.monotonic()] * count
    failed_starts = 0
    while wait([process.sentinel for process in workers]):
        for number, process in enumerate(workers):
            if process.is_alive():
                continue
            process.join()
            failed_starts = failed_starts + 1 if time.monotonic() - started[number] < _START_SECONDS else 0
            if failed_starts >= _MAX_FAILED_STARTS:
                log.error("%d workers in a row ended soon after they started: giving up", failed_starts)
                return
            log.warning("Worker %s ended with %s and is replaced", process.pid, process.exitcode)
            workers[number], started[number] = start(number), time.monotonic()


def _stop(workers: Sequence[SpawnProcess]) -> None:
    """Let every worker finish its requests and end; one that takes too long is killed."""
    for process in workers:
        process.terminate()
    until = time.monotonic() + GRACE_SECONDS + _EXIT_SECONDS
    for process in workers:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


def _start(make_server: MakeServer, listener: socket.socket, number: int) -> SpawnProcess:
    cwd = os.getcwd()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_work, args=(make_server, listener, cwd), name=f"{_WORKER}{number}")
    # A new Python looks for its first modules where it starts: that must not be a project.
    os.chdir(os.path.abspath(os.sep))
    try:
        process.start()
    finally:
        os.chdir(cwd)
    return process


def _work(make_server: MakeServer, listener: socket.socket, cwd: str) -> None:
    """Run a worker in the directory `cwd`."""
    os.chdir(cwd)
    exit_cleanly_on_sigterm()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        # Ctrl+C sends SIGINT to all processes at once.
        with contextlib.suppress(KeyboardInterrupt):
            make_server(url_of(listener)).run(sockets=[listener])
    except SkillHubError as error:
        log.error("A worker cannot start: %s", error.message)  # noqa: TRY400 - the message is enough
        sys.exit(1)


def _end_with_parent() -> None:
    """Stop when the supervising process is gone, instead of holding the address for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
