"""Error handling: catches the errors of all requests and answers with `error_responses`.

A NUL character in an argument or a URI is refused here, before anything else sees it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, Literal

import mcp_types
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skillhub_mcp.errors import InvalidArgument, SkillHubError, ToolNotFound
from skillhub_mcp.input_checks import refuse_nul
from skillhub_mcp.server.error_responses import (
    JSONRPC_CODE,
    error_data,
    error_result,
    error_text,
    known_cause,
    protocol_error,
)
from skillhub_mcp.skills.names import near_names

log = logging.getLogger(__name__)

ErrorStyle = Literal["result", "jsonrpc"]

_SHOWN_NAME = 64
_MAX_PROBLEMS = 8


class ErrorHandlingMiddleware(Middleware):
    """Reports a failed call as a tool result or as a JSON-RPC error, with the text of its `SkillHubError`.

    `known_tools` are all tools that a server of this package can have, whether this one has them or not.
    """

    def __init__(self, style: ErrorStyle, *, known_tools: Collection[str]) -> None:
        self._style = style
        self._known_tools = known_tools

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        try:
            return await call_next(context)
        except ValidationError as error:
            # The SDK would answer "Invalid request parameters", and not name the parameter.
            raise protocol_error(invalid_parameter(error)) from error

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        try:
            _refuse_nul(context.message.arguments)
            return await call_next(context)
        except (DisabledError, NotFoundError) as error:
            # MCP wants a protocol error for an unknown tool, in either style.
            unknown = await self._tool_not_found(context)
            raise MCPError(INVALID_PARAMS, error_text(unknown), error_data(unknown)) from error
        except (FastMCPError, ValidationError, SkillHubError) as error:
            expected = await _invalid_arguments(context, error) or known_cause(error)
            if expected is None:
                log.exception("Tool %s failed unexpectedly", context.message.name)
                raise
            if self._style == "jsonrpc":
                raise MCPError(JSONRPC_CODE, error_text(expected), error_data(expected)) from error
            return error_result(expected)

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, Any],
    ) -> Any:
        try:
            _refuse_nul(context.message.arguments)
            return await call_next(context)
        except (FastMCPError, SkillHubError) as error:
            expected = known_cause(error)
            if expected is None:
                raise
            # The result of a prompt cannot report a failure.
            raise protocol_error(expected) from error

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, Any],
    ) -> Any:
        try:
            refuse_nul(uri=str(context.message.uri))
            return await call_next(context)
        except (DisabledError, NotFoundError):
            raise
        except (FastMCPError, SkillHubError) as error:
            expected = known_cause(error)
            if expected is None:
                log.exception("A resource could not be read, unexpectedly")
                raise
            raise protocol_error(expected) from error

    async def _tool_not_found(self, context: MiddlewareContext[mcp_types.CallToolRequestParams]) -> ToolNotFound:
        name, client = context.message.name[:_SHOWN_NAME], context.fastmcp_context
        tools = [] if client is None else [tool.name for tool in await client.fastmcp.list_tools(run_middleware=False)]
        known = name in self._known_tools
        return ToolNotFound(name, tools=tools, near=[] if known else near_names(name, tools, limit=2), known=known)


def _refuse_nul(arguments: Mapping[str, Any] | None) -> None:
    for name, value in (arguments or {}).items():
        refuse_nul(**{name.replace("\0", "\\0"): [name, value]})


async def _invalid_arguments(
    context: MiddlewareContext[mcp_types.CallToolRequestParams], error: BaseException | None
) -> InvalidArgument | None:
    """Return the error to report if the call's arguments are invalid."""
    # A tool's own error may come of one about something else than the call's arguments, and says what.
    while error is not None and not isinstance(error, (ValidationError, SkillHubError)):
        error = error.__cause__
    if not isinstance(error, ValidationError) or context.fastmcp_context is None:
        return None
    name = context.message.name
    tool = await context.fastmcp_context.fastmcp.get_tool(name)
    schema: Mapping[str, Any] = {} if tool is None else tool.parameters
    arguments, required = schema.get("properties", {}), schema.get("required", ())
    accepted = ", ".join(f"{one} (needed)" if one in required else one for one in arguments)
    return _invalid(error, hint=f"the arguments of {name}: {accepted or 'none'}")


def invalid_parameter(error: ValidationError) -> InvalidArgument:
    """Return the error to report for a request whose parameters are not those of its method."""
    return _invalid(error)


def _invalid(error: ValidationError, hint: str | None = None) -> InvalidArgument:
    # "None required" of an optional argument: to leave it out is no fix for a wrong value.
    details = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [_problem(one) for one in details if one["type"] != "none_required"][:_MAX_PROBLEMS]
    (name, reason), *others = problems
    return InvalidArgument(name, "; ".join([reason, *(" ".join(other) for other in others)]), hint=hint)


def _problem(detail: ErrorDetails) -> tuple[str, str]:
    """Return the name of a parameter, or of a part of one, and its problem."""
    # Further names are those of the branches of a union.
    first, *more = [step for step in detail["loc"] if step != "params"] or ["params"]
    place = "".join((str(first)[:_SHOWN_NAME], *(f"[{step}]" for step in more if isinstance(step, int))))
    if detail["type"] in ("missing", "missing_argument"):
        reason = "is missing"
    elif detail["type"] == "unexpected_keyword_argument":
        reason = "is not an argument of this tool"
    else:
        reason = f"is invalid: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
    return place if place.isprintable() else repr(place), reason
