"""How much may one client ask over HTTP? Requests a minute, wrong tokens a minute, and bytes in a request.

Plain ASGI, because each request passes here, and what is kept of clients is bounded, because anybody can be one.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillhub_mcp.errors import RateLimited, RequestTooLarge, SkillHubError
from skillhub_mcp.server.http.callers import CallerToken
from skillhub_mcp.server.middleware.error_handling import JSONRPC_CODE, error_data, error_text

WRONG_TOKENS_A_MINUTE = 60

_KEPT_CLIENTS = 10_000
_KEPT_TOKENS = 10_000
_SECONDS = 60.0


class Buckets:
    """A bucket for each client, which holds as much as a minute allows and fills evenly over one."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        # How much was in each, and when. Who was heard of longest ago goes, and begins anew with a full one.
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> int:
        """Return 0 where there is something in the client's bucket, else in how many seconds there is."""
        return self._wait(self._left(client, self._clock()))

    def take(self, client: str) -> int:
        """Take one out of the client's bucket if there is one, and return what `wait` would have."""
        now = self._clock()
        left = self._left(client, now)
        if left >= 1:
            self._known[client] = (left - 1, now)
            self._known.move_to_end(client)
            if len(self._known) > _KEPT_CLIENTS:
                self._known.popitem(last=False)
        return self._wait(left)

    def _left(self, client: str, now: float) -> float:
        left, at = self._known.get(client, (float(self.per_minute), now))
        return min(self.per_minute, left + (now - at) * self.per_minute / _SECONDS)

    def _wait(self, left: float) -> int:
        return 0 if left >= 1 else math.ceil((1 - left) * _SECONDS / self.per_minute)


class WrongTokens:
    """Whose tokens are not even looked at for a while: an address that sent too many which nobody knows.

    A token that was let in before is looked at all the same, so that a neighbour's guesses lock nobody out.
    """

    def __init__(self, *, per_minute: int = WRONG_TOKENS_A_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._buckets = Buckets(per_minute, clock=clock)
        self._let_in: OrderedDict[bytes, None] = OrderedDict()

    def wait(self, address: str, token: str) -> RateLimited | None:
        """Return why `token` is not looked at now, or None."""
        seconds = self._buckets.wait(address)
        if not seconds or _mark(token) in self._let_in:
            return None
        return RateLimited("wrong tokens", per_minute=self._buckets.per_minute, seconds=seconds)

    def was_right(self, token: str) -> None:
        """Note that `token` was let in."""
        mark = _mark(token)
        self._let_in[mark] = None
        self._let_in.move_to_end(mark)
        if len(self._let_in) > _KEPT_TOKENS:
            self._let_in.popitem(last=False)

    def was_wrong(self, address: str, token: str) -> None:
        """Note that nobody knows `token`, or nobody any more."""
        self._let_in.pop(_mark(token), None)
        self._buckets.take(address)


class RateLimit:
    """ASGI: answers 429 to a client that asks more than its bucket holds. Stands behind authentication."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self._app = app
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            seconds = self._buckets.take(_client(scope))
            if seconds:
                error = RateLimited("requests", per_minute=self._buckets.per_minute, seconds=seconds)
                await too_many(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class RequestSize:
    """ASGI: answers 413 to a request of more than `max_bytes`, before anything looks into it."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if b"transfer-encoding" in headers:
            await self._unannounced(scope, receive, send)
        elif int(headers.get(b"content-length", b"0")) > self._max_bytes:
            await self._refuse(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _unannounced(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read a body that comes in chunks, as far as it may be long, and hand it on."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_bytes:
                await self._refuse(scope, receive, send)
                return
        whole: Message | None = {"type": "http.request", "body": bytes(body), "more_body": False}

        async def first_the_body() -> Message:
            nonlocal whole
            given, whole = whole, None
            return await receive() if given is None else given

        await self._app(scope, first_the_body, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What is still to come of the body would be taken for the next request.
        response = refusal(RequestTooLarge(self._max_bytes), status=413, headers={"connection": "close"})
        await response(scope, receive, send)


def too_many(error: RateLimited) -> JSONResponse:
    """Return the answer 429."""
    return refusal(error, status=429, headers={"retry-after": str(error.seconds)})


def refusal(error: SkillHubError, *, status: int, headers: dict[str, str]) -> JSONResponse:
    """Return an answer that reads as a JSON-RPC error to a client, and as a sentence to a person."""
    told = {"code": JSONRPC_CODE, "message": error_text(error), "data": error_data(error)}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, status_code=status, headers=headers)


def address_of(scope: Scope) -> str:
    """Return what a request's address counts as. Who has one IPv6 address has the 64 bits behind it too."""
    client = scope.get("client")
    if client is None:
        return ""
    host = str(client[0])
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped
    return str(ipaddress.ip_network((address, 64), strict=False) if mapped is None else mapped)


def _client(scope: Scope) -> str:
    token = getattr(scope.get("user"), "access_token", None)
    return f"token {token.client_id}" if isinstance(token, CallerToken) else f"address {address_of(scope)}"


def _mark(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
