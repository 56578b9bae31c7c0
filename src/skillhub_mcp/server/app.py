"""The MCP server over a hub: FastMCP with the chosen tools, resources, prompts and middleware. Starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import Tool
from mcp.server.request_state import RequestStateSecurity

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.error_responses import ErrorHandlingMiddleware
from skillhub_mcp.server.middleware.client_project import CODEX, ClientProjectMiddleware
from skillhub_mcp.server.middleware.consent import ConsentMiddleware, TrustQuestionMiddleware
from skillhub_mcp.server.middleware.instructions import Introduction
from skillhub_mcp.server.middleware.request_events import RequestEventsMiddleware
from skillhub_mcp.server.middleware.sessions import Sessions, SharedAgreements
from skillhub_mcp.server.notifications import ChangeNotifier
from skillhub_mcp.server.options import ServerOptions
from skillhub_mcp.server.prompts import SkillPromptProvider, add_session_prompt, name_completion
from skillhub_mcp.server.resources import SkillResourceProvider, SkillsExtension
from skillhub_mcp.server.tools import registration
from skillhub_mcp.server.tools.core import CoreTools
from skillhub_mcp.version import version

_LIST_TTL_SECONDS = 300
_LIST_PAGE = 250
# A client over stdio that does not list the tools gets its hub started nevertheless.
_START_WITHOUT_LISTING_SECONDS = 10.0


def make_server(hub: SkillHub, options: ServerOptions) -> FastMCP:
    """Return the MCP server over `hub`."""
    hub.lookup.also_take_uris(options.publisher.directory_at)
    over_stdio = options.transport == "stdio"

    def keeps_output(session: tuple[str, ...]) -> bool:
        return hub.commands().outputs.keeps(session)

    sessions = Sessions(
        options.transport,
        stateless=options.stateless,
        agreements=SharedAgreements(options.agreements) if options.agreements else None,
        is_kept=keeps_output,
    )
    notifier = ChangeNotifier(hub, options.publisher, prompts="skill" in options.tools, stateless=options.stateless)
    introduction = Introduction(hub, options)

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        # Over HTTP no client waits for this process to start, and /readyz should become ready without a request.
        introduction.schedule(_START_WITHOUT_LISTING_SECONDS if over_stdio else 0)
        notifier.open()
        try:
            yield
        finally:
            introduction.cancel()
            await notifier.close()
            await asyncio.to_thread(hub.close)

    middleware: list[Middleware] = [
        RequestEventsMiddleware(hub.observer, options.transport, stateless=options.stateless),
        ErrorHandlingMiddleware(options.error_style),
    ]
    if options.client is not None:
        middleware.append(ClientProjectMiddleware(hub, options.client))
    middleware.append(sessions)
    if options.hooks:
        from skillhub_mcp.server.middleware.hooks import HookMiddleware  # only servers with hooks pay for it

        middleware.append(HookMiddleware(options.hooks, cwd=lambda: options.project().cwd))
    if options.trust is not None and over_stdio:
        middleware.append(TrustQuestionMiddleware(hub, options.trust))
    middleware += [
        ConsentMiddleware(hub.access, sessions, remember=options.remember if over_stdio else None),
        notifier,
        introduction,
    ]
    server = FastMCP(
        "SkillHub",
        instructions=introduction.rules,
        version=version(),
        lifespan=lifespan,
        middleware=middleware,
        request_state_security=RequestStateSecurity(keys=[options.state_key]) if options.state_key else None,
        mask_error_details=True,
        list_page_size=_LIST_PAGE,
        cache_ttl=_LIST_TTL_SECONDS,
        cache_scope="private",
        experimental_capabilities=None if options.client is None else {CODEX: {}},
    )
    server.add_provider(SkillResourceProvider(options.publisher, sessions))
    server.add_extension(SkillsExtension(options.publisher, ttl_seconds=_LIST_TTL_SECONDS))
    for tool in _tools_and_prompts(server, hub, sessions, options):
        server.add_tool(tool)
    return server


def _tools_and_prompts(server: FastMCP, hub: SkillHub, sessions: Sessions, options: ServerOptions) -> Sequence[Tool]:
    """Return the tools of the chosen sets, and register their prompts. A set is imported only if it is chosen."""
    with_paths, catalogues = options.expose_paths, options.catalogues
    tools: list[Tool] = []
    core = CoreTools(hub, sessions, base_uri=options.publisher.base_uri, with_paths=with_paths)
    if "core" in options.tools:
        tools += registration.core_tools(core)
    elif not with_paths and (catalogues is not None or "skill" in options.tools):
        # The texts that these sets load name files, which their clients cannot open themselves.
        tools.append(registration.file_tool(core))
    if "registry" in options.tools:
        from skillhub_mcp.server.tools.registry import RegistryTools

        registry = RegistryTools(hub, options.registry_admission, with_paths=with_paths)
        tools += registration.registry_tools(registry, with_core="core" in options.tools)
    agents = None
    if "agents" in options.tools:
        from skillhub_mcp.agents_md.session import SavedSessions
        from skillhub_mcp.server.tools.agents import AgentsTools

        saved = SavedSessions(options.saved_sessions)
        agents = AgentsTools(options.make_resolver, sessions, saved, with_paths=with_paths)
        tools += registration.agents_tools(agents)
    if catalogues is not None:
        from skillhub_mcp.server.tools.context import ContextTools

        if not with_paths:
            hub.lookup.also_find(catalogues.find_by_id)
        context = ContextTools(
            hub,
            catalogues,
            sessions,
            options.context_limit,
            with_core="core" in options.tools,
            agents_state=None if agents is None else agents.state,
            with_paths=with_paths,
        )
        tools += registration.context_tools(context)
    if agents is not None or catalogues is not None:
        agents_text = None if agents is None else agents.initial_text
        add_session_prompt(server, sessions, catalogues, agents_text, with_paths=with_paths)
    if "skill" in options.tools:
        from skillhub_mcp.server.tools.run import SkillTool

        skill_tool = SkillTool(hub, sessions, with_paths=with_paths, closing=options.closing)
        tools.append(registration.skill_tool(skill_tool))
        server.add_provider(SkillPromptProvider(skill_tool))
        server.completion(name_completion(hub))
    if options.enable_run:
        from skillhub_mcp.server.tools.run import RunTool

        run = RunTool(hub, sessions, options.run_timeout_seconds, with_paths=with_paths)
        tools.append(registration.run_tool(run))
    return tools
