"""The MCP server over a hub: FastMCP with the chosen tools, resources, prompts and middleware. Starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastmcp import FastMCP
from mcp.server.request_state import RequestStateSecurity

from skillhub_mcp.errors import ConfirmationRequired
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.observers.audit import process_owner
from skillhub_mcp.policy.tool_actions import SESSION_TOOLS, TOOL_ACTIONS, Action
from skillhub_mcp.project import ClientDirectories, Project
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.server.callers import caller_name
from skillhub_mcp.server.error_responses import ErrorHandlingMiddleware, ErrorStyle
from skillhub_mcp.server.middleware.client_project import ClientProjectMiddleware
from skillhub_mcp.server.middleware.consent import ConsentMiddleware, TrustAsking, TrustQuestionMiddleware
from skillhub_mcp.server.middleware.instructions import CardOptions, InstructionOptions, Introduction
from skillhub_mcp.server.middleware.request_events import RequestEventsMiddleware
from skillhub_mcp.server.middleware.sessions import Sessions, SharedAgreements, Transport
from skillhub_mcp.server.notifications import ChangeNotifier
from skillhub_mcp.server.prompts import NameCompletion, SkillPromptProvider, add_session_prompt
from skillhub_mcp.server.resources import SkillResourceProvider, SkillsExtension
from skillhub_mcp.server.tools import registration
from skillhub_mcp.server.tools.core import CoreTools
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.version import version

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.session import MakeResolver
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.execution.hooks import Hook
    from skillhub_mcp.server.middleware.hooks import HookMiddleware

_LIST_TTL_SECONDS = 300
_LIST_PAGE = 250
# A client over stdio that does not list the tools gets its hub started nevertheless.
_START_WITHOUT_LISTING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """The options of the agent-context tools: their catalogues, and the default number of hits."""

    make_catalogues: Callable[[], Catalogues]
    search_limit: int


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What one server offers. `enable_run` and `expose_paths` are already decided for its transport.

    `make_resolver` returns AGENTS.md in a directory as a session knows it. `remember` saves a rule that a person agreed
    to, and `trust` that they trust the project. `client` is where the client's directories are kept if they decide what
    `project` returns. `closing` ends what the Skill tool returns. Of several processes that may receive a client's
    requests, all have one `state_key`, and share what is in `agreements`.
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
    make_resolver: MakeResolver
    saved_sessions: str
    agreements: str
    card: CardOptions
    closing: str
    remember: Callable[[Action, ConfirmationRequired], None]
    trust: TrustAsking | None
    hooks: Sequence[Hook]
    project: Callable[[], Project]
    client: ClientDirectories | None
    publisher: Publisher
    instructions_max_bytes: int = 2_048


def make_server(hub: SkillHub, options: ServerOptions) -> FastMCP:
    """Return the MCP server over `hub`."""
    hub.lookup.also_take_uris(options.publisher.directory_at)
    notifier = ChangeNotifier(hub, options.publisher, prompts="skill" in options.tools, stateless=options.stateless)
    over_stdio = options.transport == "stdio"

    def keeps_output_of(session: tuple[str, ...]) -> bool:
        return hub.commands().outputs.keeps(session)

    sessions = Sessions(
        options.transport,
        tools=SESSION_TOOLS,
        stateless=options.stateless,
        agreements=SharedAgreements(options.agreements, options.state_key) if options.state_key else None,
        is_kept=keeps_output_of,
    )
    context = options.context if "context" in options.tools else None
    catalogues = None if context is None else context.make_catalogues()

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

    server = FastMCP(
        "SkillHub",
        version=version(),
        lifespan=lifespan,
        middleware=[
            RequestEventsMiddleware(
                hub.observer,
                options.transport,
                caller=process_owner if over_stdio else caller_name,
                stateless=options.stateless,
            ),
            ErrorHandlingMiddleware(options.error_style, known_tools=TOOL_ACTIONS),
            *([] if options.client is None else [ClientProjectMiddleware(hub, options.client)]),
            sessions,
            *([_hook_middleware(options)] if options.hooks else []),
            *([TrustQuestionMiddleware(hub, options.trust)] if options.trust is not None and over_stdio else []),
            ConsentMiddleware(hub.access, sessions, remember=options.remember if over_stdio else None),
            notifier,
        ],
        request_state_security=RequestStateSecurity(keys=[options.state_key]) if options.state_key else None,
        mask_error_details=True,
        list_page_size=_LIST_PAGE,
        cache_ttl=_LIST_TTL_SECONDS,
        cache_scope="private",
    )
    if "skill" in options.tools:
        server.completion(NameCompletion(hub).complete)
    server.add_provider(SkillResourceProvider(options.publisher, sessions))
    server.add_extension(SkillsExtension(options.publisher, ttl_seconds=_LIST_TTL_SECONDS))
    introduction = Introduction(
        server,
        hub,
        InstructionOptions(
            transport=options.transport,
            tools=options.tools,
            max_bytes=options.instructions_max_bytes,
            catalogues=catalogues,
            with_paths=options.expose_paths,
            card=options.card,
            project=hub.project if options.expose_paths else None,
            client_names_project=options.client is not None,
        ),
        start=hub.start,
    )
    server.add_middleware(introduction)
    _add_tool_sets(server, hub, sessions, options, catalogues)
    return server


def _hook_middleware(options: ServerOptions) -> HookMiddleware:
    from skillhub_mcp.server.middleware.hooks import HookMiddleware  # only servers with hooks pay for it

    return HookMiddleware(options.hooks, cwd=lambda: options.project().cwd)


def _add_tool_sets(
    server: FastMCP, hub: SkillHub, sessions: Sessions, options: ServerOptions, catalogues: Catalogues | None
) -> None:
    """Register the chosen sets, and their prompts. A set's imports happen only where it is chosen."""
    with_paths = options.expose_paths
    core = CoreTools(hub, sessions, base_uri=options.publisher.base_uri, with_paths=with_paths)
    if "core" in options.tools:
        registration.register(server, registration.core_tools(core))
    elif not with_paths and (catalogues is not None or "skill" in options.tools):
        # The texts that these sets load name files, which their clients cannot open themselves.
        registration.register(server, registration.file_tool(core))
    if "registry" in options.tools:
        from skillhub_mcp.server.tools.registry import RegistryTools

        registry = RegistryTools(hub, options.registry_admission, with_paths=with_paths)
        registration.register(server, registration.registry_tools(registry, with_core="core" in options.tools))
    agents = None
    if "agents" in options.tools:
        from skillhub_mcp.agents_md.session import SavedSessions
        from skillhub_mcp.server.tools.agents import AgentsTools

        saved = SavedSessions(options.saved_sessions)
        agents = AgentsTools(options.make_resolver, sessions, saved, with_paths=with_paths)
        registration.register(server, registration.agents_tools(agents))
    if options.context is not None and catalogues is not None:
        from skillhub_mcp.server.tools.context import ContextTools

        if not with_paths:
            hub.lookup.also_find(catalogues.find_by_id)
        context = ContextTools(
            catalogues,
            hub.access,
            sessions,
            options.context.search_limit,
            handle_of=hub.lookup.handle_of,
            elsewhere=hub.lookup.handle_named if "core" in options.tools else lambda _: None,
            agents_state=None if agents is None else agents.state,
            observer=hub.observer,
            with_paths=with_paths,
        )
        registration.register(server, registration.context_tools(context))
    if agents is not None or catalogues is not None:
        agents_text = None if agents is None else agents.initial_text
        add_session_prompt(server, sessions, catalogues, agents_text, with_paths=with_paths)
    if "skill" in options.tools:
        from skillhub_mcp.server.tools.run import SkillTool

        skill_tool = SkillTool(hub, sessions, with_paths=with_paths, closing=options.closing)
        registration.register(server, registration.skill_tool(skill_tool))
        server.add_provider(SkillPromptProvider(hub, sessions, with_paths=with_paths, closing=options.closing))
    if options.enable_run:
        from skillhub_mcp.server.tools.run import RunTool

        run = RunTool(hub, sessions, options.run_timeout_seconds, with_paths=options.expose_paths)
        registration.register(server, registration.run_tool(run))
