"""Formats an error for MCP: text for a model, data for a program, as a tool result or as a JSON-RPC error.

`middleware.error_handling` calls it for every error of a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from fastmcp.tools.base import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from skillhub_mcp.errors import (
    InvalidArgument,
    PathNotAllowed,
    ResourceNotFound,
    SkillFileNotFound,
    SkillHubError,
    SkillNotFound,
)
from skillhub_mcp.sanitize import path_for_model

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


async def run_in_thread(function: Callable[[], T]) -> T:
    """Return what `function` returns in a thread, for methods of the protocol without failed results.

    Raises MCPError for whatever `function` raises.
    """
    try:
        return await anyio.to_thread.run_sync(function)
    except SkillHubError as error:
        raise protocol_error(error) from error
    except Exception as error:
        # Clients of the 2025-11-25 protocol would be sent its text, which may hold paths of this machine.
        log.exception("A request failed unexpectedly")
        raise MCPError(INTERNAL_ERROR, "Internal server error") from error
