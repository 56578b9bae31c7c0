"""Limits on the sessions of the 2025-11-25 protocol: in all, and for each caller.

A client may begin sessions without end, and the SDK keeps each for half an hour. The one that was used least recently
goes for a new one: the SDK is sent the request that its client would end it with. That client's next request is
answered with 404, upon which the specification has it begin anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillhub_mcp.server.http.front_page import MCP_PATH
from skillhub_mcp.server.http.rate_limit import client_of

_SESSION = b"mcp-session-id"
_KEPT_HEADERS = (b"host", b"mcp-protocol-version")


@dataclass(slots=True)
class _Session:
    """An open session: whose it is, the scope of a request that ends it, and how many requests it is answering."""

    caller: str
    ending: Scope
    in_flight: int = 0


class SessionLimit:
    """ASGI middleware: ends a session for each that is one too many. Runs after authentication."""

    def __init__(self, app: ASGIApp, *, total: int, per_caller: int) -> None:
        self._app = app
        self._total = total
        self._per_caller = per_caller
        # In the order of their last use.
        self._sessions: dict[str, _Session] = {}
        self._by_caller: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != MCP_PATH:
            await self._app(scope, receive, send)
            return
        name = next((value.decode("latin-1") for key, value in scope["headers"] if key == _SESSION), None)
        if name is None:
            await self._begin(scope, receive, send)
        elif name in self._sessions:
            await self._use(name, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that may begin a session."""

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < HTTPStatus.BAD_REQUEST:
                name = next((value for key, value in message["headers"] if key.lower() == _SESSION), None)
                if name is not None:
                    await self._note(name.decode("latin-1"), scope)
            await send(message)

        await self._app(scope, receive, send_and_note)

    async def _use(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a session that is known."""
        session = self._sessions[name]
        status = 0

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        session.in_flight += 1
        try:
            await self._app(scope, receive, send_and_see)
        finally:
            session.in_flight -= 1
            if session is self._sessions.get(name):
                is_owner = client_of(scope) == session.caller
                ended = scope["method"] == "DELETE" and status < HTTPStatus.BAD_REQUEST
                if is_owner and (ended or status == HTTPStatus.NOT_FOUND):
                    self._forget(name)
                elif is_owner:
                    self._sessions[name] = self._sessions.pop(name)

    async def _note(self, name: str, scope: Scope) -> None:
        """Note a new session, and end one for it where there are too many."""
        caller = client_of(scope)
        self._sessions[name] = _Session(caller, _ending(scope, name))
        self._by_caller[caller] += 1
        if self._by_caller[caller] > self._per_caller:
            await self._end_one(name, caller)
        if len(self._sessions) > self._total:
            await self._end_one(name, None)

    async def _end_one(self, newest: str, caller: str | None) -> None:
        """End the session that was used least recently, one that is answering no request if there is one."""
        others = [
            (name, session)
            for name, session in self._sessions.items()
            if name != newest and (caller is None or session.caller == caller)
        ]
        at_rest = (other for other in others if not other[1].in_flight)
        found = next(at_rest, others[0] if others else None)
        if found is None:
            return
        name, session = found
        self._forget(name)
        await self._app(session.ending, _nothing, _ignore)

    def _forget(self, name: str) -> None:
        session = self._sessions.pop(name)
        self._by_caller[session.caller] -= 1
        if not self._by_caller[session.caller]:
            del self._by_caller[session.caller]


def _ending(opened: Scope, name: str) -> dict[str, Any]:
    """Return the scope of the request by which the one who began a session ends it."""
    kept = [(key, value) for key, value in opened["headers"] if key in _KEPT_HEADERS]
    # The token is not kept: its bearer is in the scope, and only that there was one is looked for.
    added = [(b"authorization", b"Bearer -"), (_SESSION, name.encode("latin-1"))]
    return {**opened, "method": "DELETE", "headers": [*kept, *added]}


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Message) -> None:
    """Take the SDK's answer, which nobody waits for: the session is gone, or was before."""
