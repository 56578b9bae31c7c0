"""Middleware that runs the user's hooks around each tool call; `execution.hooks` reads and runs them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, ToolResult

from skillhub_mcp.errors import BlockedByHook
from skillhub_mcp.execution.hooks import Hook, HookEvent, run_hook

log = logging.getLogger(__name__)


class HookMiddleware(Middleware):
    """Runs hooks one after another: one that fails before a call stops it, one that fails after it is logged."""

    def __init__(self, hooks: Sequence[Hook], *, cwd: str) -> None:
        self._hooks = tuple(hooks)
        self._cwd = cwd

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        tool = context.message.name
        call = {"tool_name": tool, "tool_input": context.message.arguments or {}}
        for hook in self._matching(HookEvent.BEFORE, tool):
            failure = await self._run(hook, call)
            if failure is not None:
                raise BlockedByHook(tool, failure)
        result = await call_next(context)
        # A question to the person is not a result yet: the call is repeated with the answer.
        if isinstance(result, ToolResult) and not isinstance(result, InputRequiredToolResult):
            for hook in self._matching(HookEvent.AFTER, tool):
                failure = await self._run(hook, {**call, "tool_response": _response(result)})
                if failure is not None:
                    log.warning("A PostToolUse hook for %s failed: %s", tool, failure)
        return result

    def _matching(self, event: HookEvent, tool: str) -> list[Hook]:
        return [hook for hook in self._hooks if hook.event is event and hook.matches(tool)]

    async def _run(self, hook: Hook, call: Mapping[str, object]) -> str | None:
        payload = {"hook_event_name": hook.event.value, "cwd": self._cwd, **call}
        return (await asyncio.to_thread(run_hook, hook, payload)).failure


def _response(result: ToolResult) -> dict[str, object]:
    content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    return {"isError": bool(result.is_error), "content": content}
