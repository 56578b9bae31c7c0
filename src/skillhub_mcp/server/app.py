"""Which server does this client get? Builds FastMCP over the hub; starts nothing and listens nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import Tool
from fastmcp.utilities.versions import VersionSpec
from mcp.server.request_state import RequestStateSecurity

from skillhub_mcp.execution.hooks import Hook
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.observers.audit import process_owner
from skillhub_mcp.policy.rules import Action
from skillhub_mcp.publishing.prewarm import EntryPrewarmer
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.server.http.callers import caller_name
from skillhub_mcp.server.middleware.consent import ConsentMiddleware
from skillhub_mcp.server.middleware.error_handling import ErrorHandlingMiddleware, ErrorStyle
from skillhub_mcp.server.middleware.hooks import HookMiddleware
from skillhub_mcp.server.middleware.instructions import CardOptions, InstructionOptions, ServerInstructions
from skillhub_mcp.server.middleware.request_log import RequestLogMiddleware
from skillhub_mcp.server.middleware.server_info import ServerInfoMiddleware
from skillhub_mcp.server.middleware.sessions import Sessions, Transport
from skillhub_mcp.server.prompts.completion import ArgumentCompletion
from skillhub_mcp.server.resources.extension import SkillsExtension
from skillhub_mcp.server.resources.list_changed import ListChangedNotifier
from skillhub_mcp.server.resources.provider import SkillResourceProvider
from skillhub_mcp.server.resources.subscriptions import ResourceSubscriptions
from skillhub_mcp.server.tools.core import add_core_tools
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.version import version

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.disclosure.context.catalogue import Catalogues

# What one session was given makes a difference to these.
SESSION_TOOLS = ("skill_load", "context_inspect", "agents_context", "agents_resolve", "agents_resume_diff")

_LIST_TTL_SECONDS = 300
_LIST_PAGE = 250
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

    `context` is None where seed 000's skills are switched off. `make_resolver` returns AGENTS.md as a session that
    begins in a directory knows it; an empty one stands for the server's own. `remember` keeps a rule for a skill of
    that name. `cwd` is what hooks are told. A `stateless` server keeps no sessions of the older era. `state_key` seals
    what a client is to send back with a person's answer, where several processes may be the one that gets it.
    """

    transport: Transport
    stateless: bool
    state_key: bytes | None = field(repr=False)
    tools: Sequence[str]
    enable_run: bool
    expose_paths: bool
    error_style: ErrorStyle
    run_timeout_seconds: float
    registry_admission: Callable[[bool], Admission]
    context: ContextOptions | None
    make_resolver: Callable[[str], AgentsResolver]
    instructions_max_bytes: int
    card: CardOptions
    remember: Callable[[Action, str], None]
    hooks: Sequence[Hook]
    cwd: str
    publisher: Publisher


def make_server(hub: SkillHub, options: ServerOptions) -> FastMCP:
    """Return the MCP server over `hub` (seed 002 §3)."""
    preparing = EntryPrewarmer(hub, options.publisher)
    start = _LateStart([hub.start, preparing.start])
    announcer = ListChangedNotifier(hub, prompts="skill" in options.tools)
    subscribing = ResourceSubscriptions(hub, options.publisher, announcer)
    over_stdio = options.transport == "stdio"
    sessions = Sessions(options.transport, tools=SESSION_TOOLS, stateless=options.stateless)
    context = options.context if "context" in options.tools else None
    catalogues = None if context is None else context.make_catalogues()

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        # Over HTTP nobody waits for this process to start, and /readyz should turn ready by itself.
        start.after(_START_AFTER_SILENCE_SECONDS if over_stdio else 0)
        announcer.open()
        subscribing.open()
        try:
            yield
        finally:
            start.cancel()
            await announcer.close()
            await subscribing.close()
            await asyncio.to_thread(preparing.close)
            await asyncio.to_thread(hub.close)

    server = _Server(
        "SkillHub",
        version=version(),
        lifespan=lifespan,
        middleware=[
            RequestLogMiddleware(hub.observer, options.transport, who=process_owner if over_stdio else caller_name),
            ErrorHandlingMiddleware(options.error_style),
            sessions,
            *([HookMiddleware(options.hooks, cwd=options.cwd)] if options.hooks else []),
            ConsentMiddleware(hub.access, sessions, remember=options.remember if over_stdio else None),
            start,
            announcer,
            ServerInfoMiddleware(),
        ],
        request_state_security=RequestStateSecurity(keys=[options.state_key]) if options.state_key else None,
        mask_error_details=True,
        list_page_size=_LIST_PAGE,
        cache_ttl=_LIST_TTL_SECONDS,
        cache_scope="private",
    )
    # No tool takes an argument from a header. Unless it is told so, the SDK lists all tools at each call to find out.
    server._mcp_server.get_tool_input_schema = lambda _: None  # noqa: SLF001 - FastMCP does not pass it on
    subscribing.serve(server, stateless=options.stateless)
    server.completion(ArgumentCompletion(hub, options.publisher).complete)
    server.add_provider(SkillResourceProvider(options.publisher, sessions))
    server.add_extension(SkillsExtension(options.publisher, ttl_seconds=_LIST_TTL_SECONDS))
    ServerInstructions(
        server,
        hub,
        InstructionOptions(
            transport=options.transport,
            tools=options.tools,
            max_bytes=options.instructions_max_bytes,
            catalogues=catalogues,
            with_paths=options.expose_paths,
            card=options.card,
        ),
    )
    _add_tools(server, hub, sessions, options, catalogues)
    return server


def _add_tools(
    server: FastMCP, hub: SkillHub, sessions: Sessions, options: ServerOptions, catalogues: Catalogues | None
) -> None:
    """Register the sets that were asked for; what one set needs is imported with it."""
    with_paths = options.expose_paths
    if "core" in options.tools:
        add_core_tools(server, hub, sessions, base_uri=options.publisher.base_uri, with_paths=with_paths)
    if "registry" in options.tools:
        from skillhub_mcp.server.tools.registry import add_registry_tools

        add_registry_tools(server, hub, admission=options.registry_admission, with_paths=with_paths)
    agents = None
    if "agents" in options.tools:
        from skillhub_mcp.server.tools.agents import AgentsTools, add_agents_tools

        agents = AgentsTools(options.make_resolver, sessions, with_paths=with_paths)
        add_agents_tools(server, agents)
    if options.context is not None and catalogues is not None:
        from skillhub_mcp.disclosure.context.tiered_search import SearchLimits
        from skillhub_mcp.server.tools.context import ContextTools, add_context_tools

        limits = SearchLimits(options.context.search_limit, options.context.search_max_limit)
        state = None if agents is None else agents.state
        add_context_tools(
            server, ContextTools(catalogues, hub.access, sessions, limits, state, hub.observer), with_paths=with_paths
        )
    if agents is not None or catalogues is not None:
        from skillhub_mcp.server.prompts.session_prompt import add_beginning

        add_beginning(server, sessions, catalogues, agents, with_paths=with_paths)
    if "skill" in options.tools:
        from skillhub_mcp.server.prompts.provider import SkillPromptProvider
        from skillhub_mcp.server.tools.skill import add_skill_tool

        add_skill_tool(server, hub, sessions, with_paths=with_paths)
        server.add_provider(SkillPromptProvider(hub, sessions))
    if options.enable_run:
        from skillhub_mcp.server.tools.run import add_run_tool

        add_run_tool(server, hub, sessions, timeout_seconds=options.run_timeout_seconds)


class _Server(FastMCP):
    """FastMCP, quicker to find a tool: it would ask every provider in a task of its own, and only one has tools."""

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        tool = await self.local_provider.get_tool(name, version)
        return tool if tool is not None and tool.auth is None else await super()._get_tool(name, version)


class _LateStart(Middleware):
    """Starts the hub once the client has its list of tools: loading the index first would delay that answer."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        self._steps = tuple(steps)
        self._timer: asyncio.TimerHandle | None = None

    def after(self, seconds: float) -> None:
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def cancel(self) -> None:
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
        self.after(_START_AFTER_LISTING_SECONDS)
        return tools
