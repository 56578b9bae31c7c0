"""The options of a server over a hub, over stdio and HTTP alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.http import is_stateless
from skillhub_mcp.bootstrap.library import agree_to, brought_in, make_catalogues, registry_admission
from skillhub_mcp.bootstrap.places import beside_index
from skillhub_mcp.bootstrap.policy import remember_rule
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.disclosure.skill_loaded import FOLLOW
from skillhub_mcp.environment import expand_home
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.project import DEFAULT_MARKERS
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.settings import Settings

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.known import KnownFiles
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsState
    from skillhub_mcp.execution.hooks import Hook
    from skillhub_mcp.server.app import ServerOptions


def make_resolver(
    settings: Settings, cwd: str = "", *, state: AgentsState | None = None, known: KnownFiles | None = None
) -> AgentsResolver:
    """Return the AGENTS.md resolver of a session in `cwd`, or where `settings` say. Raises InvalidSetting.

    A root and markers of the settings override those of the configuration. With a `state` it continues from there;
    `known` is what a session with several working directories knows.
    """
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import read_config

    config = read_config(settings.disclosure.agents_config)
    root = config.root
    if settings.skills.project_root:
        root = root.model_copy(update={"projectRootOverride": settings.skills.project_root})
    if settings.skills.markers != DEFAULT_MARKERS or root.markers is None:
        root = root.model_copy(update={"markers": settings.skills.markers})
    return AgentsResolver(
        cwd or settings.skills.cwd or None, config=config.model_copy(update={"root": root}), state=state, known=known
    )


def _hooks(path: str) -> Sequence[Hook]:
    if not path:
        return ()
    from skillhub_mcp.execution.hooks import read_hooks  # only servers with hooks pay for it

    return read_hooks(path)


def server_options(
    settings: Settings, hub: SkillHub, *, over_http: bool = False, state_key: bytes | None = None
) -> ServerOptions:
    """Return the options of a server over `hub`. Raises InvalidSetting, also for unreadable hooks."""
    from skillhub_mcp.server.app import ContextOptions, ServerOptions
    from skillhub_mcp.server.middleware.instructions import CardOptions
    from skillhub_mcp.server.middleware.trust_question import TrustAsking

    replica = settings.replica.read_only
    asks_for_trust = settings.policy.trust in ("limited", "ask") and not (over_http or replica)
    context = ContextOptions(
        lambda: make_catalogues(settings, hub.access, hub.views.snapshot),
        settings.disclosure.skill_search_limit,
    )
    if "agents" in settings.disclosure.tools:
        # An invalid configuration is reported at startup rather than to the first caller.
        make_resolver(settings)
    return ServerOptions(
        transport="http" if over_http else "stdio",
        stateless=is_stateless(settings) and over_http,
        state_key=state_key,
        tools=settings.disclosure.tools,
        enable_run=settings.execution.enable_run
        and (settings.http.enable_run_over_http or not over_http)
        and not replica,
        # A replica's skills have the paths of the machine that published them.
        expose_paths=(settings.disclosure.expose_paths or not over_http) and not replica,
        error_style=settings.disclosure.error_style,
        run_timeout_seconds=settings.execution.timeout_seconds,
        registry_admission=lambda lenient: registry_admission(settings, lenient=lenient),
        context=context if settings.disclosure.skills_enabled and not replica else None,
        make_resolver=lambda cwd, known: make_resolver(settings, cwd, known=known),
        saved_sessions=beside_index(settings, "sessions"),
        agreements=beside_index(settings, "agreements"),
        closing=FOLLOW[settings.disclosure.closing],
        card=CardOptions(settings.disclosure.card, project=_card_project(settings, over_http=over_http)),
        remember=remember_rule,
        trust=TrustAsking(partial(brought_in, settings), agree_to) if asks_for_trust else None,
        hooks=_hooks(settings.execution.hooks),
        cwd=project_of(settings).cwd,
        publisher=make_publisher(settings, hub),
    )


def _card_project(settings: Settings, *, over_http: bool) -> str:
    """Return the project that the card describes, or an empty text.

    The working directory of an HTTP server is not its clients' project unless a setting says so.
    """
    root, chosen = project_of(settings).root, settings.skills.cwd or settings.skills.project_root
    return root if root != os.path.realpath(expand_home("~")) and (chosen or not over_http) else ""


def make_publisher(settings: Settings, hub: SkillHub) -> Publisher:
    """Return the publisher of the skills of `hub` to hosts that read them natively. Reads no files yet."""
    return Publisher(hub, serve_dotfiles=settings.disclosure.serve_dotfiles, files_of=hub.files_of)
