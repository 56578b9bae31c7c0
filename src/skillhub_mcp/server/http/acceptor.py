"""Accepting connections, also where the process has no file descriptor left.

asyncio's own loop writes a traceback for each place in the queue then, thousands a second, and accepts nobody. This one
says so once a minute, lets the connection go that has waited longest, and keeps a few descriptors, so that /healthz
answers even where every connection has a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
import socket
import sys
from collections.abc import Callable
from typing import Protocol

from skillhub_mcp.server.http.connections import SPARE_CONNECTIONS, HttpConnection, HttpConnections, OncePerMinute

log = logging.getLogger(__name__)

# What an index, a search or a command opens beside the connections: a share of the limit, and what they need at least.
_OTHER_DESCRIPTORS = 8
_FEWEST_OTHER_DESCRIPTORS = 32
_FEWEST_CONNECTIONS = 4
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_BACK_OFF_SECONDS = 0.05
# Enough to answer a probe that has sent its request at once.
_GIVE_WAY_SECONDS = 0.005
_ODD_ERROR_SECONDS = 1.0


class MakeConnection(Protocol):
    """Makes the protocol of a connection that was accepted; `on_end` is called when it has ended."""

    def __call__(self, *, spare: bool, on_end: Callable[[], object]) -> HttpConnection:
        """Return the protocol."""
        ...


def most_connections(wanted: int) -> int:
    """Return how many connections there may be: as many as wanted, or what the limit of descriptors leaves for them.

    The log has a line where that is less.
    """
    limit = _descriptor_limit()
    if limit is None:
        return wanted
    left = limit - _open_descriptors() - SPARE_CONNECTIONS - max(limit // _OTHER_DESCRIPTORS, _FEWEST_OTHER_DESCRIPTORS)
    if left >= wanted:
        return wanted
    most = max(left, _FEWEST_CONNECTIONS)
    log.warning("At most %d connections instead of %d: the limit of descriptors (ulimit -n) is %d", most, wanted, limit)
    return most


class Acceptor:
    """Accepts the connections of one listener, in the running loop, until it is closed.

    If that fails unexpectedly, `on_failure` is called: a server that nobody reaches should end, to be started again.
    """

    def __init__(
        self,
        listener: socket.socket,
        connections: HttpConnections,
        make: MakeConnection,
        on_failure: Callable[[], None],
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._connections = connections
        self._make = make
        self._reserve = [os.open(os.devnull, os.O_RDONLY) for _ in range(SPARE_CONNECTIONS)]
        self._warning = OncePerMinute()
        self._loop = asyncio.get_running_loop()
        self._on_failure = on_failure
        self._accepting = self._loop.create_task(self._accept())
        self._accepting.add_done_callback(self._when_done)

    async def close(self) -> None:
        """Accept no more, and give the reserve back."""
        self._accepting.cancel()
        await asyncio.wait((self._accepting,))
        while self._reserve:
            os.close(self._reserve.pop())

    def _when_done(self, accepting: asyncio.Task[None]) -> None:
        if not accepting.cancelled():
            log.error("Accepting connections failed; the server ends", exc_info=accepting.exception())
            self._on_failure()

    async def _accept(self) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(self._listener)
            except OSError as error:
                await self._when_refused(error)
            else:
                await self._serve(accepted, spare=False)

    async def _when_refused(self, error: OSError) -> None:
        """Go on after an error: of the client, of the machine's limits, or an odd one."""
        if error.errno in _FULL:
            await self._when_full(error)
        elif error.errno in (errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.EINTR):
            log.debug("A client went away before it was accepted: %s", error)
        else:
            self._warning.log("No connection can be accepted: %s", error)
            await asyncio.sleep(_ODD_ERROR_SECONDS)

    async def _when_full(self, error: OSError) -> None:
        """Make room: without the connection that waits longest, or with a descriptor that was kept for this."""
        # The system says that it is full also where nobody wants to be let in.
        if not select.select([self._listener], [], [], 0)[0]:
            await asyncio.sleep(_BACK_OFF_SECONDS)
            return
        self._warning.log(
            "No descriptor is left for another connection (%s): %d are open. Raise the limit (ulimit -n), or lower "
            "SKILLHUB_MAX_CONNECTIONS",
            error.strerror,
            len(self._connections),
        )
        if self._connections.drop_one():
            # Its descriptor is closed by the loop.
            await asyncio.sleep(0)
            return
        accepted = self._accept_with_reserve() if self._reserve else None
        if accepted is not None:
            await self._serve(accepted, spare=True)
            return
        self._connections.drop_spare()
        await asyncio.sleep(_GIVE_WAY_SECONDS)

    def _accept_with_reserve(self) -> socket.socket | None:
        """Accept a connection with a descriptor of the reserve; None where that was taken, or nobody waits any more."""
        os.close(self._reserve.pop())
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            self._refill()
            return None
        accepted.setblocking(False)
        return accepted

    async def _serve(self, accepted: socket.socket, *, spare: bool) -> None:
        def make() -> HttpConnection:
            # Its descriptor is closed right after it has ended.
            return self._make(spare=spare, on_end=lambda: self._loop.call_soon(self._refill))

        try:
            await self._loop.connect_accepted_socket(make, accepted)
        except OSError as error:
            accepted.close()
            log.debug("A client went away when it was accepted: %s", error)
        except BaseException:
            accepted.close()
            raise

    def _refill(self) -> None:
        """Fill up the reserve, as far as there are descriptors."""
        if self._accepting.done():
            return
        with contextlib.suppress(OSError):
            while len(self._reserve) < SPARE_CONNECTIONS:
                self._reserve.append(os.open(os.devnull, os.O_RDONLY))


def _descriptor_limit() -> int | None:
    """Return how many descriptors this process may have; None where nothing says so."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if limit == resource.RLIM_INFINITY else limit


def _open_descriptors() -> int:
    """Return how many descriptors this process has; a usual number where nothing says so."""
    try:
        return len(os.listdir("/dev/fd"))
    except OSError:
        return 32
