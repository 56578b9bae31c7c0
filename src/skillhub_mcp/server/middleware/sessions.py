"""Sessions: what each client was shown and agreed to, and which session a call belongs to.

Over stdio the process is the session. Over HTTP it is the MCP session of the 2025-11-25 protocol; without sessions, as
in the 2026-07-28 protocol, a client passes the handle from an earlier answer as an extra argument. Handles cannot be
guessed, and an unknown one starts a new session.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp.exceptions import FastMCPError
from fastmcp.server.context import Context
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillhub_mcp._util.atomic_write import PrivateFiles
from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.disclosure.ledger import Ledger
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.access import NOTHING_GRANTED, Grant
from skillhub_mcp.policy.tool_actions import SESSION_TOOLS, Action
from skillhub_mcp.server.callers import caller_key
from skillhub_mcp.server.error_responses import known_cause
from skillhub_mcp.server.middleware_types import AnyRequest, CallTool, GetPrompt, ListTools, Next, ReadResource
from skillhub_mcp.server.options import Transport

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.session import AgentsSession

log = logging.getLogger(__name__)

SESSION_META_KEY = "io.skillhub/session"

# A session is small, and a client whose session was dropped is merely shown the same texts again.
_MAX_SESSIONS = 1_000


class SharedAgreements:
    """What the user of each session agreed to, by its key, in files of `directory`, which the workers share."""

    def __init__(self, directory: str) -> None:
        self._files = PrivateFiles(directory, most=_MAX_SESSIONS)

    def record(self, key: tuple[str, ...], granted: Collection[Grant]) -> None:
        """Record all that was agreed to in a session. Raises OSError."""
        self._files.write(key, json.dumps([[grant.action.value, *grant[1:]] for grant in granted]).encode())

    def find(self, key: tuple[str, ...]) -> frozenset[Grant]:
        """Return what was agreed to in a session, as far as any worker knows."""
        recorded = json.loads(self._files.read(key) or b"[]")
        return frozenset(Grant(Action(action), *rest) for action, *rest in recorded)


@dataclass(eq=False)
class Session:
    """What one client was shown and agreed to.

    `handle` is what the client passes to continue: empty if its connection is enough, None until the client has it.
    `continues` is a handle that the client passed and that is not known here. `agents` is what is known of AGENTS.md.
    """

    handle: str | None = None
    continues: str | None = None
    ledger: Ledger = field(default_factory=Ledger)
    granted: frozenset[Grant] = NOTHING_GRANTED
    agents: AgentsSession | None = None
    _resume_handle: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def resume_handle(self) -> str:
        """The handle by which a later session names this one: that of `handle`, if it has one."""
        with self._lock:
            self._resume_handle = self.handle or self._resume_handle or secrets.token_urlsafe(12)
            return self._resume_handle

    @property
    def is_named(self) -> bool:
        """Whether the session has a handle."""
        return bool(self.handle or self._resume_handle)

    def agents_from(self, make: Callable[[], AgentsSession]) -> AgentsSession:
        """Return what the session knows of AGENTS.md, which `make` returns for the first call."""
        with self._lock:
            self.agents = self.agents or make()
            return self.agents

    def grant(self, grant: Grant) -> None:
        """Record what the person agreed to."""
        with self._lock:
            self.granted |= {grant}


_HANDLE_SCHEMA = {"type": "string", "maxLength": 64, "description": "From an earlier answer"}

_CURRENT: ContextVar[Session] = ContextVar("skillhub_session")


class Sessions(Middleware):
    """The sessions of one server: each call is answered within its own. Thread-safe.

    `agreements` are those of all worker processes, and `is_kept` says whether any process has kept something for the
    session of a key.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        stateless: bool = False,
        agreements: SharedAgreements | None = None,
        is_kept: Callable[[tuple[str, ...]], bool] = lambda _: False,
    ) -> None:
        self._only = Session() if transport == "stdio" else None
        self._stateless = stateless
        self._agreements = agreements
        self._is_kept = is_kept
        self._lock = threading.Lock()
        self._sessions: LRUCache[tuple[str, ...], Session] = LRUCache(_MAX_SESSIONS)

    def current(self) -> Session:
        """Return the session of the current call. Over stdio there is one even without a call."""
        return _CURRENT.get() if self._only is None else self._only

    def key(self) -> tuple[str, ...]:
        """Return what tells the current session from every other, which no one outside it can know."""
        session = self.current()
        return _handle_key(session.continues if session.handle is None and session.continues else session.resume_handle)

    def with_handle(self, result: ToolResult) -> ToolResult:
        """Store the current session, and return `result` with its handle if the client does not have it yet."""
        note = self._give_handle()
        return result if note is None else with_session_note(result, note, self.current().handle)

    def _give_handle(self) -> str | None:
        """Give the current session a handle; return the note that tells it, or None if the client needs none."""
        session = self.current()
        with self._lock:
            if session is self._only or session.handle is not None:
                return None
            session.handle = session.resume_handle
            self._sessions.put(_handle_key(session.handle), session)
        return f"session: {session.handle} (pass it as `session` from now on, so that nothing is sent or asked twice)"

    async def on_list_tools(self, context: ListTools, call_next: Next) -> Sequence[Tool]:
        tools: Sequence[Tool] = await call_next(context)
        client = context.fastmcp_context
        if self._only is not None or client is None or not self._needs_handle(client):
            return tools
        return [_with_session_argument(tool) if tool.name in SESSION_TOOLS else tool for tool in tools]

    async def on_call_tool(self, context: CallTool, call_next: Next) -> Any:
        if context.message.name not in SESSION_TOOLS:
            return await self._within(context, None, call_next)

        async def keeping(context: CallTool) -> Any:
            # What the client's user agreed to lasts only if the client can name the session, also after a failed call.
            before = self.current().granted
            try:
                result = await call_next(context)
            except FastMCPError as error:
                reported = known_cause(error)
                if reported is not None and self.current().granted and (note := self._give_handle()):
                    reported.hint = f"{reported.hint}; {note}" if reported.hint else note
                await self._share(before)
                raise
            if isinstance(result, ToolResult) and not isinstance(result, InputRequiredToolResult):
                result = self.with_handle(result) if self.current().granted else result
                await self._share(before)
            return result

        given = dict(context.message.arguments or {})
        client = context.fastmcp_context
        if "session" not in given or client is None or self._only:
            return await self._within(context, None, keeping)
        handle = given.pop("session")
        # Null is what some models give for what they leave out.
        if handle is not None and not (isinstance(handle, str) and self._needs_handle(client)):
            raise InvalidArgument(
                "session", "is not a handle from an earlier answer", hint="leave it out to start a new session"
            )
        bare = context.message.model_copy(update={"arguments": given})
        return await self._within(context.copy(message=bare), handle, keeping)

    async def on_get_prompt(self, context: GetPrompt, call_next: Next) -> Any:
        return await self._within(context, None, call_next)

    async def on_read_resource(self, context: ReadResource, call_next: Next) -> Any:
        return await self._within(context, None, call_next)

    async def _within(self, context: AnyRequest, handle: str | None, call_next: Next) -> Any:
        token = _CURRENT.set(self._find(context.fastmcp_context, handle))
        try:
            return await call_next(context)
        finally:
            _CURRENT.reset(token)

    def _find(self, client: Context | None, handle: str | None) -> Session:
        if self._only is not None:
            return self._only
        if client is None or self._needs_handle(client):
            return Session() if handle is None else self._named(handle)
        key = ("connection", client.session_id)
        with self._lock:
            session = self._sessions.get(key) or Session(handle="")
            self._sessions.put(key, session)
            return session

    def _named(self, handle: str) -> Session:
        """Return the session of a handle, with what was agreed to in other processes; a new one if none knows it."""
        key = _handle_key(handle)
        agreed = NOTHING_GRANTED if self._agreements is None else self._agreements.find(key)
        kept = self._is_kept(key)
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                session = Session(continues=handle)
                if agreed or kept:
                    session.handle = handle
                    self._sessions.put(key, session)
        for grant in agreed:
            session.grant(grant)
        return session

    async def _share(self, before: frozenset[Grant]) -> None:
        """Tell other processes what the current session's user agreed to, if it is more than `before`."""
        session = self.current()
        if self._agreements is None or not session.handle or session.granted == before:
            return
        try:
            await asyncio.to_thread(self._agreements.record, _handle_key(session.handle), session.granted)
        except OSError as error:
            log.warning("What a user agreed to is known to one worker alone, since it cannot be saved: %s", error)

    def _needs_handle(self, client: Context) -> bool:
        # On a stateless server, a client of the 2025-11-25 protocol chooses its session's id, and could choose another
        # client's.
        return self._stateless or is_stateless(client)


def with_session_note(result: ToolResult, note: str, handle: str | None) -> ToolResult:
    """Return `result` with a session's handle, for a program and in a note for the model."""
    return ToolResult(
        content=[*result.content, mcp_types.TextContent(type="text", text=note)],
        structured_content=result.structured_content,
        meta={**(result.meta or {}), SESSION_META_KEY: handle},
    )


def _handle_key(handle: str) -> tuple[str, ...]:
    """Return the key of a session, which includes the caller: a stolen handle is useless to another caller."""
    return "handle", handle, *filter(None, [caller_key()])


def _with_session_argument(tool: Tool) -> Tool:
    properties = {**tool.parameters.get("properties", {}), "session": _HANDLE_SCHEMA}
    return tool.model_copy(update={"parameters": {**tool.parameters, "properties": properties}})


def is_stateless(client: Context) -> bool:
    """Whether the client uses the 2026-07-28 protocol, which has no sessions."""
    request = client.request_context
    return request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS
