"""Refuses a cursor that is too long to be one, which FastMCP would repeat whole in its error."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.server.error_responses import protocol_error

# FastMCP's are an offset in base64.
_MAX_CURSOR = 128
_PAGED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def refuse_long_cursors(server: FastMCP) -> None:
    """Let the lists of `server` answer such a cursor with a JSON-RPC error of this package."""
    low_level = server._mcp_server  # noqa: SLF001 - FastMCP's middleware is not shown the cursor
    for method in _PAGED:
        entry = low_level.get_request_handler(method)
        if entry is not None:
            low_level.add_request_handler(method, entry.params_type, _checked(entry.handler))


def _checked(handle: Any) -> Any:
    async def checked(context: Any, params: Any) -> Any:
        if params is not None and len(params.cursor or "") > _MAX_CURSOR:
            raise protocol_error(
                InvalidArgument("cursor", "is not a cursor of an earlier page", hint="omit it to start over")
            )
        return await handle(context, params)

    return checked
