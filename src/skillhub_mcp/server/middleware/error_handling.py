"""Error handling: catches the errors of all requests and answers with `error_responses`.

Tools contain no `try`: what they raise arrives here as the cause of FastMCP's own error.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any, Literal

import mcp_types
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from skillhub_mcp.errors import InvalidArgument, SkillHubError, ToolNotFound
from skillhub_mcp.server.error_responses import (
    JSONRPC_CODE,
    error_data,
    error_result,
    error_text,
    known_cause,
    protocol_error,
)
from skillhub_mcp.server.middleware.argument_errors import invalid_arguments, invalid_parameter
from skillhub_mcp.skills.suggestions import near_names

log = logging.getLogger(__name__)

ErrorStyle = Literal["result", "jsonrpc"]

_SHOWN_NAME = 64


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


async def _invalid_arguments(
    context: MiddlewareContext[mcp_types.CallToolRequestParams], error: BaseException | None
) -> InvalidArgument | None:
    """Return the error to report if the call's arguments are invalid."""
    # A tool's own error may come of one about something else than the call's arguments, and says what.
    while error is not None and not isinstance(error, (ValidationError, SkillHubError)):
        error = error.__cause__
    if not isinstance(error, ValidationError) or context.fastmcp_context is None:
        return None
    tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
    return invalid_arguments(error, context.message.name, {} if tool is None else tool.parameters)
