"""Which server does this client get? Builds FastMCP over the hub; starts nothing and listens nowhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

# FastMCP reads these when it is first imported: no .env file of whatever directory a client starts us in, no
# look-up of newer versions on the network, no log format of its own.
os.environ["FASTMCP_ENV_FILE"] = os.devnull
os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"
os.environ["FASTMCP_LOG_ENABLED"] = "false"

import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.announcing import Announcer
from skillhub_mcp.server.boundary import ErrorBoundary, ErrorStyle
from skillhub_mcp.server.tools.core import add_core_tools
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.version import version

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues

Transport = Literal["stdio", "http"]

INSTRUCTIONS = (
    "SkillHub holds expert instructions (skills), separate from any built into your host. Before a non-trivial task "
    "call search_skills; if one fits, load_skill it and follow it; read_skill_file only the files it names."
)
_LIST_TTL_SECONDS = 300
# The answer to tools/list is written before the index begins to load; without a question, it loads by itself.
_START_AFTER_LISTING_SECONDS = 0.05
_START_AFTER_SILENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """What the set `context` works on: its catalogues, and how many hits a search returns, by default and at most."""

    make_catalogues: Callable[[], Catalogues]
    search_limit: int
    search_max_limit: int


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What one server offers. `enable_run` and `expose_paths` are already decided for its transport.

    `context` is None where seed 000's skills are switched off.
    """

    transport: Transport
    tools: Sequence[str]
    enable_run: bool
    expose_paths: bool
    error_style: ErrorStyle
    run_timeout_seconds: float
    registry_admission: Callable[[bool], Admission]
    context: ContextOptions | None


def make_server(hub: SkillHub, options: ServerOptions) -> FastMCP:
    """Return the MCP server over `hub` (seed 002 §3)."""
    start = _LateStart(hub)
    announcer = Announcer(hub)
    over_stdio = options.transport == "stdio"

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        # Over HTTP nobody waits for this process to start, and /readyz should turn ready by itself.
        start.after(_START_AFTER_SILENCE_SECONDS if over_stdio else 0)
        announcer.open()
        try:
            yield
        finally:
            start.cancel()
            await announcer.close()
            await asyncio.to_thread(hub.close)

    server = FastMCP(
        "SkillHub",
        instructions=INSTRUCTIONS,
        version=version(),
        lifespan=lifespan,
        middleware=[ErrorBoundary(options.error_style), start, announcer],
        mask_error_details=True,
        cache_ttl=_LIST_TTL_SECONDS,
        cache_scope="private",
    )
    announcer.serve(server)
    if "core" in options.tools:
        add_core_tools(server, hub, with_paths=options.expose_paths)
    if "registry" in options.tools:
        from skillhub_mcp.server.tools.registry import add_registry_tools

        add_registry_tools(server, hub, admission=options.registry_admission, with_paths=options.expose_paths)
    if "context" in options.tools and options.context is not None:
        from skillhub_mcp.disclosure.context.tiers import SearchLimits
        from skillhub_mcp.server.tools.context import add_context_tools

        add_context_tools(
            server,
            options.context.make_catalogues(),
            limits=SearchLimits(options.context.search_limit, options.context.search_max_limit),
            with_paths=options.expose_paths,
        )
    if options.enable_run:
        from skillhub_mcp.server.tools.run import add_run_tool

        add_run_tool(server, hub, timeout_seconds=options.run_timeout_seconds)
    return server


class _LateStart(Middleware):
    """Starts the hub once the client has its list of tools: loading the index first would delay that answer."""

    def __init__(self, hub: SkillHub) -> None:
        self._hub = hub
        self._timer: asyncio.TimerHandle | None = None

    def after(self, seconds: float) -> None:
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._hub.start)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Any]],
    ) -> Sequence[Any]:
        tools = await call_next(context)
        self.after(_START_AFTER_LISTING_SECONDS)
        return tools
