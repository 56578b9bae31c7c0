"""Deferred start: the hub starts after the client has its list of tools, because loading the index delays answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

# The answer to tools/list is written before the index begins to load.
_AFTER_LISTING_SECONDS = 0.05


class DeferredStartMiddleware(Middleware):
    """Runs `steps` shortly after an answer to tools/list, or when a delay is over."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        self._steps = tuple(steps)
        self._timer: asyncio.TimerHandle | None = None

    def schedule(self, seconds: float) -> None:
        """Run the steps in `seconds`, instead of at the time scheduled before."""
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def cancel(self) -> None:
        """Run no steps."""
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        for step in self._steps:
            step()

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Any]],
    ) -> Sequence[Any]:
        tools = await call_next(context)
        self.schedule(_AFTER_LISTING_SECONDS)
        return tools
