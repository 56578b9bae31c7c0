"""Error handling: catches the errors of all requests and answers with `error_responses`.

Tools contain no `try`: what they raise arrives here as the cause of FastMCP's own error. A NUL character in an
argument or a URI is refused here, before anything else sees it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import mcp_types
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

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
    tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
    return invalid_arguments(error, context.message.name, {} if tool is None else tool.parameters)


_SHOWN_VALUE = 40
_MAX_PROBLEMS = 8
_MISSING = ("missing", "missing_argument")
_UNEXPECTED = "unexpected_keyword_argument"
_NONE_REQUIRED = "none_required"
_TYPE_NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
}


def invalid_arguments(error: ValidationError, tool: str, schema: Mapping[str, Any]) -> InvalidArgument:
    """Return the error to report for a call of `tool`, whose arguments `schema` describes, that failed with `error`."""
    arguments: Mapping[str, Any] = schema.get("properties", {})
    # To leave an argument out is no fix for a wrong value.
    details = [
        item for item in error.errors(include_url=False, include_context=False) if item["type"] != _NONE_REQUIRED
    ]
    problems = [_problem(item["type"], item["loc"], item["input"], tool, arguments) for item in details[:_MAX_PROBLEMS]]
    hint = None
    if any(item["type"] in (*_MISSING, _UNEXPECTED) for item in details):
        required = schema.get("required", ())
        accepted = ", ".join(f"{name} (needed)" if name in required else name for name in arguments)
        hint = f"the arguments of {tool}: {accepted or 'none'}"
    (name, reason), *others = problems
    return InvalidArgument(name, "; ".join([reason, *(" ".join(other) for other in others)]), hint=hint)


def invalid_parameter(error: ValidationError) -> InvalidArgument:
    """Return the error to report for a request whose parameters are not those of its method."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = [str(step)[:_SHOWN_VALUE] for step in first["loc"] if step != "params"]
    name = ".".join(step if step.isprintable() else repr(step) for step in place) or "params"
    if first["type"] in _MISSING:
        return InvalidArgument(name, "is missing")
    return InvalidArgument(name, f"is invalid: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _problem(
    kind: str, place: Sequence[int | str], given: object, tool: str, arguments: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the name of an argument, or of a part of one, and its problem."""
    first = str(place[0])[:_SHOWN_VALUE] if place else "the arguments"
    first = first if first.isprintable() else repr(first)
    if kind in _MISSING:
        return first, "is missing"
    if kind == _UNEXPECTED:
        near = near_names(first, arguments, limit=1)
        return first, f"is not an argument of {tool}" + (f" (did you mean {near[0]}?)" if near else "")
    allowed: Mapping[str, Any] = arguments.get(first, {})
    inside = ""
    for step in place[1:]:
        if isinstance(step, int) and "items" in allowed:
            inside, allowed = f"{inside}[{step}]", allowed["items"]
    return first + inside, f"must be {_allowed(allowed)}, and is {_shown(given)}"


def _allowed(schema: Mapping[str, Any]) -> str:
    """Return a description of what a JSON schema allows."""
    if "enum" in schema:
        *most, last = (f"'{value}'" for value in schema["enum"])
        return f"{', '.join(most)} or {last}" if most else last
    kind = schema.get("type")
    if kind == "array":
        most_items = f", at most {schema['maxItems']:,} of them" if "maxItems" in schema else ""
        return f"a list of {_TYPE_NAMES.get(schema.get('items', {}).get('type', ''), 'value')}s{most_items}"
    if kind == "boolean":
        return "true or false"
    if kind == "string":
        return "text" + (f" of at most {schema['maxLength']:,} characters" if "maxLength" in schema else "")
    if kind in ("integer", "number"):
        return f"a {_TYPE_NAMES[kind]}{_range(schema)}"
    return "an object" if kind == "object" else "something else"


def _range(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None or most is None:
        return "" if least is None else f" of at least {least:,}"
    return f" from {least:,} to {most:,}"


def _shown(given: object) -> str:
    if isinstance(given, str):
        return repr(given) if len(given) <= _SHOWN_VALUE else f"text of {len(given):,} characters"
    if isinstance(given, Sequence):
        return f"a list of {len(given):,}"
    return "an object" if isinstance(given, Mapping) else json.dumps(given)
