"""Requests that other servers accept and the SDK refuses, changed into ones that it accepts.

- `/mcp/` is `/mcp`. A redirect would leave the path prefix of a proxy.
- `initialize` with the id of an ended session, or an empty one, starts a session. The SDK answers 404.
- A client that accepts JSON and no event stream, or that says nothing, gets the response as JSON. The SDK answers 406,
  or a stream. Progress notifications before the response are dropped, as in the SDK's own JSON mode.
"""

from __future__ import annotations

import json
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillhub_mcp.server.http.pages import MCP_PATH

_SESSION = "mcp-session-id"
_BOTH = "application/json, text/event-stream"
_STREAM = "text/event-stream"
# The SDK refuses a larger body.
_MAX_BODY_BYTES = 4 * 1024 * 1024


class LenientRequests:
    """ASGI middleware, after authentication: it does not read the body of a request without a valid token."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (MCP_PATH, f"{MCP_PATH}/"):
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": MCP_PATH, "raw_path": MCP_PATH.encode(), "headers": list(scope["headers"])}
        user = scope.get("user")
        if user is not None and not user.is_authenticated:
            await self._app(scope, receive, send)
            return
        headers = MutableHeaders(scope=scope)
        if scope["method"] == "POST" and _SESSION in headers:
            body, receive = await _peek(receive)
            if _is_initialize(body):
                del headers[_SESSION]
        if scope["method"] == "POST" and _wants_json(headers):
            headers["accept"] = _BOTH
            send = _JsonResponse(send).send
        await self._app(scope, receive, send)


def _wants_json(headers: Headers) -> bool:
    """Whether a client accepts JSON, and did not ask for an event stream."""
    if headers.get("mcp-method") == "subscriptions/listen":
        return False  # its answer is a stream
    accepted = {part.partition(";")[0].strip().lower() for part in ",".join(headers.getlist("accept")).split(",")}
    accepted.discard("")
    return not accepted & {_STREAM, "text/*"} and (
        not accepted or bool(accepted & {"application/json", "application/*", "*/*"})
    )


async def _peek(receive: Receive) -> tuple[bytes, Receive]:
    """Return a body up to its end, or until it is too large, and a `receive` that begins with it again."""
    body, more = bytearray(), True
    while more and len(body) <= _MAX_BODY_BYTES:
        last = await receive()
        body += last.get("body", b"")
        more = last.get("more_body", False)
    unread: list[Message] = [{**last, "body": bytes(body)}]

    async def replay() -> Message:
        return unread.pop() if unread else await receive()

    return bytes(body), replay


def _is_initialize(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False  # the SDK says why
    return isinstance(message, dict) and message.get("method") == "initialize"


class _JsonResponse:
    """Sends the JSON-RPC response in an event stream as JSON, and any other answer as it is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._stream = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if Headers(raw=message["headers"]).get("content-type", "").startswith(_STREAM):
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._stream += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
            return
        await self._send(message)

    async def _finish(self, start: Message) -> None:
        # The SDK writes each message on a line.
        data = (line.removeprefix(b"data:") for line in self._stream.splitlines() if line.startswith(b"data:"))
        content = next(filter(_is_response, map(bytes.strip, data)), b"")
        headers = MutableHeaders(raw=start["headers"])
        headers["content-type"], headers["content-length"] = "application/json", str(len(content))
        # A stream without a response was cut off by the end of the server or the session.
        status = start["status"] if content else HTTPStatus.SERVICE_UNAVAILABLE
        await self._send({**start, "status": status, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": content})


def _is_response(data: bytes) -> bool:
    message = json.loads(data) if data else None
    return isinstance(message, dict) and "method" not in message
