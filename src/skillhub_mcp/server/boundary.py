"""How does a failure reach the client? The one place that turns errors into MCP (DECISIONS 4).

Tools contain no `try`: what they raise arrives here as the cause of FastMCP's own error.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

import mcp_types
from fastmcp.exceptions import FastMCPError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from skillhub_mcp.errors import InvalidArgument, PathNotAllowed, ResourceNotFound, SkillFileNotFound, SkillHubError

log = logging.getLogger(__name__)

ErrorStyle = Literal["result", "jsonrpc"]

ERROR_META_KEY = "io.skillhub/error"

# Outside the range that JSON-RPC and MCP keep for themselves.
_JSONRPC_CODE = -31_000


class ErrorBoundary(Middleware):
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
        except (FastMCPError, ValidationError, SkillHubError) as error:
            expected = _expected(error)
            if expected is None:
                log.exception("Tool %s failed unexpectedly", context.message.name)
                raise
            if self._style == "jsonrpc":
                raise MCPError(_JSONRPC_CODE, error_text(expected), error_data(expected)) from error
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
            raise MCPError(_JSONRPC_CODE, error_text(expected), error_data(expected)) from error


    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, Any],
    ) -> Any:
        try:
            return await call_next(context)
        except (FastMCPError, SkillHubError) as error:
            expected = _expected(error)
            if expected is None:
                raise
            raise protocol_error(expected) from error


def protocol_error(error: SkillHubError) -> MCPError:
    """Return the JSON-RPC error that reports `error` where there is no result that could (SEP-2640, Error Handling)."""
    wrong = isinstance(error, InvalidArgument | ResourceNotFound | SkillFileNotFound | PathNotAllowed)
    return MCPError(INVALID_PARAMS if wrong else _JSONRPC_CODE, error_text(error), error_data(error))


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


def _expected(error: Exception) -> SkillHubError | None:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, SkillHubError):
            return seen
        if isinstance(seen, ValidationError):
            return _invalid_argument(seen)
        seen = seen.__cause__
    return None


def _invalid_argument(error: ValidationError) -> InvalidArgument:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = str(first["loc"][0]) if first["loc"] else "the arguments"
    reasons = {
        "missing_argument": "is missing",
        "missing": "is missing",
        "unexpected_keyword_argument": "is not an argument of this tool",
    }
    reason = reasons.get(first["type"], f"cannot be used: {first['msg'][0].lower()}{first['msg'][1:]}")
    return InvalidArgument(where, reason)
