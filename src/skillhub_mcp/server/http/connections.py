"""The connections of one server process: how many there may be, and how long one may take to say what it wants.

Where a place is missing, the connection that has waited longest without a request goes: its client makes another one.
A request in flight is never ended, but where answers that nobody reads take too much memory. Where every place has one,
a newcomer gets a spare connection: it is told that the server is busy, unless it asks for health.

uvicorn accepts any number of connections and waits for ever for what one sends; so its protocol is extended here: the
one on h11, which is always installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from skillhub_mcp.errors import ServerBusy
from skillhub_mcp.server.http.joined_writes import JoinedWrites
from skillhub_mcp.server.http.rate_limit import address_of, refusal

log = logging.getLogger(__name__)

HEALTH_PATH = "/healthz"
SPARE_CONNECTIONS = 8

_SPARE_SECONDS = 1.0
# What a new connection's first request needs to be read: until then it gives way to nobody.
_YOUNG_SECONDS = 0.05
# For what a refused client still sends, so that it reads why instead of finding the connection broken.
_REST_SECONDS = 5.0
_STALLED_SECONDS = 60.0
# Who reads this much of a long answer in that time is slow, and not gone.
_SLOWEST_READ_BYTES = 16_384
# What the system takes of an answer that its client has no room for yet. With more, the system would fill in steps that
# take longer than a minute on a slow link, and each connection could hold megabytes there.
_UNSENT_BYTES = 65_536
# Of all connections together: a few of the largest files, or thousands of usual answers.
_MOST_UNREAD_BYTES = 256 * 1024 * 1024
_STALLED_SECONDS_AT_THE_END = 1.0
_SECONDS_BETWEEN_LINES = 60.0
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be in all and from one address, and the seconds for a request's headers.

    The addresses and networks of `proxies` have the connections of many clients, and only the limit for all. What is
    sent after a request was refused is read for up to `rest_bytes`.
    """

    total: int
    per_address: int
    header_seconds: float
    rest_bytes: int
    proxies: Sequence[str] = ()


class OncePerMinute:
    """A warning that is logged once a minute at most, however often there is a reason."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0

    def log(self, text: str, *values: object) -> None:
        """Log the text, unless this was done within the last minute."""
        now = self._clock()
        if now >= self._next:
            self._next = now + _SECONDS_BETWEEN_LINES
            log.warning(text, *values)


class RareWarnings(logging.Filter):
    """Lets each warning pass once a minute: they are about what strangers sent, who may send it a thousand times."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._next: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is logged."""
        if record.levelno != logging.WARNING:
            return True
        now = self._clock()
        if now < self._next.get(record.msg, 0.0):
            return False
        self._next[record.msg] = now + _SECONDS_BETWEEN_LINES
        return True


# Errors of an application go through it too. Its messages are uvicorn's own few.
_uvicorn_log = logging.getLogger("uvicorn.error.connections")
_uvicorn_log.addFilter(RareWarnings())


class HttpConnections:
    """The connections of a process, and which of them has to go for another."""

    def __init__(self, limits: ConnectionLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._proxies = [ipaddress.ip_network(proxy) for proxy in limits.proxies]
        self._by_address: Counter[str] = Counter()
        self._places: set[HttpConnection] = set()
        # Since when each waits, in the order in which they began to.
        self._waiting: dict[HttpConnection, float] = {}
        self._spare: dict[HttpConnection, None] = {}
        # Those whose clients do not read, in the order in which they stopped. Not all of them have a place any more.
        self._unread: dict[HttpConnection, None] = {}
        self._warning = OncePerMinute()
        self._unread_warning = OncePerMinute()

    def __len__(self) -> int:
        """Return how many there are, without the spare ones."""
        return len(self._places)

    def admit(self, connection: HttpConnection) -> bool:
        """Give a new connection a place and return True, or a spare one and False."""
        address = connection.address
        crowded = self._by_address[address] >= self.limits.per_address and not self._is_proxy(connection.host)
        is_full = crowded or len(self._places) >= self.limits.total
        if is_full and not self._drop(address if crowded else None):
            self._warn(address if crowded else None)
            self.admit_spare(connection)
            return False
        self._places.add(connection)
        self._waiting[connection] = self._clock()
        self._by_address[address] += 1
        return True

    def admit_spare(self, connection: HttpConnection) -> None:
        """Give a new connection a spare place; the oldest spare one goes where there are too many."""
        while len(self._spare) >= SPARE_CONNECTIONS:
            self.drop_spare()
        self._spare[connection] = None

    def drop_spare(self) -> None:
        """Close the oldest spare connection, if there is one."""
        oldest = next(iter(self._spare), None)
        if oldest is not None:
            self.forget(oldest)
            oldest.drop()

    def drop_one(self) -> bool:
        """Close the connection that has waited longest without a request; return whether there was one."""
        return self._drop(None)

    def busy(self, connection: HttpConnection) -> None:
        """Note that a request of the connection is being answered."""
        self._waiting.pop(connection, None)

    def waits(self, connection: HttpConnection) -> None:
        """Note that no request of the connection is being answered."""
        if connection in self._places:
            self._waiting.setdefault(connection, self._clock())

    def unread(self, connection: HttpConnection) -> None:
        """Note that the client of a connection does not read its answer. Where such answers take too much memory, end
        the oldest of the address that has most of it.
        """
        self._unread[connection] = None
        held: Counter[str] = Counter()
        for one in self._unread:
            held[one.address] += one.unread_bytes
        if held.total() > _MOST_UNREAD_BYTES:
            address, _ = held.most_common(1)[0]
            self._unread_warning.log("%s does not read its answers: those that wait longest are given up", address)
            oldest = next(one for one in self._unread if one.address == address)
            del self._unread[oldest]
            oldest.drop()

    def read(self, connection: HttpConnection) -> None:
        """Note that the client of a connection reads again, or is gone."""
        self._unread.pop(connection, None)

    def forget(self, connection: HttpConnection) -> None:
        """Take the place of a connection that has ended, or is about to; nothing happens where it has none."""
        self._spare.pop(connection, None)
        self._waiting.pop(connection, None)
        if connection in self._places:
            self._places.remove(connection)
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]

    def _drop(self, address: str | None) -> bool:
        found = next((one for one in self._waiting if address is None or one.address == address), None)
        if found is None or self._clock() - self._waiting[found] < _YOUNG_SECONDS:
            return False
        self.forget(found)
        found.drop()
        return True

    def _warn(self, address: str | None) -> None:
        if address is None:
            self._warning.log(
                "All %d connections are in use; more are told to come back (SKILLHUB_MAX_CONNECTIONS)",
                len(self._places),
            )
        else:
            self._warning.log(
                "%s has %d connections in use; more are told to come back (SKILLHUB_MAX_CONNECTIONS_PER_ADDRESS;"
                " a proxy's clients count as one until SKILLHUB_TRUSTED_PROXIES names it)",
                address,
                self.limits.per_address,
            )

    def _is_proxy(self, host: str) -> bool:
        if not self._proxies:
            return False
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return any(address in proxy for proxy in self._proxies)


class _Phase(Enum):
    """What a connection is at: between requests, at a request's headers, answering, or at the rest of a body."""

    IDLE = "idle"
    HEADERS = "headers"
    BUSY = "busy"
    REST = "rest"
    OVER = "over"


class HttpConnection(H11Protocol):
    """One connection to a client, with deadlines for what the client has to do.

    uvicorn closes one that is idle after a request. A `spare` one is for one request, answered only at /healthz.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        connections: HttpConnections,
        spare: bool = False,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.logger = _uvicorn_log
        self.host = ""
        self.address = ""
        self._all = connections
        self._spare = spare
        self._on_end = on_end
        self._phase = _Phase.IDLE
        self._has_asked = False
        self._rest = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @property
    def unread_bytes(self) -> int:
        """How much of its answer the client has not read."""
        return self.transport.get_write_buffer_size()

    def drop(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin: with a place, or as a spare connection."""
        super().connection_made(JoinedWrites(transport, self.loop))
        _limit_unsent(transport)
        self.host = "" if self.client is None else self.client[0]
        self.address = address_of({"client": self.client})
        if self._spare:
            self._all.admit_spare(self)
        else:
            self._spare = not self._all.admit(self)
        if self._spare:
            self.app = _only_health(self.app)
        self._follow()

    def data_received(self, data: bytes) -> None:
        """Read what the client sends."""
        if self._phase is _Phase.REST:
            self._rest += len(data)
            if self._rest > self._all.limits.rest_bytes:
                self._end()
                return
        super().data_received(data)
        self._follow()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and end the request in flight: its application must not answer any more."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        if self._spare:
            self._end()
        else:
            self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._phase = _Phase.OVER
        self._set_deadline(None)
        self.resume_writing()
        self._stop_waiting_for_reader()
        self._all.forget(self)
        super().connection_lost(exc)
        self._on_end()

    def pause_writing(self) -> None:
        """Wait for a client that does not read its answer, but not for ever."""
        super().pause_writing()
        self._wait_for_reader(_STALLED_SECONDS)
        self._all.unread(self)

    def resume_writing(self) -> None:
        """Go on with a client that reads again."""
        super().resume_writing()
        self._all.read(self)
        # The rest of a last answer has to be read, too.
        if self._phase is not _Phase.OVER:
            self._stop_waiting_for_reader()

    def shutdown(self) -> None:
        """End after the request in flight. A client that does not read its answer does not keep the server, and one
        that has not sent its whole request is not waited for: it may send that again.
        """
        super().shutdown()
        if self._current_phase() is _Phase.BUSY and self.conn.their_state is h11.SEND_BODY:
            self.drop()
        if self._stalled is not None:
            self._wait_for_reader(_STALLED_SECONDS_AT_THE_END)

    def _wait_for_reader(self, seconds: float) -> None:
        """End the connection if its client reads too little of what is left within some seconds, again and again."""
        self._stop_waiting_for_reader()
        left = self.unread_bytes
        self._stalled = self.loop.call_later(seconds, self._look_at_reader, seconds, left)

    def _stop_waiting_for_reader(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _look_at_reader(self, seconds: float, left: int) -> None:
        if left - self.unread_bytes < _SLOWEST_READ_BYTES:
            self.drop()
        else:
            self._wait_for_reader(seconds)

    def _follow(self) -> None:
        """Set the deadline for what the connection is at, if that has changed."""
        phase = self._current_phase()
        if phase is self._phase and (self._deadline is not None or phase is _Phase.OVER):
            return
        self._phase = phase
        if phase is _Phase.BUSY:
            self._has_asked = True
            self._all.busy(self)
        else:
            self._all.waits(self)
        if phase is _Phase.REST:
            self._rest = 0
            self._set_deadline(_REST_SECONDS)
        elif phase is _Phase.HEADERS:
            seconds = self._all.limits.header_seconds
            self._set_deadline(min(seconds, _SPARE_SECONDS) if self._spare else seconds)
        elif phase is _Phase.IDLE:
            # uvicorn's own deadline for this is gone where the rest of a body came after the answer.
            self._set_deadline(self.timeout_keep_alive)
        elif phase is _Phase.OVER:
            self._set_deadline(None)
            self._wait_for_reader(_STALLED_SECONDS)
        else:
            self._set_deadline(None)

    def _current_phase(self) -> _Phase:
        if self.transport.is_closing():
            return _Phase.OVER
        if self.cycle is not None and not self.cycle.response_complete:
            return _Phase.BUSY
        if self.conn.their_state is h11.SEND_BODY:
            return _Phase.REST
        received, _ = self.conn.trailing_data
        return _Phase.HEADERS if received or not self._has_asked else _Phase.IDLE

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        received, _ = self.conn.trailing_data
        if self._phase is _Phase.HEADERS and received:
            self.transport.write(_TOO_SLOW)
        self._end()

    def _end(self) -> None:
        """Close the connection when what was written is sent, for which its client has a minute."""
        self._all.forget(self)
        self.transport.close()
        self._follow()


def _limit_unsent(transport: asyncio.Transport) -> None:
    # Not every system has it.
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    connected = transport.get_extra_info("socket")
    if option is not None and connected is not None:
        with contextlib.suppress(OSError):
            connected.setsockopt(socket.IPPROTO_TCP, option, _UNSENT_BYTES)


def _only_health(app: ASGIApp) -> Any:
    """Return an application that answers as `app` at /healthz, and elsewhere that the server is busy."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == HEALTH_PATH:
            await app(scope, receive, send)
            return
        busy = ServerBusy()
        await refusal(busy, status=503, headers={"retry-after": str(busy.seconds)})(scope, receive, send)

    return answer
