"""Settings in, a working hub out: the only place that chooses implementations."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.disclosure.reader import SkillReader
from skillhub_mcp.embedders import Embedder, EmbedderOptions, local, make_embedder
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.events import NULL_OBSERVER, CompositeObserver, Observer
from skillhub_mcp.execution.command_policy import CommandPolicy
from skillhub_mcp.execution.runner import RunLimits, reduced_environment
from skillhub_mcp.hub import CommandOptions, SkillHub
from skillhub_mcp.index.indexer import Indexer
from skillhub_mcp.index.lance_store import IN_MEMORY
from skillhub_mcp.index.live_index import LiveIndex
from skillhub_mcp.index.progress import IndexProgress, ProgressCallback, no_progress
from skillhub_mcp.index.sync import IndexSync
from skillhub_mcp.json_lines import JsonLinesLog
from skillhub_mcp.observers.access_log import AccessLog
from skillhub_mcp.observers.audit import Audit, process_owner
from skillhub_mcp.policy.access import Access, RuleFiles
from skillhub_mcp.policy.files import add_rule, choices_file, rules_file, tokens_file
from skillhub_mcp.policy.rules import Action, PermissionRule
from skillhub_mcp.project import DEFAULT_MARKERS, Project, find_project
from skillhub_mcp.publishing.entry_cache import PUBLICATION_FILE, EntryCache
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.search.engine import SearchEngine, SearchOptions
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.search.searcher import Searcher, SearchMode
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.admission import LENIENT, REGISTRY_LENIENT, STRICT, Admission, registry_strict
from skillhub_mcp.skills.builtin import builtin_directory
from skillhub_mcp.skills.files import ReadLimits
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.roots import SkillRoot, choose_roots
from skillhub_mcp.skills.visibility import Visibility
from skillhub_mcp.usage import UsageLog, skills_loaded_before

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsState
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.server.app import ServerOptions
    from skillhub_mcp.server.http.app import HttpOptions
    from skillhub_mcp.server.http.auth import AuthOptions, JwtOptions
    from skillhub_mcp.server.middleware.instructions import CardOptions


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
        is_allowed=access.sees,
        enabled_in=lambda root: access.now(root).offers,
        reports_errors=access.sees_everything,
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


def remember_rule(settings: Settings, act: Action, skill_name: str) -> None:
    """Keep that `act` is allowed for a skill, in the person's first file of rules (seed 000 §8.1).

    Raises PolicyUnreadable.
    """
    file = rule_files(settings, "").own[0]
    add_rule(file.path, "allow", PermissionRule(act.value, skill_name), what=file.what)


def server_options(
    settings: Settings, hub: SkillHub, *, over_http: bool = False, state_key: bytes | None = None
) -> ServerOptions:
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
        stateless=settings.stateless and over_http,
        state_key=state_key,
        tools=settings.tools,
        enable_run=settings.enable_run and (settings.enable_run_over_http or not over_http),
        expose_paths=settings.expose_paths or not over_http,
        error_style=settings.error_style,
        run_timeout_seconds=settings.exec_timeout_seconds,
        registry_admission=lambda lenient: registry_admission(settings, lenient=lenient),
        context=context if settings.skills_enabled else None,
        make_resolver=lambda cwd: make_resolver(settings, cwd),
        website_url=settings.website_url,
        instructions_max_bytes=settings.instructions_max_bytes,
        card=_card_options(settings, over_http=over_http),
        remember=lambda act, skill_name: remember_rule(settings, act, skill_name),
        hooks=read_hooks(settings.hooks) if settings.hooks else (),
        cwd=project_of(settings).cwd,
        publisher=make_publisher(settings, hub),
    )


def http_options(settings: Settings, *, host: str, port: int, metrics: Prometheus | None = None) -> HttpOptions:
    """Return how a server of `settings` is reached at an address.

    Raises InvalidSetting for what lets in more than was said, and TokensUnreadable.
    """
    from skillhub_mcp.server.http.app import HttpOptions

    auth = _auth_options(settings)
    if auth is None and not settings.allow_anonymous:
        _refuse_strangers(settings, host)
    if settings.workers > 1 and not settings.stateless:
        raise InvalidSetting(
            "SKILLHUB_WORKERS",
            str(settings.workers),
            "needs SKILLHUB_STATELESS=1: a session of the older era is known to one process only",
            hint="set SKILLHUB_STATELESS=1, or one worker",
        )
    public = urlsplit(settings.public_url)
    return HttpOptions(
        host=host,
        port=port,
        allowed_hosts=(*settings.allowed_hosts, *filter(None, [public.hostname])),
        allowed_origins=(*settings.allowed_origins, *([f"{public.scheme}://{public.netloc}"] if public.netloc else [])),
        metrics=None if metrics is None else metrics.exposition,
        auth=auth,
        trusted_proxies=settings.trusted_proxies,
        rate_limit=settings.rate_limit,
        max_request_bytes=settings.max_request_bytes,
        stateless=settings.stateless,
    )


def _refuse_strangers(settings: Settings, host: str) -> None:
    """Raise InvalidSetting for what only those should reach whom a token tells from strangers."""
    hint = "set SKILLHUB_TOKEN, or --allow-anonymous where something else keeps strangers out"
    if not _is_this_machine(host):
        raise InvalidSetting("--host", host, "is reached from other machines, and no token is asked for", hint=hint)
    if settings.enable_run and settings.enable_run_over_http:
        raise InvalidSetting(
            "SKILLHUB_ENABLE_RUN_OVER_HTTP", "1", "lets whoever reaches the server run commands", hint=hint
        )


def _auth_options(settings: Settings) -> AuthOptions | None:
    """Return who is let in over HTTP, or None for everybody."""
    if not settings.jwt_issuer and (settings.jwt_audience or settings.jwt_jwks):
        name, value = (
            ("SKILLHUB_JWT_AUDIENCE", settings.jwt_audience)
            if settings.jwt_audience
            else ("SKILLHUB_JWT_JWKS", settings.jwt_jwks)
        )
        raise InvalidSetting(name, value, "needs SKILLHUB_JWT_ISSUER, which is not set")
    if not (settings.token or settings.tokens_file or settings.jwt_issuer):
        return None
    from skillhub_mcp.server.http.auth import AuthOptions

    tokens = tokens_file(settings.tokens_file) if settings.tokens_file else None
    if tokens is not None:
        # What is wrong with the file is told now, and not by letting nobody in.
        tokens.read()
    jwt = _jwt_options(settings) if settings.jwt_issuer else None
    return AuthOptions(token=settings.token, tokens=tokens, jwt=jwt, public_url=settings.public_url)


def _jwt_options(settings: Settings) -> JwtOptions:
    from skillhub_mcp.server.http.auth import JwtOptions

    if not settings.jwt_audience:
        raise InvalidSetting(
            "SKILLHUB_JWT_ISSUER",
            settings.jwt_issuer,
            "needs SKILLHUB_JWT_AUDIENCE, or a token that was meant for another service would do here",
            hint="set it to what the issuer puts into the claim aud, such as the address of this server",
        )
    jwks = settings.jwt_jwks or f"{settings.jwt_issuer.rstrip('/')}/.well-known/jwks.json"
    address = urlsplit(jwks)
    if address.scheme != "https" and not _is_this_machine(address.hostname or ""):
        written = ("SKILLHUB_JWT_JWKS", jwks) if settings.jwt_jwks else ("SKILLHUB_JWT_ISSUER", settings.jwt_issuer)
        raise InvalidSetting(*written, "must begin with https://: who changes keys on their way can sign anything")
    return JwtOptions(settings.jwt_issuer, settings.jwt_audience, jwks)


def _is_this_machine(host: str) -> bool:
    """Whether only this machine itself is reached at `host`."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)


def _card_options(settings: Settings, *, over_http: bool) -> CardOptions:
    from skillhub_mcp.server.middleware.instructions import CardOptions

    project, home = project_of(settings).root, os.path.realpath(os.path.expanduser("~"))
    # Where an HTTP server happens to run is no project of its clients, unless somebody says that it is; and what lies
    # about in a home directory makes none.
    chosen = settings.cwd or settings.project_root
    return CardOptions(
        settings.card,
        project=project if project != home and (chosen or not over_http) else "",
        used_before=lambda day: skills_loaded_before(settings.usage_log, day) if settings.usage_log else (),
    )


def make_publisher(settings: Settings, hub: SkillHub) -> Publisher:
    """Return what publishes the skills of `hub` to hosts that read them natively. Opens and reads nothing yet."""
    kept = os.path.join(os.path.dirname(os.path.abspath(settings.db_path)), PUBLICATION_FILE)
    return Publisher(hub, EntryCache(kept), serve_dotfiles=settings.serve_dotfiles)


def make_metrics(settings: Settings, *, shared: str = "") -> Prometheus | None:
    """Return what counts for Prometheus, or None where nobody wants to know.

    `shared` is the directory in which the processes of one server count together.
    """
    if not settings.metrics:
        return None
    if shared:
        # The library reads it when it is imported, and takes it from nowhere else.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
    from skillhub_mcp.observers.prometheus import Prometheus

    return Prometheus(shared=shared)


def make_observer(settings: Settings, *, serving: bool, metrics: Prometheus | None = None) -> Observer:
    """Return who keeps account of what a hub does: for a server its log and the audit, for a command those chosen.

    A program that has set up an OpenTelemetry SDK before has its spans and numbers too.
    """
    observers: list[Observer] = []
    if "opentelemetry" in sys.modules:
        from skillhub_mcp.observers.open_telemetry import OpenTelemetry, is_configured

        observers += [OpenTelemetry()] if is_configured() else []
    if metrics is not None:
        observers.append(metrics)
    if serving:
        observers.append(AccessLog())
    if serving or settings.audit_log:
        file = JsonLinesLog(settings.audit_log, label="The audit log") if settings.audit_log else None
        if serving and file is not None:
            file.create()
        observers.append(Audit(owner=process_owner(), file=file))
    return CompositeObserver(observers) if observers else NULL_OBSERVER


def make_hub(
    settings: Settings,
    *,
    background: bool = True,
    asks: bool | None = None,
    progress: ProgressCallback = no_progress,
    observer: Observer | None = None,
) -> SkillHub:
    """Return the hub that `settings` describe. Reads no skill yet and loads no heavy library.

    With `background`, a thread keeps it fresh, as a server needs; without, it looks once, as a command needs. Unless
    `asks` says otherwise a server needs a person's word where the rules leave something open, and a command is one.
    Unless an `observer` is given, it is the one of `make_observer`.
    """
    observer = observer or make_observer(settings, serving=background)
    roots = roots_of(settings)
    steps = IndexProgress(progress)
    embedder = choose_embedder(settings)
    automatic = not settings.skip_auto_reindex
    index_sync = IndexSync(
        roots,
        Indexer(settings.db_path, roots, embedder=embedder, progress=steps.tell),
        make_spare=lambda: Indexer(IN_MEMORY, roots, embedder=None),
        automatic=automatic,
        admission=STRICT if settings.strict else LENIENT,
        observer=observer,
    )
    live = LiveIndex(roots, index_sync, automatic=automatic, background=background, observer=observer, steps=steps)
    access = make_access(settings, asks=background if asks is None else asks)
    usage = UsageLog(settings.usage_log) if settings.usage_log else None
    lookup = SkillLookup(live, access)
    return SkillHub(
        live,
        access=access,
        engine=SearchEngine(
            live,
            access,
            Searcher(
                mode=SearchMode(settings.search_mode),
                fields=frozenset(settings.search_fields),
                embedder=embedder,
                model=_reranker(settings),
                observer=observer,
            ),
            SearchOptions(settings.search_limit, settings.search_threshold, settings.search_confidence),
            usage=usage,
            observer=observer,
        ),
        lookup=lookup,
        reader=SkillReader(
            lookup,
            files=ReadLimits(max_bytes=settings.max_file_bytes, serve_dotfiles=settings.serve_dotfiles),
            max_body_bytes=settings.max_body_bytes,
            usage=usage,
            observer=observer,
        ),
        commands=CommandOptions(
            CommandPolicy(settings.allowed_commands),
            RunLimits(settings.exec_timeout_seconds, settings.exec_max_output_bytes),
            environment=lambda: reduced_environment(os.environ),
        ),
        observer=observer,
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
