"""Settings in, a working hub out: the only place that chooses implementations."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.execution.commands import CommandPolicy
from skillhub_mcp.execution.runner import RunLimits, reduced_environment
from skillhub_mcp.hub import SearchOptions, SkillHub
from skillhub_mcp.policy.access import Access, RuleFiles
from skillhub_mcp.policy.files import add_rule, choices_file, rules_file
from skillhub_mcp.policy.rules import Act, Rule
from skillhub_mcp.project import DEFAULT_MARKERS, Project, find_project
from skillhub_mcp.publishing.kept import PUBLICATION_FILE, KeptEntries
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.search.embedders import Embedder, EmbedderOptions, local, make_embedder
from skillhub_mcp.search.freshness import LiveIndex
from skillhub_mcp.search.indexing import Indexer, Progress, no_progress
from skillhub_mcp.search.lance import IN_MEMORY
from skillhub_mcp.search.looking import Looker
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.search.searching import Mode, Searcher
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.admission import LENIENT, REGISTRY_LENIENT, STRICT, Admission, registry_strict
from skillhub_mcp.skills.builtin import builtin_directory
from skillhub_mcp.skills.files import ReadLimits
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.roots import SkillRoot, choose_roots
from skillhub_mcp.skills.visibility import Visibility
from skillhub_mcp.usage import UsageLog

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsState
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.server.app import ServerOptions


def roots_of(settings: Settings) -> tuple[SkillRoot, ...]:
    """Return the roots that `settings` choose, the strongest first (DECISIONS 7). Raises InvalidSetting."""
    return choose_roots(
        settings.roots,
        project=project_of(settings),
        home=os.path.expanduser("~"),
        hub=settings.skills_dirs,
        builtin=builtin_directory(),
    )


def project_of(settings: Settings) -> Project:
    """Return the project that `settings` describe, or that the process runs in (DECISIONS 8). Raises InvalidSetting."""
    home = os.path.expanduser("~")
    if settings.cwd and not os.path.isdir(os.path.expanduser(settings.cwd)):
        raise InvalidSetting("SKILLHUB_CWD", settings.cwd, "is not a directory")
    try:
        cwd = os.path.expanduser(settings.cwd) or os.getcwd()
    except FileNotFoundError:
        # The directory we were started in is gone: it holds no skills, and the person's own are still there.
        cwd = home
    return find_project(cwd, root=settings.project_root, markers=settings.markers, home=home)


def registry_admission(settings: Settings, *, lenient: bool = False) -> Admission:
    """Return which skills seed 003's registry takes, within the bounds that `settings` give."""
    if lenient:
        return REGISTRY_LENIENT
    return registry_strict(
        max_header_lines=settings.registry_max_lines, max_line_characters=settings.registry_max_line_characters
    )


def make_registry(settings: Settings, *, lenient: bool = False) -> Registry:
    """Return seed 003's registry over the roots that `settings` choose. Reads nothing yet. Raises InvalidSetting."""
    return Registry(roots_of(settings), admission=registry_admission(settings, lenient=lenient))


def make_catalogues(settings: Settings, access: Access) -> Catalogues:
    """Return seed 000's catalogues, by working directory, as far as `access` goes. Reads nothing yet."""
    from skillhub_mcp.disclosure.context.catalogue import CatalogueLimits, Catalogues

    return Catalogues(
        lambda cwd: project_of(replace(settings, cwd=cwd or settings.cwd)),
        home=os.path.expanduser("~"),
        limits=CatalogueLimits(settings.catalogue_max_entries, settings.catalogue_max_bytes),
        allows=_visibility(settings).allows,
        offers_in=lambda root: access.now(root).offers,
    )


def make_access(settings: Settings, *, asks: bool) -> Access:
    """Return who may load what; with `asks`, what the rules leave open needs a person's word. Reads nothing yet."""
    return Access(
        _visibility(settings),
        project=project_of(settings).root,
        choices=choices_file(settings.choices),
        rule_files=lambda root: rule_files(settings, root),
        asks=asks,
    )


def rule_files(settings: Settings, project_root: str) -> RuleFiles:
    """Return where rules are: the person's own files, the first of which is written to, and the project's."""
    own = [rules_file(os.path.expanduser("~/.skillhub/permissions.json"), what="Your permissions.json")]
    if settings.permissions:
        named = rules_file(settings.permissions, what="The file that SKILLHUB_PERMISSIONS names", needed=True)
        own.insert(0, named)
    foreign = os.path.join(project_root, ".skillhub", "permissions.json")
    if os.path.realpath(foreign) in (os.path.realpath(file.path) for file in own):
        return RuleFiles(tuple(own), ())
    return RuleFiles(tuple(own), (rules_file(foreign, what="The project's .skillhub/permissions.json"),))


def _visibility(settings: Settings) -> Visibility:
    return Visibility(settings.enabled_skills, settings.enabled_categories)


def make_resolver(settings: Settings, cwd: str = "", *, state: AgentsState | None = None) -> AgentsResolver:
    """Return AGENTS.md as a session that begins in `cwd`, or where `settings` say, knows it. Raises InvalidSetting.

    What the environment says of the root and the markers beats the configuration. With a `state` it goes on from there.
    """
    from skillhub_mcp.agents_md.configuration import read_config
    from skillhub_mcp.agents_md.resolver import AgentsResolver

    config = read_config(settings.agents_config)
    root = config.root
    if settings.project_root:
        root = root.model_copy(update={"projectRootOverride": settings.project_root})
    if settings.markers != DEFAULT_MARKERS or root.markers is None:
        root = root.model_copy(update={"markers": settings.markers})
    return AgentsResolver(cwd or settings.cwd or None, config=config.model_copy(update={"root": root}), state=state)


def remember_rule(settings: Settings, act: Act, skill_name: str) -> None:
    """Keep that `act` is allowed for a skill, in the person's first file of rules (seed 000 §8.1).

    Raises PolicyUnreadable.
    """
    file = rule_files(settings, "").own[0]
    add_rule(file.path, "allow", Rule(act.value, skill_name), what=file.what)


def server_options(settings: Settings, hub: SkillHub, *, over_http: bool = False) -> ServerOptions:
    """Return what a server of `settings` offers over `hub`. Raises InvalidSetting for hooks that cannot be read."""
    from skillhub_mcp.execution.hooks import read_hooks
    from skillhub_mcp.server.app import ContextOptions, ServerOptions

    context = ContextOptions(
        lambda: make_catalogues(settings, hub.access), settings.skill_search_limit, settings.skill_search_max_limit
    )
    if "agents" in settings.tools:
        # What is wrong with the configuration is told now, and not to whoever calls first.
        make_resolver(settings)
    return ServerOptions(
        transport="http" if over_http else "stdio",
        tools=settings.tools,
        enable_run=settings.enable_run and (settings.enable_run_over_http or not over_http),
        expose_paths=settings.expose_paths or not over_http,
        error_style=settings.error_style,
        run_timeout_seconds=settings.exec_timeout_seconds,
        registry_admission=lambda lenient: registry_admission(settings, lenient=lenient),
        context=context if settings.skills_enabled else None,
        make_resolver=lambda cwd: make_resolver(settings, cwd),
        instructions_max_bytes=settings.instructions_max_bytes,
        remember=lambda act, skill_name: remember_rule(settings, act, skill_name),
        hooks=read_hooks(settings.hooks) if settings.hooks else (),
        cwd=project_of(settings).cwd,
        publisher=make_publisher(settings, hub),
    )


def make_publisher(settings: Settings, hub: SkillHub) -> Publisher:
    """Return what publishes the skills of `hub` to hosts that read them natively. Opens and reads nothing yet."""
    kept = os.path.join(os.path.dirname(os.path.abspath(settings.db_path)), PUBLICATION_FILE)
    return Publisher(hub, KeptEntries(kept), serve_dotfiles=settings.serve_dotfiles)


def make_hub(
    settings: Settings, *, background: bool = True, asks: bool | None = None, progress: Progress = no_progress
) -> SkillHub:
    """Return the hub that `settings` describe. Reads no skill yet and loads no heavy library.

    With `background`, a thread keeps it fresh, as a server needs; without, it looks once, as a command needs. Unless
    `asks` says otherwise a server needs a person's word where the rules leave something open, and a command is one.
    """
    roots = roots_of(settings)
    embedder = choose_embedder(settings)
    automatic = not settings.skip_auto_reindex
    looker = Looker(
        roots,
        Indexer(settings.db_path, roots, embedder=embedder, progress=progress),
        make_spare=lambda: Indexer(IN_MEMORY, roots, embedder=None),
        automatic=automatic,
        admission=STRICT if settings.strict else LENIENT,
    )
    return SkillHub(
        LiveIndex(roots, looker, automatic=automatic, background=background),
        access=make_access(settings, asks=background if asks is None else asks),
        search=SearchOptions(settings.search_limit, settings.search_threshold, settings.search_confidence),
        files=ReadLimits(max_bytes=settings.max_file_bytes, serve_dotfiles=settings.serve_dotfiles),
        max_body_bytes=settings.max_body_bytes,
        commands=CommandPolicy(settings.allowed_commands),
        run_limits=RunLimits(settings.exec_timeout_seconds, settings.exec_max_output_bytes),
        searcher=Searcher(
            mode=Mode(settings.search_mode),
            fields=frozenset(settings.search_fields),
            embedder=embedder,
            model=_reranker(settings),
        ),
        environment=lambda: reduced_environment(os.environ),
        usage=UsageLog(settings.usage_log) if settings.usage_log else None,
    )


def choose_embedder(settings: Settings) -> Embedder | None:
    """Return whose embeddings `settings` choose, or None for none. Loads no library and calls nobody."""
    provider = settings.embedding_provider
    if provider == "local" or (provider == "auto" and local.is_installed()):
        return local.LocalEmbedder()
    if provider not in ("openai", "gemini"):
        return None
    keys = {"openai": settings.openai_api_key, "gemini": settings.gemini_api_key}
    return make_embedder(
        EmbedderOptions(
            provider=provider,
            model=settings.embedding_model or None,
            api_key=keys[provider],
            base_url=settings.embedding_base_url or None,
        )
    )


def _reranker(settings: Settings) -> Reranker | None:
    if not settings.search_rerank or settings.embedding_provider not in ("openai", "gemini"):
        return None
    keys = {"openai": settings.openai_api_key, "gemini": settings.gemini_api_key}
    return make_reranker(
        settings.embedding_provider,
        model=settings.search_rerank_model or None,
        api_key=keys[settings.embedding_provider],
        base_url=settings.embedding_base_url or None,
    )
