"""The project of a stdio client, if no setting and no variable names one.

It is where the client's roots are, else the directory in the `_meta` of a request. Over HTTP neither is read, because a
path of the client's machine means nothing here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from fastmcp.server.middleware import Middleware
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.project import ClientDirectories, existing_directories
from skillhub_mcp.server.middleware_types import AnyRequest, Initialize, Next

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 2.0
_INITIALIZED, _CHANGED = "notifications/initialized", "notifications/roots/list_changed"
# Their answers do not depend on the project, and some clients offer their roots only after them.
_BEFORE_ROOTS = frozenset({"initialize", "server/discover", "ping", "tools/list"})
# Codex sends its working directory to servers that declare this capability, Goose to every server.
CODEX = "codex/sandbox-state-meta"
_GOOSE = "agent-working-dir"


class _Root(BaseModel):
    # The SDK's own model refuses the bare paths and other schemes that some clients send.
    uri: str


class _Roots(BaseModel):
    roots: list[_Root]


class ClientProjectMiddleware(Middleware):
    """Keeps `directories` as the client names them, and lets the first request that needs the project wait for it."""

    def __init__(self, hub: SkillHub, directories: ClientDirectories) -> None:
        self._hub = hub
        self._directories = directories
        self._searched = directories.paths
        self._has_roots = False
        self._initialized = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None

    async def on_initialize(self, context: Initialize, call_next: Next) -> mcp_types.InitializeResult | None:
        if offers_roots(context.message) and context.fastmcp_context is not None:
            self._ask(context.fastmcp_context.session)
        result: mcp_types.InitializeResult | None = await call_next(context)
        return result

    async def on_notification(self, context: AnyRequest, call_next: Next) -> Any:
        if context.method == _INITIALIZED:
            self._initialized.set()
        elif context.method == _CHANGED and context.fastmcp_context is not None:
            self._ask(context.fastmcp_context.session)
        return await call_next(context)

    async def on_request(self, context: AnyRequest, call_next: Next) -> Any:
        if context.method in _BEFORE_ROOTS:
            return await call_next(context)
        if self._asking is not None:
            await asyncio.shield(self._asking)
        client = context.fastmcp_context
        request = None if client is None else client.request_context
        if not self._has_roots and request is not None and (named := _named_in(request.meta or {})):
            self._use(existing_directories([named]))
        if self._searched != self._directories.paths:
            self._searched = self._directories.paths
            await anyio.to_thread.run_sync(partial(self._hub.views.snapshot, fresh=True))
        return await call_next(context)

    def _ask(self, session: ServerSession) -> None:
        self._asking = asyncio.ensure_future(self._follow_roots(session))

    async def _follow_roots(self, session: ServerSession) -> None:
        with anyio.move_on_after(_TIMEOUT_SECONDS):
            await self._initialized.wait()
        try:
            answer = await session.send_request(
                mcp_types.ListRootsRequest(), _Roots, request_read_timeout_seconds=_TIMEOUT_SECONDS
            )
        except (MCPError, ValidationError) as error:
            log.info("The client did not name its roots: %s", error)
            return
        found = existing_directories(root.uri for root in answer.roots)
        self._has_roots = bool(found)
        self._use(found)

    def _use(self, paths: tuple[str, ...]) -> None:
        if paths != self._directories.paths:
            log.info("The client works in %s", ", ".join(paths) or "no directory")
            self._directories.paths = paths


def offers_roots(request: mcp_types.InitializeRequest) -> bool:
    """Whether the client has roots to ask for."""
    return request.params.capabilities.roots is not None


def _named_in(meta: Mapping[str, Any]) -> str:
    state = meta.get(CODEX)
    named = state.get("sandboxCwd") if isinstance(state, dict) else meta.get(_GOOSE)
    return named if isinstance(named, str) else ""
