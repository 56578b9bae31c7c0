"""Limits on what one client may send over HTTP in a minute."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.errors import RateLimited
from skillhub_mcp.server.callers import CallerToken
from skillhub_mcp.server.error_responses import JSONRPC_CODE, error_data, error_text
from skillhub_mcp.server.http.pages import METRICS_PATH, READY_PATH

_MAX_CLIENTS = 10_000
_MAX_ADDRESS = 64
_SECONDS = 60.0


class TokenBuckets:
    """A token bucket for each client, which holds one minute's requests and is refilled evenly over a minute."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        # The level of each bucket, and when it was measured. A client that was dropped starts with a full one.
        self._levels: LRUCache[str, tuple[float, float]] = LRUCache(_MAX_CLIENTS)

    def wait(self, client: str) -> int:
        """Return 0 if the client may send a request now, else in how many seconds it may."""
        return self._seconds(self._level(client, self._clock()))

    def take(self, client: str) -> int:
        """Count a request if the client may send one now, and return what `wait` would have returned."""
        now = self._clock()
        level = self._level(client, now)
        if level >= 1:
            self._levels.put(client, (level - 1, now))
        return self._seconds(level)

    def _level(self, client: str, now: float) -> float:
        level, measured = self._levels.get(client) or (float(self.per_minute), now)
        return min(self.per_minute, level + (now - measured) * self.per_minute / _SECONDS)

    def _seconds(self, level: float) -> int:
        return 0 if level >= 1 else math.ceil((1 - level) * _SECONDS / self.per_minute)


class RateLimit:
    """ASGI middleware, after authentication: answers 429 to a client that sends more than its bucket allows."""

    def __init__(self, app: ASGIApp, buckets: TokenBuckets) -> None:
        self._app = app
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_counted = scope["type"] == "http" and scope["path"] not in (READY_PATH, METRICS_PATH)
        seconds = self._buckets.take(client_of(scope)) if is_counted else 0
        if seconds:
            error = RateLimited("requests", per_minute=self._buckets.per_minute, seconds=seconds)
            await too_many_requests(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def too_many_requests(error: RateLimited) -> JSONResponse:
    """Return the response 429: a JSON-RPC error to a client, a sentence to a person."""
    content = {"code": JSONRPC_CODE, "message": error_text(error), "data": error_data(error)}
    headers = {"retry-after": str(error.seconds)}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": content}, status_code=429, headers=headers)


def address_of(scope: Scope) -> str:
    """Return the address that a request counts for: all of a /64 network is one, as one IPv6 client has the whole."""
    client = scope.get("client")
    if client is None:
        return ""
    host = str(client[0])
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        # IPv4, or whatever a trusted proxy reports.
        return host[:_MAX_ADDRESS]
    mapped = address.ipv4_mapped
    return str(ipaddress.ip_network((address, 64), strict=False) if mapped is None else mapped)


def client_of(scope: Scope) -> str:
    """Return the client that a request counts for: the bearer of its token, or else its address."""
    token = getattr(scope.get("user"), "access_token", None)
    return f"token {token.client_id}" if isinstance(token, CallerToken) else f"address {address_of(scope)}"
