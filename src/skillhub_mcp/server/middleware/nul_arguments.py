"""Refuses a NUL character in any argument of a tool or a prompt, and in the URI of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from skillhub_mcp.nul import refuse_nul


class NulArgumentsMiddleware(Middleware):
    """Raises InvalidArgument before anything else sees the argument."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        _check(context.message.arguments)
        return await call_next(context)

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, Any],
    ) -> Any:
        _check(context.message.arguments)
        return await call_next(context)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, Any],
    ) -> Any:
        refuse_nul(uri=str(context.message.uri))
        return await call_next(context)


def _check(arguments: Mapping[str, Any] | None) -> None:
    for name, value in (arguments or {}).items():
        refuse_nul(**{name.replace("\0", "\\0"): [name, value]})
