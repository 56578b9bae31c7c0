"""Errors in MCP's form: text for a model, data for a program, as a tool result or as a JSON-RPC error.

The middleware catches the errors of all requests. It refuses NUL characters, before anything else sees them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeVar

from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skillhub_mcp.errors import (
    InvalidArgument,
    PathNotAllowed,
    ResourceNotFound,
    SkillFileNotFound,
    SkillHubError,
    SkillNotFound,
    ToolNotFound,
)
from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS
from skillhub_mcp.sanitize import path_for_model, refuse_nul
from skillhub_mcp.server.middleware_types import AnyRequest, CallTool, Next
from skillhub_mcp.server.options import ErrorStyle
from skillhub_mcp.skills.names import near_names

log = logging.getLogger(__name__)

T = TypeVar("T")

ERROR_META_KEY = "io.skillhub/error"

# What the caller gave itself, and looks for as it was.
_GIVEN = ("uri", "file_path")

# Outside the range that JSON-RPC and MCP reserve.
JSONRPC_CODE = -31_000


def known_cause(error: BaseException | None) -> SkillHubError | None:
    """Return the error of this package that an error of FastMCP reports, or None."""
    while error is not None and not isinstance(error, SkillHubError):
        error = error.__cause__
    return error


def error_text(error: SkillHubError) -> str:
    """Return `CODE: sentence. hint` for a model to read."""
    sentence = f"{error.code}: {path_for_model(error.message)}."
    if not error.hint:
        return sentence
    stop = "" if error.hint.endswith("?") else "."
    return f"{sentence} {error.hint[0].upper()}{path_for_model(error.hint[1:])}{stop}"


def error_data(error: SkillHubError) -> dict[str, object]:
    """Return the code, the facts and the hint for a program to read."""
    hint = {"hint": path_for_model(error.hint)} if error.hint else {}
    facts = {key: value if key in _GIVEN else _shown(value) for key, value in error.facts.items()}
    return {"code": error.code, **facts} | hint


def _shown(value: object) -> object:
    if isinstance(value, str):
        return path_for_model(value)
    return [_shown(item) for item in value] if isinstance(value, list) else value


def error_result(error: SkillHubError) -> ToolResult:
    """Return the tool result that reports `error`."""
    return ToolResult(content=error_text(error), meta={ERROR_META_KEY: error_data(error)}, is_error=True)


def protocol_error(error: SkillHubError) -> MCPError:
    """Return the JSON-RPC error that reports `error`, for methods without tool results (SEP-2640, Error Handling)."""
    invalid = isinstance(error, InvalidArgument | ResourceNotFound | SkillNotFound | SkillFileNotFound | PathNotAllowed)
    return MCPError(INVALID_PARAMS if invalid else JSONRPC_CODE, error_text(error), error_data(error))


_SHOWN_NAME = 64
_MAX_PROBLEMS = 8


class ErrorHandlingMiddleware(Middleware):
    """Reports a failed call as a tool result or as a JSON-RPC error, with the text of its `SkillHubError`."""

    def __init__(self, style: ErrorStyle) -> None:
        self._style = style

    async def on_request(self, context: AnyRequest, call_next: Next) -> Any:
        try:
            if context.method != "tools/call":
                _refuse_nul(dict(context.message or {}))
            return await call_next(context)
        except (MCPError, DisabledError, NotFoundError):
            raise
        except ValidationError as error:
            # The SDK would answer "Invalid request parameters", and not name the parameter.
            raise protocol_error(_invalid(error)) from error
        except Exception as error:
            # The results of these methods cannot report a failure, as those of tools can.
            if (reported := known_cause(error)) is not None:
                raise protocol_error(reported) from error
            log.exception("%s failed unexpectedly", context.method)
            if isinstance(error, FastMCPError):
                raise
            # Clients of the 2025-11-25 protocol would be sent its text, which may hold paths of this machine.
            raise MCPError(INTERNAL_ERROR, "Internal server error") from error

    async def on_call_tool(self, context: CallTool, call_next: Next) -> Any:
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
                raise
            if self._style == "jsonrpc":
                raise MCPError(JSONRPC_CODE, error_text(expected), error_data(expected)) from error
            return error_result(expected)

    async def _tool_not_found(self, context: CallTool) -> ToolNotFound:
        name, client = context.message.name[:_SHOWN_NAME], context.fastmcp_context
        tools = [] if client is None else [tool.name for tool in await client.fastmcp.list_tools(run_middleware=False)]
        known = name in TOOL_ACTIONS  # on another server
        return ToolNotFound(name, tools=tools, near=[] if known else near_names(name, tools, limit=2), known=known)


def _refuse_nul(arguments: Mapping[str, Any] | None) -> None:
    for name, value in (arguments or {}).items():
        refuse_nul(**{name.replace("\0", "\\0"): [name, value]})


async def _invalid_arguments(context: CallTool, error: BaseException | None) -> InvalidArgument | None:
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


def _invalid(error: ValidationError, hint: str | None = None) -> InvalidArgument:
    """Return the error to report for parameters that are not those of their method."""
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
