"""Request events: reports every request, its caller and its outcome to the hub's observers.

Only names that the server itself knows are reported: a tool or a method that a client made up is `unknown`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from fastmcp.exceptions import NotFoundError
from fastmcp.server.middleware import Middleware
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INVALID_PARAMS
from mcp_types.methods import SPEC_CLIENT_METHODS
from opentelemetry.trace import get_current_span
from pydantic import ValidationError

from skillhub_mcp.events import (
    CANCELLED,
    OK,
    REQUEST_CONTEXT,
    Observer,
    RequestContext,
    RequestEvent,
    UseEvent,
    observe,
)
from skillhub_mcp.observers.audit import process_owner
from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS, Action, skills_named_in
from skillhub_mcp.server.callers import NAMELESS, caller_name
from skillhub_mcp.server.error_responses import ERROR_META_KEY
from skillhub_mcp.server.middleware.sessions import is_stateless
from skillhub_mcp.server.middleware_types import AnyRequest, Next
from skillhub_mcp.server.options import Transport

_UNKNOWN = "unknown"
_METHODS = SPEC_CLIENT_METHODS | {"skills/list", "skills/get", "resources/directory/read"}
_SCHEME = "skill://"
_SESSION_CHARACTERS = 12
_SHOWN_URI = 300


class RequestEventsMiddleware(Middleware):
    """The outermost middleware. A `stateless` server has no sessions, whatever id a client makes up."""

    def __init__(self, observer: Observer, transport: Transport, *, stateless: bool) -> None:
        self._observer = observer
        self._has_sessions = transport == "http" and not stateless
        self._transport = transport
        self._caller = process_owner if transport == "stdio" else caller_name

    async def on_request(self, context: AnyRequest, call_next: Next) -> Any:
        if _is_internal(context):
            return await call_next(context)
        request = RequestEvent(method=_known(context.method, _METHODS), tool=self._tool(context))
        request_context = RequestContext(self._caller() or NAMELESS, self._transport, self._session(context))
        token = REQUEST_CONTEXT.set(request_context)
        try:
            with observe(self._observer, request):
                request_context.trace_id = _trace_id()
                try:
                    result = await call_next(context)
                except (MCPError, NotFoundError, ValidationError, asyncio.CancelledError) as error:
                    request.outcome = _outcome_of_error(error)
                    raise
                else:
                    request.outcome = _outcome_of_result(result)
                    return result
                finally:
                    self._report_refusal(context, request.outcome, request_context.last_use)
        finally:
            REQUEST_CONTEXT.reset(token)

    def _report_refusal(self, context: AnyRequest, outcome: str, last: UseEvent | None) -> None:
        """Report a use that a rule, a hook or the person refused, of which the hub knows nothing."""
        if outcome in (OK, CANCELLED) or (last is not None and last.outcome == outcome):
            return
        refused = self._requested_use(context) if last is None else last
        if refused is not None and refused.skill:
            with observe(self._observer, replace(refused, outcome=outcome, size=None)):
                pass

    def _tool(self, context: AnyRequest) -> str:
        return _known(_field(context.message, "name"), TOOL_ACTIONS) if context.method == "tools/call" else ""

    def _requested_use(self, context: AnyRequest) -> UseEvent | None:
        """Return the use that a request asked for, if it did not reach the hub."""
        if context.method == "resources/read":
            uri = str(_field(context.message, "uri"))[:_SHOWN_URI]
            return UseEvent(action="read", skill=uri) if uri.startswith(_SCHEME) else None
        arguments = _field(context.message, "arguments")
        if not isinstance(arguments, Mapping):
            return None
        skill = next(iter(skills_named_in(arguments)), "")
        action = TOOL_ACTIONS.get(self._tool(context))
        if action is Action.LOAD:
            return UseEvent(action="load", skill=skill)
        if action is Action.READ:
            return UseEvent(action="read", skill=skill, file_path=_text(arguments.get("file_path")))
        if action is Action.RUN:
            return UseEvent(action="run", skill=skill, command=_text(arguments.get("command")))
        return None

    def _session(self, context: AnyRequest) -> str:
        client = context.fastmcp_context
        if not self._has_sessions or client is None or context.method == "initialize" or is_stateless(client):
            return ""
        # A session's id is a secret that lets others join it, so the log has only a part of its hash.
        return hashlib.sha256(client.session_id.encode()).hexdigest()[:_SESSION_CHARACTERS]


def _is_internal(context: AnyRequest) -> bool:
    """Whether the MCP SDK itself lists the tools, to check a request's headers: no client asked for that."""
    request = None if context.fastmcp_context is None else context.fastmcp_context.request_context
    method = None if request is None or request.request is None else request.request.headers.get("mcp-method")
    return method is not None and method != context.method


def _known(name: object, names: Collection[str]) -> str:
    return name if isinstance(name, str) and name in names else _UNKNOWN


def _field(message: Any, name: str) -> object:
    # A message that could not be parsed arrives here as it was sent.
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
    return "NOT_FOUND" if isinstance(error, NotFoundError) else CANCELLED


def _code(data: object) -> str | None:
    code = data.get("code") if isinstance(data, Mapping) else None
    return code if isinstance(code, str) else None


def _trace_id() -> str:
    context = get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else ""
