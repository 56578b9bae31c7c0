"""Whose session is this call part of? (DECISIONS 23)

Over stdio the process is the session. Over HTTP it is the MCP session of the older era; the newer era has none, and a
client that wants one passes the handle that an earlier answer gave it, as an argument that only such clients are shown
and that no tool sees. Handles cannot be guessed, and one that is not known here begins a new session rather than join
somebody's.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import mcp_types
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import Tool, ToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillhub_mcp.disclosure.ledger import Ledger
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.access import NOTHING_GRANTED, Grant
from skillhub_mcp.server.http.callers import caller_name

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver

SESSION_META_KEY = "io.skillhub/session"

Transport = Literal["stdio", "http"]

# Each is small; the one that was used longest ago goes, and what it was shown is then merely shown again.
_KEPT = 1_000
_KEPT_DIRECTORIES = 16


@dataclass(eq=False)
class Session:
    """What one client was shown and agreed to.

    `handle` is what the client passes to go on: empty where the connection is enough, None while it has not been told.
    """

    handle: str | None = None
    ledger: Ledger = field(default_factory=Ledger)
    granted: frozenset[Grant] = NOTHING_GRANTED
    _agents: tuple[AgentsResolver, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def agents(self) -> tuple[AgentsResolver, ...]:
        """AGENTS.md as this session knows it, for each working directory; the one asked for last is the last."""
        return self._agents

    def keep_agents(self, resolver: AgentsResolver) -> AgentsResolver:
        """Keep a resolver, unless there is one for its working directory already, and return the one that is kept."""
        with self._lock:
            same = [kept for kept in self._agents if kept.project.cwd == resolver.project.cwd]
            kept = same[0] if same else resolver
            others = tuple(one for one in self._agents if one is not kept)
            self._agents = (*others, kept)[-_KEPT_DIRECTORIES:]
            return kept

    def grant(self, grant: Grant) -> None:
        """Note what the person agreed to."""
        with self._lock:
            self.granted |= {grant}


_HANDLE_SCHEMA = {"type": "string", "maxLength": 64, "description": "From an earlier answer"}

_CURRENT: ContextVar[Session] = ContextVar("skillhub_session")


class Sessions(Middleware):
    """The sessions of one server: each call is answered within its own. Safe to call from threads.

    `tools` are those that a session makes a difference to. A `stateless` server has no sessions in the older era.
    """

    def __init__(self, transport: Transport, *, tools: Collection[str], stateless: bool = False) -> None:
        self._only = Session() if transport == "stdio" else None
        self._tools = frozenset(tools)
        self._stateless = stateless
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, ...], Session] = OrderedDict()

    def current(self) -> Session:
        """Return the session of the call that is being answered."""
        return _CURRENT.get()

    def signed(self, result: ToolResult) -> ToolResult:
        """Keep the present session, and return `result` with its handle where the client has yet to hear of it."""
        session = self.current()
        with self._lock:
            if session is self._only or session.handle is not None:
                return result
            session.handle = secrets.token_urlsafe(12)
            self._keep(_handle_key(session.handle), session)
        told = f"session: {session.handle} (pass it as `session` from now on, so that nothing is sent twice)"
        return ToolResult(
            content=[*result.content, mcp_types.TextContent(type="text", text=told)],
            structured_content=result.structured_content,
            meta={**(result.meta or {}), SESSION_META_KEY: session.handle},
        )

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        client = context.fastmcp_context
        if self._only is not None or client is None or not is_stateless(client):
            return tools
        return [_with_handle(tool) if tool.name in self._tools else tool for tool in tools]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        given = dict(context.message.arguments or {})
        client = context.fastmcp_context
        if context.message.name not in self._tools or "session" not in given or client is None or self._only:
            return await self._within(context, None, call_next)
        handle = given.pop("session")
        if not isinstance(handle, str) or not is_stateless(client):
            raise InvalidArgument("session", "is not what an earlier answer gave", hint="leave it out to begin anew")
        bare = context.message.model_copy(update={"arguments": given})
        return await self._within(context.copy(message=bare), handle, call_next)

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, Any],
    ) -> Any:
        return await self._within(context, None, call_next)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, Any],
    ) -> Any:
        return await self._within(context, None, call_next)

    async def _within(self, context: MiddlewareContext[Any], handle: str | None, call_next: CallNext[Any, Any]) -> Any:
        token = _CURRENT.set(self._of(context.fastmcp_context, handle))
        try:
            return await call_next(context)
        finally:
            _CURRENT.reset(token)

    def _of(self, client: Context | None, handle: str | None) -> Session:
        if self._only is not None:
            return self._only
        key: tuple[str, ...]
        if client is not None and not is_stateless(client):
            if self._stateless:
                # The client chooses what it calls its session then, and could choose another's.
                return Session(handle="")
            key, new = ("connection", client.session_id), Session(handle="")
        elif handle is not None:
            key, new = _handle_key(handle), None
        else:
            return Session()
        with self._lock:
            session = self._kept.get(key) or new
            return Session() if session is None else self._keep(key, session)

    def _keep(self, key: tuple[str, ...], session: Session) -> Session:
        self._kept[key] = session
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return session


def _handle_key(handle: str) -> tuple[str, ...]:
    """Return what a session is kept under: a handle that got into other hands opens nothing there."""
    return "handle", handle, *filter(None, [caller_name()])


def _with_handle(tool: Tool) -> Tool:
    properties = {**tool.parameters.get("properties", {}), "session": _HANDLE_SCHEMA}
    return tool.model_copy(update={"parameters": {**tool.parameters, "properties": properties}})


def is_stateless(client: Context) -> bool:
    """Whether the client speaks the era of the protocol that has no sessions."""
    request = client.request_context
    return request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS
