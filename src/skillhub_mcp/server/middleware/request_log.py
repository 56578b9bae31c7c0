"""Who asks what, and how does it end? Says so, for each request, to whoever keeps account of what the hub does.

Only names that the server itself knows are told of: a tool or a method that a client made up is `unknown`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastmcp.exceptions import NotFoundError
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INVALID_PARAMS
from mcp_types.methods import SPEC_CLIENT_METHODS
from opentelemetry.trace import get_current_span
from pydantic import ValidationError

from skillhub_mcp.events import OK, REQUEST_CONTEXT, Observer, RequestContext, RequestEvent, UseEvent, observe
from skillhub_mcp.policy.rules import LOADING_TOOLS, OTHER_TOOLS, SKILL_TOOLS, Action
from skillhub_mcp.server.middleware.error_handling import ERROR_META_KEY
from skillhub_mcp.server.middleware.sessions import Transport, is_stateless

_UNKNOWN = "unknown"
_NAMELESS = "anonymous"
_CANCELLED = "CANCELLED"
_NOT_FOUND = "NOT_FOUND"
_TOOLS = frozenset((*SKILL_TOOLS, *OTHER_TOOLS))
_METHODS = SPEC_CLIENT_METHODS | {"skills/list", "skills/get", "resources/directory/read"}
_SCHEME = "skill://"
# The arguments that name a skill, of whichever tool.
_NAMING = ("skill_name", "skill", "path", "name")
_SESSION_CHARACTERS = 12
_SHOWN_URI = 300


class RequestLogMiddleware(Middleware):
    """Stands before all else that a request passes. `who` names the client that asks, or cannot."""

    def __init__(self, observer: Observer, transport: Transport, *, who: Callable[[], str | None]) -> None:
        self._observer = observer
        self._transport = transport
        self._who = who

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        if _asks_itself(context):
            return await call_next(context)
        request = RequestEvent(method=_known(context.method, _METHODS), tool=_tool(context))
        current = RequestContext(self._who() or _NAMELESS, self._transport, self._session(context))
        token = REQUEST_CONTEXT.set(current)
        try:
            with observe(self._observer, request):
                current.trace_id = _trace_id()
                try:
                    result = await call_next(context)
                except (MCPError, NotFoundError, ValidationError, asyncio.CancelledError) as error:
                    request.outcome = _outcome_of_error(error)
                    raise
                else:
                    request.outcome = _outcome_of_result(result)
                    return result
                finally:
                    self._note_refusal(context, request.outcome, current.last_use)
        finally:
            REQUEST_CONTEXT.reset(token)

    def _note_refusal(self, context: MiddlewareContext[Any], outcome: str, last: UseEvent | None) -> None:
        """Tell of a use that ended otherwise than the hub could know: a rule, a hook or the person stood before it."""
        if outcome in (OK, _CANCELLED) or (last is not None and last.outcome == outcome):
            return
        refused = _use_asked_for(context) if last is None else last
        if refused is not None and refused.skill:
            with observe(self._observer, replace(refused, outcome=outcome, size=None)):
                pass

    def _session(self, context: MiddlewareContext[Any]) -> str:
        client = context.fastmcp_context
        if self._transport == "stdio" or client is None or context.method == "initialize" or is_stateless(client):
            return ""
        return _shortened(client)


def _asks_itself(context: MiddlewareContext[Any]) -> bool:
    """Whether MCP's SDK lists the tools to check a request's headers against: no client asked for that."""
    request = None if context.fastmcp_context is None else context.fastmcp_context.request_context
    asked = None if request is None or request.request is None else request.request.headers.get("mcp-method")
    return asked is not None and asked != context.method


def _shortened(client: Context) -> str:
    # Whoever knows a session's id can join it: what tells sessions apart in a log must not be one.
    return hashlib.sha256(client.session_id.encode()).hexdigest()[:_SESSION_CHARACTERS]


def _known(name: object, names: frozenset[str]) -> str:
    return name if isinstance(name, str) and name in names else _UNKNOWN


def _tool(context: MiddlewareContext[Any]) -> str:
    return _known(_field(context.message, "name"), _TOOLS) if context.method == "tools/call" else ""


def _use_asked_for(context: MiddlewareContext[Any]) -> UseEvent | None:
    """Return what a request would have used that did not get as far as the hub."""
    if context.method == "resources/read":
        uri = str(_field(context.message, "uri"))[:_SHOWN_URI]
        return UseEvent(action="read", skill=uri) if uri.startswith(_SCHEME) else None
    arguments = _field(context.message, "arguments")
    if not isinstance(arguments, Mapping):
        return None
    skill = next((_text(arguments[key]) for key in _NAMING if arguments.get(key)), "")
    tool = _tool(context)
    if tool in LOADING_TOOLS:
        return UseEvent(action="load", skill=skill)
    if tool == Action.READ.value:
        return UseEvent(action="read", skill=skill, file_path=_text(arguments.get("file_path")))
    if tool == Action.RUN.value:
        return UseEvent(action="run", skill=skill, command=_text(arguments.get("command")))
    return None


def _field(message: Any, name: str) -> object:
    # What a client sent arrives here unread where it could not be read.
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _outcome_of_result(result: object) -> str:
    if not getattr(result, "is_error", False):
        return OK
    return _code((getattr(result, "meta", None) or {}).get(ERROR_META_KEY)) or "TOOL_ERROR"


def _outcome_of_error(error: BaseException) -> str:
    if isinstance(error, MCPError):
        return _code(error.error.data) or f"JSONRPC{error.error.code}"
    if isinstance(error, ValidationError):
        return f"JSONRPC{INVALID_PARAMS}"
    return _NOT_FOUND if isinstance(error, NotFoundError) else _CANCELLED


def _code(data: object) -> str | None:
    code = data.get("code") if isinstance(data, Mapping) else None
    return code if isinstance(code, str) else None


def _trace_id() -> str:
    context = get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else ""
