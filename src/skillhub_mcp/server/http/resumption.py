"""Requests to take up a broken stream, which are answered as any other: nothing that was sent is kept.

A client of the 2025-11-25 protocol names the last event that it has seen. Without a store of events the SDK gives such
a request no answer at all, which is an internal error.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

_LAST_EVENT = b"last-event-id"


class NoResumption:
    """ASGI middleware: takes the name of the last event out of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            kept = [(name, value) for name, value in scope["headers"] if name != _LAST_EVENT]
            scope = {**scope, "headers": kept}
        await self._app(scope, receive, send)
