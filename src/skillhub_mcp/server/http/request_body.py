"""The bodies of requests: read only for who may ask, up to a size, within a time, and not too many at once."""

from __future__ import annotations

from http import HTTPStatus

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillhub_mcp.errors import RequestTooLarge, RequestTooSlow, ServerBusy
from skillhub_mcp.server.http.front_page import MCP_PATH
from skillhub_mcp.server.http.rate_limit import refusal

# Bodies up to this size are always read: the number of connections bounds them.
_SMALL = 65_536
# All bodies together, as a multiple of the largest one.
_LARGE_BODIES = 64
_STATUS = {
    RequestTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    RequestTooSlow: HTTPStatus.REQUEST_TIMEOUT,
    ServerBusy: HTTPStatus.SERVICE_UNAVAILABLE,
}


class RequestBody:
    """ASGI middleware: reads the body of a request to /mcp, or refuses it. Runs after authentication.

    With `needs_token`, the body of a request without a valid one is not read at all: the application refuses it.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, seconds: float, needs_token: bool) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._needs_token = needs_token
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != MCP_PATH or self._is_stranger(scope):
            await self._app(scope, receive, send)
            return
        body = bytearray()
        try:
            try:
                is_whole = await self._read(scope, receive, body)
            except (RequestTooLarge, RequestTooSlow, ServerBusy) as error:
                headers = {"retry-after": str(error.seconds)} if isinstance(error, ServerBusy) else {}
                await refusal(error, status=_STATUS[type(error)], headers=headers)(scope, receive, send)
                return
            if is_whole:
                await self._app(scope, _body_first(bytes(body), receive), send)
        finally:
            self._held -= len(body)

    def _is_stranger(self, scope: Scope) -> bool:
        return self._needs_token and not scope["user"].is_authenticated

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> bool:
        """Read a request's body into `body`, and return whether its client stayed until its end.

        Raises RequestTooLarge, RequestTooSlow and ServerBusy.
        """
        announced = int(dict(scope["headers"]).get(b"content-length", b"0"))
        if announced > self._max_bytes:
            raise RequestTooLarge(self._max_bytes)
        with anyio.move_on_after(self._seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return False
                part = message.get("body", b"")
                body += part
                self._held += len(part)
                if len(body) > self._max_bytes:
                    raise RequestTooLarge(self._max_bytes)
                if len(body) > _SMALL and self._held > _LARGE_BODIES * self._max_bytes:
                    raise ServerBusy
                if not message.get("more_body", False):
                    return True
        raise RequestTooSlow(self._seconds)


def _body_first(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that was read, and then what comes after it."""
    pending: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def receive_body_first() -> Message:
        nonlocal pending
        message, pending = pending, None
        return await receive() if message is None else message

    return receive_body_first
