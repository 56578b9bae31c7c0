"""How does a failure reach the client? The one place that turns errors into MCP (DECISIONS 4).

Tools contain no `try`: what they raise arrives here as the cause of FastMCP's own error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import anyio.to_thread
import mcp_types
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError

from skillhub_mcp.errors import (
    InvalidArgument,
    PathNotAllowed,
    ResourceNotFound,
    SkillFileNotFound,
    SkillHubError,
    SkillNotFound,
    ToolNotFound,
)
from skillhub_mcp.policy.rules import OTHER_TOOLS, SKILL_TOOLS
from skillhub_mcp.server.tools.argument_errors import invalid_arguments
from skillhub_mcp.skills.suggestions import near_names

log = logging.getLogger(__name__)

T = TypeVar("T")

ErrorStyle = Literal["result", "jsonrpc"]

ERROR_META_KEY = "io.skillhub/error"

# Outside the range that JSON-RPC and MCP keep for themselves.
JSONRPC_CODE = -31_000

_SHOWN_NAME = 64


class ErrorHandlingMiddleware(Middleware):
    """Answers a failed call in the words of `SkillHubError`: a tool's as a result or as a JSON-RPC error."""

    def __init__(self, style: ErrorStyle) -> None:
        self._style = style

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        try:
            return await call_next(context)
        except (DisabledError, NotFoundError) as error:
            # Whom it does not know a protocol's server does not call: the one failure of a call that is no result.
            unknown = await _tool_not_found(context)
            raise MCPError(INVALID_PARAMS, error_text(unknown), error_data(unknown)) from error
        except (FastMCPError, ValidationError, SkillHubError) as error:
            expected = await _invalid(context, error) or _expected(error)
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
            expected = _expected(error)
            if expected is None:
                raise
            # A prompt has no result that could say that it failed.
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
            expected = _expected(error)
            if expected is None:
                log.exception("A resource could not be read, unexpectedly")
                raise
            raise protocol_error(expected) from error


def protocol_error(error: SkillHubError) -> MCPError:
    """Return the JSON-RPC error that reports `error` where there is no result that could (SEP-2640, Error Handling)."""
    wrong = isinstance(error, InvalidArgument | ResourceNotFound | SkillNotFound | SkillFileNotFound | PathNotAllowed)
    return MCPError(INVALID_PARAMS if wrong else JSONRPC_CODE, error_text(error), error_data(error))


async def answered(ask: Callable[[], T]) -> T:
    """Return what `ask` does, in a thread. Raises MCPError, for methods of the protocol that have no failed results."""
    try:
        return await anyio.to_thread.run_sync(ask)
    except SkillHubError as error:
        raise protocol_error(error) from error
    except Exception as error:
        # The older era's clients would be sent its words, which may hold paths of this machine.
        log.exception("A request could not be answered")
        raise MCPError(INTERNAL_ERROR, "Internal server error") from error


def error_text(error: SkillHubError) -> str:
    """Return `CODE: sentence. hint` for a model to read."""
    sentence = f"{error.code}: {error.message}."
    if not error.hint:
        return sentence
    stop = "" if error.hint.endswith("?") else "."
    return f"{sentence} {error.hint[0].upper()}{error.hint[1:]}{stop}"


def error_data(error: SkillHubError) -> dict[str, object]:
    """Return the code, the facts and the hint for a program to read."""
    return {"code": error.code, **error.facts} | ({"hint": error.hint} if error.hint else {})


def error_result(error: SkillHubError) -> ToolResult:
    """Return the tool result that reports `error`."""
    return ToolResult(content=error_text(error), meta={ERROR_META_KEY: error_data(error)}, is_error=True)


def _expected(error: BaseException | None) -> SkillHubError | None:
    while error is not None and not isinstance(error, SkillHubError):
        error = error.__cause__
    return error


async def _invalid(
    context: MiddlewareContext[mcp_types.CallToolRequestParams], error: BaseException | None
) -> InvalidArgument | None:
    """Return what to say of the arguments, where they are what is wrong."""
    while error is not None and not isinstance(error, ValidationError):
        error = error.__cause__
    if error is None or context.fastmcp_context is None:
        return None
    tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
    return invalid_arguments(error, context.message.name, {} if tool is None else tool.parameters)


async def _tool_not_found(context: MiddlewareContext[mcp_types.CallToolRequestParams]) -> ToolNotFound:
    name, client = context.message.name[:_SHOWN_NAME], context.fastmcp_context
    tools = [] if client is None else [tool.name for tool in await client.fastmcp.list_tools(run_middleware=False)]
    known = name in (*SKILL_TOOLS, *OTHER_TOOLS)
    return ToolNotFound(name, tools=tools, near=[] if known else near_names(name, tools, limit=2), known=known)
