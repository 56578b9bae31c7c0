"""The composition root: builds the hub, the server and their parts from `Settings`, and chooses implementations."""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillhub_mcp.chosen_roots import (
    RootsFollower,
    lock_option,
    project_of,
    project_trust,
    recorded_roots,
    recorded_roots_problem,
    roots_of,
    roots_path,
    trust_path,
)
from skillhub_mcp.circuit_breaker import CircuitBreaker
from skillhub_mcp.disclosure.counts import count_skills
from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.disclosure.reader import SkillReader
from skillhub_mcp.embedders import Embedder, EmbedderOptions, local, make_embedder
from skillhub_mcp.errors import (
    ConfirmationRequired,
    IndexUnavailable,
    InvalidSetting,
    LibraryUnwritable,
    PolicyUnreadable,
    RootsUnreadable,
    SkillUnverifiable,
)
from skillhub_mcp.events import NULL_OBSERVER, CompositeObserver, Observer
from skillhub_mcp.file_modes import changeable_by_others, readable_by_others
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.identity import IndexIdentity
from skillhub_mcp.index.indexer import Indexer
from skillhub_mcp.index.lance_store import IN_MEMORY
from skillhub_mcp.index.live_index import LiveIndex
from skillhub_mcp.index.own_names import something_else
from skillhub_mcp.index.progress import IndexProgress, ProgressCallback, no_progress
from skillhub_mcp.index.provider import ViewProvider
from skillhub_mcp.index.row_embedder import EmbeddingOptions
from skillhub_mcp.index.state import NO_EMBEDDING, load_state
from skillhub_mcp.index.sync import IndexSync
from skillhub_mcp.json_lines import JsonLinesLog
from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.observers.access_log import AccessLog
from skillhub_mcp.observers.audit import Audit, process_owner
from skillhub_mcp.observers.library_log import LibraryLog
from skillhub_mcp.observers.start_log import StartLog
from skillhub_mcp.policy.access import Access, RuleFiles, read_foreign
from skillhub_mcp.policy.access_tokens import Tokens
from skillhub_mcp.policy.files import add_rule, change_trust, choices_file, reviews_file, rules_file, tokens_file
from skillhub_mcp.policy.project_trust import RULES_FILE, ProjectTrust
from skillhub_mcp.policy.rules import PermissionRule, Rules
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.policy.unknown_names import KnownNames, rules_problems, server_filter_problems, tokens_problems
from skillhub_mcp.project import DEFAULT_MARKERS
from skillhub_mcp.publishing.entry_cache import PUBLICATION_FILE, EntryCache
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.search.engine import SearchEngine, SearchOptions
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.search.searcher import PROVIDER_REST_SECONDS, Searcher, SearchMode
from skillhub_mcp.settings import DEFAULT_SKILLS_DIR, HttpSettings, Settings
from skillhub_mcp.skills.admission import AGENT_CONTEXT, LENIENT, REGISTRY_LENIENT, STRICT, Admission, registry_strict
from skillhub_mcp.skills.builtin import builtin_directory
from skillhub_mcp.skills.files import ReadLimits
from skillhub_mcp.skills.model import NO_SHAPE, Skill
from skillhub_mcp.skills.own_directory import has_journal
from skillhub_mcp.skills.problems import Problem
from skillhub_mcp.skills.recorded_roots import NO_RECORD
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.roots import SkillRoot, Source, agent_context_roots
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.skills.visibility import Visibility
from skillhub_mcp.skills.whereabouts import FilesOf, own_directory
from skillhub_mcp.usage import UsageLog, skills_loaded_before

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.known import KnownFiles
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsState
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.disclosure.brought import Brought
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.execution.runner import RunLimits
    from skillhub_mcp.execution.sandbox.choice import ChosenSandbox
    from skillhub_mcp.execution.sandbox.model import Sandbox
    from skillhub_mcp.execution.skill_command import CommandOptions
    from skillhub_mcp.locks.kept_library import KeptLibrary
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.policy.reviews import Reviews
    from skillhub_mcp.replicas.health import PublicationHealth
    from skillhub_mcp.server.app import ServerOptions
    from skillhub_mcp.server.http.app import HttpOptions
    from skillhub_mcp.server.http.auth import AuthOptions, JwtOptions
    from skillhub_mcp.server.middleware.instructions import CardOptions
    from skillhub_mcp.server.middleware.trust_question import TrustAsking
    from skillhub_mcp.skills.survey import Surroundings, UnsearchedPlace
    from skillhub_mcp.storage.lance_rows import LanceRows
    from skillhub_mcp.storage.library import LibraryToStore
    from skillhub_mcp.storage.object_store import ObjectStore, Patience

log = logging.getLogger(__name__)

_MIRROR_DIGITS = 16
# What a directory has that something was published to.
_PUBLISHED = "publication.json"
_THIS_MACHINE = ("127.0.0.1", "::1")


def surroundings_of(settings: Settings) -> Surroundings:
    """Return every place that may hold skills, searched or not. Reads no skill. Raises InvalidSetting."""
    from skillhub_mcp.skills.places import RootsChoice, known_places
    from skillhub_mcp.skills.survey import Surroundings

    skills, project, home = settings.skills, project_of(settings), os.path.expanduser("~")
    try:
        recorded = recorded_roots()
    except RootsUnreadable:
        recorded = NO_RECORD
    places = known_places(
        project,
        home=home,
        hub=os.path.expanduser(DEFAULT_SKILLS_DIR),
        builtin=builtin_directory(),
        environment=os.environ,
        recorded=recorded.directories,
        recorded_in_project=recorded.of_project(project.root),
    )
    choice = RootsChoice(skills.roots, skills.dirs, words_given=skills.roots_given, dirs_given=skills.dirs_given)
    return Surroundings(places, choice, home=home, cwd=project.cwd)


def unsearched_places(settings: Settings, snapshot: Snapshot) -> tuple[UnsearchedPlace, ...]:
    """Return the places with skills that no root of `snapshot` has; none for a replica, which serves no place here.

    The examples are among them where there is no skill yet and no setting chooses what is searched.
    """
    if settings.replica.read_only:
        return ()
    report = snapshot.report
    known = {snapshot.real_directory(skill) for skill in snapshot.everything}
    known.update(os.path.realpath(refused.directory) for refused in report.refused)
    chosen = settings.skills.dirs_given or settings.skills.roots_given
    return tuple(
        one
        for one in surroundings_of(settings).unsearched(report.roots, known)
        if one.skills and (one.place.source is not Source.BUILTIN or not (snapshot.everything or chosen))
    )


def _elsewhere(settings: Settings, snapshot: Snapshot) -> tuple[Problem, ...]:
    return tuple(one.as_problem() for one in unsearched_places(settings, snapshot))


def registry_admission(settings: Settings, *, lenient: bool = False) -> Admission:
    """Return the rules by which the registry admits skills, with the limits that `settings` give."""
    if lenient:
        return REGISTRY_LENIENT
    return registry_strict(
        max_header_lines=settings.skills.registry_max_lines,
        max_line_characters=settings.skills.registry_max_line_characters,
    )


def make_registry(settings: Settings, *, lenient: bool = False) -> Registry:
    """Return the registry over the roots that `settings` choose. Reads no skill yet, but of projects that are trusted.

    Raises InvalidSetting.
    """
    return Registry(
        project_trust(settings).judged(roots_of(settings)), admission=registry_admission(settings, lenient=lenient)
    )


def make_catalogues(settings: Settings, access: Access) -> Catalogues:
    """Return the agent-context catalogues by working directory, limited to what `access` allows. Reads no files yet."""
    from skillhub_mcp.disclosure.context.catalogue import CatalogueLimits, Catalogues

    return Catalogues(
        lambda cwd: project_of(replace(settings, skills=replace(settings.skills, cwd=cwd or settings.skills.cwd))),
        home=os.path.expanduser("~"),
        limits=CatalogueLimits(settings.disclosure.catalogue_max_entries, settings.disclosure.catalogue_max_bytes),
        is_allowed=access.sees,
        enabled_in=lambda root: access.now(root).offers,
        judge=project_trust(settings).judged,
        reports_errors=access.sees_everything,
    )


def every_skill(settings: Settings, snapshot: Snapshot) -> tuple[Skill, ...]:
    """Return the skills that rules, tokens and filters can name: the hub's, and those of the agent-context tools.

    Served or not, and also those whose name another skill won.
    """
    found = {skill.directory: skill for skill in snapshot.everything}
    if settings.disclosure.skills_enabled and not settings.replica.read_only:
        chosen = agent_context_roots(project_of(settings), home=os.path.expanduser("~"))
        roots = project_trust(settings).judged(chosen)
        context = Registry(roots, admission=AGENT_CONTEXT).snapshot.everything
        found = {skill.directory: skill for skill in context} | found
    return tuple(found[directory] for directory in sorted(found))


def name_problems(settings: Settings, snapshot: Snapshot) -> tuple[Problem, ...]:
    """Return what the filter, the rules and the tokens name that is not there; nothing where no skill is.

    Raises PolicyUnreadable and TokensUnreadable.
    """
    visibility = _visibility(settings)
    files = rule_files(settings, project_of(settings).root)
    rules = [(file, found) for file in files.own if (found := file.read()) is not None]
    rules += [(file, foreign) for file in files.foreign if isinstance(foreign := read_foreign(file), Rules)]
    path = settings.http.tokens_file
    tokens = (tokens_file(path, required=False).read() if path else None) or Tokens()
    named = any(one.rule.skill_name for _, found in rules for one in found.listed())
    if not (visibility.limits or named or any(token.visibility.limits for token in tokens.tokens)):
        return ()
    known = KnownNames(every_skill(settings, snapshot))
    if not known.skills:
        return ()
    return (
        *server_filter_problems(known, visibility, ("SKILLHUB_ENABLED_SKILLS", "SKILLHUB_ENABLED_CATEGORIES")),
        *(
            problem
            for file, found in rules
            for problem in rules_problems(known, file.path, found, changeable=file is files.own[0])
        ),
        *tokens_problems(known, path, tokens),
    )


def brought_in(settings: Settings) -> Brought:
    """Return what the project brings, searched by the hub or by the agent-context tools. Raises InvalidSetting."""
    from skillhub_mcp.disclosure.brought import brought_by
    from skillhub_mcp.policy.project_trust import brought_digest

    project = project_of(settings)
    context = agent_context_roots(project, home=os.path.expanduser("~"))
    roots = {root.path: root for root in (*(root for root in context if root.within), *roots_of(settings))}
    judged = project_trust(settings).judged(sorted(roots.values(), key=lambda root: not root.within))
    digests, problems = {}, {}
    for root in judged:
        if root.within:
            try:
                digests[root.path] = brought_digest(root)
            except (SkillUnverifiable, OSError) as error:
                unread = isinstance(error, OSError) and f"{error.filename!r} cannot be read: {error.strerror}"
                problems[root.path] = unread or str(error)
    return brought_by(project.root, Registry(judged, admission=LENIENT).snapshot, digests, problems)


def agree_to(brought: Brought) -> None:
    """Record that the person trusts what the project brings, as it was shown. Raises what `change_trust` raises."""
    change_trust(trust_path(), lambda record: record.agreed(brought.project, brought.digests))


def exposed_files(settings: Settings) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the person's own files that somebody else may write, which are not used, and those others may read."""
    named = (
        roots_path(),
        trust_path(),
        reviews_path(),
        *(file.path for file in rule_files(settings, "").own),
        settings.policy.choices,
        settings.http.tokens_file,
        settings.execution.hooks,
        settings.observability.usage_log,
    )
    changeable, readable = [], []
    for path in dict.fromkeys(filter(None, named)):
        # One that cannot be looked at is told of where it is used.
        with suppress(OSError):
            if found := changeable_by_others(path):
                changeable.append(Problem(path, f"is not used: {found.reason}", found.mend))
            elif found := readable_by_others(path):
                readable.append(Problem(path, found.reason, found.mend))
    return tuple(changeable), tuple(readable)


def make_access(
    settings: Settings, *, asks: bool, auditor: Auditor | None = None, kept: Callable[[], KeptLibrary] | None = None
) -> Access:
    """Return what may be loaded and run. With `asks`, what no rule allows or denies needs the user's consent.

    Reads no files yet.
    """
    no_locks = settings.policy.frozen == "0" or settings.replica.read_only
    return Access(
        _visibility(settings),
        project=project_of(settings).root,
        choices=choices_file(settings.policy.choices),
        rule_files=lambda root: rule_files(settings, root),
        tools=TOOL_ACTIONS,
        asks=asks,
        trust=TrustMode(settings.policy.trust),
        audit=auditor if auditor is not None and auditor.blocks else None,
        locks=None if no_locks else (kept or _Kept(settings, for_shell=True))(),
    )


class _Kept:
    """What holds skills against their locks, made when it is first asked for: most have no lock. Reads no files yet."""

    def __init__(self, settings: Settings, *, for_shell: bool) -> None:
        self._settings = settings
        self._for_shell = for_shell
        self._lock = threading.Lock()
        self._made: KeptLibrary | None = None

    def __call__(self) -> KeptLibrary:
        with self._lock:
            if self._made is None:
                from skillhub_mcp.locks.kept_digests import KEPT_FILE, KeptDigests
                from skillhub_mcp.locks.kept_library import KeptLibrary

                kept = KeptDigests(_beside_index(self._settings, KEPT_FILE))
                # Clients of a server are told no path of its machine. Many skills may be withheld, of few locks.
                option_of = cache(partial(lock_option, settings=self._settings, with_paths=self._for_shell))
                only = self._settings.policy.frozen == "only"
                self._made = KeptLibrary(only=only, kept=kept, option_of=option_of)
            return self._made

    def close(self) -> None:
        """Keep what was found, if anything was asked."""
        if self._made is not None:
            self._made.close()


def reviews_path() -> str:
    """Return the path of the person's file of reviews of the audit's findings."""
    return os.path.expanduser("~/.skillhub/reviews.json")


def make_auditor(settings: Settings, *, files_of: FilesOf = own_directory) -> Auditor | None:
    """Return the audit of a hub's skills, or None if it is off. Reads no files yet."""
    if settings.policy.audit == "off":
        return None
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.auditing.kept import KEPT_FILE as KEPT_AUDITS

    reviews = reviews_file(reviews_path())

    def acceptance() -> Reviews | None:
        try:
            found = reviews.read()
        except PolicyUnreadable as error:
            # What cannot be read accepts nothing; `skillhub audit` says what is wrong with it.
            log.debug("%s", error.message)
            return None
        return found if found is not None and found.by_digest else None

    return Auditor(
        _beside_index(settings, KEPT_AUDITS),
        acceptance=acceptance,
        blocks=settings.policy.audit == "block",
        files_of=files_of,
    )


def rule_files(settings: Settings, project_root: str) -> RuleFiles:
    """Return the files of rules: the user's own, of which the first is written to, and the project's."""
    make_file = partial(rules_file, tools=TOOL_ACTIONS)
    own = [make_file(os.path.expanduser("~/.skillhub/permissions.json"), what="Your permissions.json")]
    if settings.policy.permissions:
        named = make_file(settings.policy.permissions, what="The file that SKILLHUB_PERMISSIONS names", required=True)
        own.insert(0, named)
    foreign = os.path.join(project_root, RULES_FILE)
    if os.path.realpath(foreign) in (os.path.realpath(file.path) for file in own):
        return RuleFiles(tuple(own), ())
    of_project = make_file(foreign, what="The project's .skillhub/permissions.json", within=project_root)
    return RuleFiles(tuple(own), (of_project,))


def _visibility(settings: Settings) -> Visibility:
    return Visibility(settings.policy.enabled_skills, settings.policy.enabled_categories)


def make_resolver(
    settings: Settings, cwd: str = "", *, state: AgentsState | None = None, known: KnownFiles | None = None
) -> AgentsResolver:
    """Return the AGENTS.md resolver of a session in `cwd`, or where `settings` say. Raises InvalidSetting.

    A root and markers from the environment override those of the configuration. With a `state` it continues from there;
    `known` is what a session knows that has several working directories.
    """
    from skillhub_mcp.agents_md.configuration import read_config
    from skillhub_mcp.agents_md.resolver import AgentsResolver

    config = read_config(settings.disclosure.agents_config)
    root = config.root
    if settings.skills.project_root:
        root = root.model_copy(update={"projectRootOverride": settings.skills.project_root})
    if settings.skills.markers != DEFAULT_MARKERS or root.markers is None:
        root = root.model_copy(update={"markers": settings.skills.markers})
    return AgentsResolver(
        cwd or settings.skills.cwd or None, config=config.model_copy(update={"root": root}), state=state, known=known
    )


def remember_rule(settings: Settings, act: Action, agreed: ConfirmationRequired) -> None:
    """Add a rule that allows `act`, as the user agreed to it, to the first file of rules. Raises PolicyUnreadable.

    To run commands is allowed of the files that the user was asked about.
    """
    file = rule_files(settings, "").own[0]
    rule = PermissionRule(
        TOOL_ACTIONS.rule_tool(act),
        agreed.rule_name,
        agreed.digest or None,
        network=agreed.network,
        packages=bool(agreed.packages),
    )
    add_rule(file.path, "allow", rule, what=file.what, tools=TOOL_ACTIONS)


def _trust_asking(settings: Settings) -> TrustAsking | None:
    """Return how a client's user is asked whether they trust the project; None where that would change nothing."""
    from skillhub_mcp.server.middleware.trust_question import TrustAsking

    asked = TrustMode(settings.policy.trust) in (TrustMode.LIMITED, TrustMode.ASK)
    return TrustAsking(partial(brought_in, settings), agree_to) if asked else None


def server_options(
    settings: Settings, hub: SkillHub, *, over_http: bool = False, state_key: bytes | None = None
) -> ServerOptions:
    """Return the options of a server over `hub`. Raises InvalidSetting, also for unreadable hooks."""
    from skillhub_mcp.execution.hooks import read_hooks
    from skillhub_mcp.server.app import ContextOptions, ServerOptions

    replica = settings.replica.read_only
    context = ContextOptions(
        lambda: make_catalogues(settings, hub.access),
        settings.disclosure.skill_search_limit,
        settings.disclosure.skill_search_max_limit,
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
        and (settings.execution.enable_run_over_http or not over_http)
        and not replica,
        # What a replica's skills have is the place where they were published from, and none of this machine.
        expose_paths=(settings.disclosure.expose_paths or not over_http) and not replica,
        error_style=settings.disclosure.error_style,
        run_timeout_seconds=settings.execution.timeout_seconds,
        registry_admission=lambda lenient: registry_admission(settings, lenient=lenient),
        context=context if settings.disclosure.skills_enabled and not replica else None,
        make_resolver=lambda cwd, known: make_resolver(settings, cwd, known=known),
        saved_sessions=_beside_index(settings, "sessions"),
        agreements=_beside_index(settings, "agreements"),
        instructions_max_bytes=settings.disclosure.instructions_max_bytes,
        card=_card_options(settings, over_http=over_http),
        remember=lambda act, agreed: remember_rule(settings, act, agreed),
        trust=None if over_http or replica else _trust_asking(settings),
        hooks=read_hooks(settings.execution.hooks) if settings.execution.hooks else (),
        cwd=project_of(settings).cwd,
        publisher=make_publisher(settings, hub),
        # Computing every entry would copy every skill of the publication.
        prewarms=not replica,
    )


def is_stateless(settings: Settings) -> bool:
    """Whether no session is kept in the 2025-11-25 protocol: as is set, and for replicas, any of which may answer."""
    return settings.http.stateless or settings.replica.read_only


def http_options(settings: Settings, *, host: str, port: int, metrics: Prometheus | None = None) -> HttpOptions:
    """Return the options of an HTTP server at an address.

    Raises InvalidSetting, also for a server that would be open to anonymous clients unintentionally, and
    TokensUnreadable.
    """
    from skillhub_mcp.server.http.app import HttpLimits, HttpOptions, WellKnownOptions

    auth = _auth_options(settings.http)
    if auth is None and not settings.http.allow_anonymous:
        _refuse_anonymous(settings, host)
    if settings.http.workers > 1 and not is_stateless(settings):
        raise InvalidSetting(
            "SKILLHUB_WORKERS",
            str(settings.http.workers),
            "requires SKILLHUB_STATELESS=1: only one process knows a session of the 2025-11-25 protocol",
            hint="set SKILLHUB_STATELESS=1, or use one worker",
        )
    public = urlsplit(settings.http.public_url)
    return HttpOptions(
        host=host,
        port=port,
        allowed_hosts=(*settings.http.allowed_hosts, *filter(None, [public.hostname])),
        allowed_origins=(
            *settings.http.allowed_origins,
            *([f"{public.scheme}://{public.netloc}"] if public.netloc else []),
        ),
        public_url=settings.http.public_url,
        metrics=None if metrics is None else metrics.exposition,
        auth=auth,
        trusted_proxies=_trusted_proxies(settings.http),
        rate_limit=settings.http.rate_limit,
        limits=HttpLimits(
            connections=settings.http.max_connections,
            connections_per_address=settings.http.max_connections_per_address,
            backlog=settings.http.backlog,
            header_seconds=settings.http.header_timeout_seconds,
            body_seconds=settings.http.body_timeout_seconds,
            request_bytes=settings.http.max_request_bytes,
            sessions=settings.http.max_sessions,
            sessions_per_caller=settings.http.max_sessions_per_caller,
            session_idle_seconds=settings.http.session_idle_seconds,
        ),
        stateless=is_stateless(settings),
        # Before the first byte of an answer a balancer may ask another replica, and a stream begins before its answer.
        whole_answers=settings.replica.read_only,
        well_known=WellKnownOptions(settings.disclosure.serve_dotfiles) if settings.http.well_known else None,
    )


def _refuse_anonymous(settings: Settings, host: str) -> None:
    """Raise InvalidSetting for a server without tokens that other machines can reach, or that runs commands."""
    hint = "set SKILLHUB_TOKEN, or pass --allow-anonymous if access is restricted by other means"
    if not _is_this_machine(host):
        raise InvalidSetting("--host", host, "can be reached from other machines, and no token is required", hint=hint)
    if settings.execution.enable_run and settings.execution.enable_run_over_http:
        raise InvalidSetting(
            "SKILLHUB_ENABLE_RUN_OVER_HTTP", "1", "allows anyone who can reach the server to run commands", hint=hint
        )


def _trusted_proxies(http: HttpSettings) -> tuple[str, ...]:
    """Return the proxies that are declared: by name, or by a public address with TLS, which a proxy must provide."""
    if http.trusted_proxies is not None:
        return http.trusted_proxies
    return _THIS_MACHINE if urlsplit(http.public_url).scheme == "https" else ()


def _auth_options(http: HttpSettings) -> AuthOptions | None:
    """Return how clients over HTTP authenticate, or None if they need not."""
    if not http.jwt_issuer and (http.jwt_audience or http.jwt_jwks):
        name, value = (
            ("SKILLHUB_JWT_AUDIENCE", http.jwt_audience) if http.jwt_audience else ("SKILLHUB_JWT_JWKS", http.jwt_jwks)
        )
        raise InvalidSetting(name, value, "requires SKILLHUB_JWT_ISSUER, which is not set")
    if not (http.token or http.tokens_file or http.jwt_issuer):
        return None
    from skillhub_mcp.server.http.auth import AuthOptions

    tokens = tokens_file(http.tokens_file) if http.tokens_file else None
    if tokens is not None:
        # An unusable file is reported at startup, not by refusing every client.
        tokens.read()
    jwt = _jwt_options(http) if http.jwt_issuer else None
    return AuthOptions(token=http.token, tokens=tokens, jwt=jwt, public_url=http.public_url)


def _jwt_options(http: HttpSettings) -> JwtOptions:
    from skillhub_mcp.server.http.auth import JwtOptions

    if not http.jwt_audience:
        raise InvalidSetting(
            "SKILLHUB_JWT_ISSUER",
            http.jwt_issuer,
            "requires SKILLHUB_JWT_AUDIENCE; without it, a token issued for another service would be accepted here",
            hint="set SKILLHUB_JWT_AUDIENCE to the issuer's claim aud for this server, such as the server's URL",
        )
    jwks = http.jwt_jwks or f"{http.jwt_issuer.rstrip('/')}/.well-known/jwks.json"
    url = urlsplit(jwks)
    if url.scheme != "https" and not _is_this_machine(url.hostname or ""):
        name, value = ("SKILLHUB_JWT_JWKS", jwks) if http.jwt_jwks else ("SKILLHUB_JWT_ISSUER", http.jwt_issuer)
        raise InvalidSetting(name, value, "must start with https://: keys changed in transit could sign any token")
    return JwtOptions(http.jwt_issuer, http.jwt_audience, jwks)


def _is_this_machine(host: str) -> bool:
    """Whether `host` is a loopback address, or a name that resolves to such only."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)


def _card_options(settings: Settings, *, over_http: bool) -> CardOptions:
    from skillhub_mcp.server.middleware.instructions import CardOptions

    project, home = project_of(settings).root, os.path.realpath(os.path.expanduser("~"))
    # The working directory of an HTTP server is not its clients' project unless a setting says so, and a home directory
    # is no project either.
    chosen = settings.skills.cwd or settings.skills.project_root
    return CardOptions(
        settings.disclosure.card,
        project=project if project != home and (chosen or not over_http) else "",
        used_before=lambda day: (
            skills_loaded_before(settings.observability.usage_log, day) if settings.observability.usage_log else ()
        ),
    )


def make_publisher(settings: Settings, hub: SkillHub) -> Publisher:
    """Return the publisher of the skills of `hub` to hosts that read them natively. Reads no files yet."""
    kept = EntryCache(_beside_index(settings, PUBLICATION_FILE))
    return Publisher(hub, kept, serve_dotfiles=settings.disclosure.serve_dotfiles, files_of=hub.files_of)


def make_metrics(settings: Settings, *, shared: str = "") -> Prometheus | None:
    """Return the Prometheus metrics, or None if they are off.

    `shared` is the directory through which the processes of one server share their counts.
    """
    if not settings.observability.metrics:
        return None
    if shared:
        # The library reads this variable, and nothing else, when it is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
    from skillhub_mcp.observers.prometheus import Prometheus

    return Prometheus(shared=shared)


def log_library(hub: SkillHub, settings: Settings) -> None:
    """Let the log tell what a server refuses, what lost its name and what cannot be searched, after each sync.

    And what filters, rules and tokens name that is not there; and once, which skills are here and not searched, and
    which of the person's own files others may read.
    """
    for problem in exposed_files(settings)[1]:
        log.warning("%s", problem.sentence())
    library = LibraryLog(partial(_readable_name_problems, settings), partial(_elsewhere, settings))

    def tell() -> None:
        view = hub.peek()
        if view is not None:
            library.report(view.snapshot)

    hub.on_sync(tell)


def log_start(hub: SkillHub, *, http: HttpOptions | None = None, address: str = "") -> None:
    """Let the log tell once, when the skills are first known, how many there are, where, and of how many tokens.

    `address` is the URL of /mcp at this machine, and `http` None over stdio. As long as the rules cannot be read,
    nothing is served, and nothing is told.
    """
    facts: dict[str, object] = {"transport": "stdio"}
    if http is not None:
        facts = {"transport": "http", "tokens": 0, "address": address}
        if http.auth is not None:
            named = http.auth.tokens.read() if http.auth.tokens is not None else None
            facts["tokens"] = (1 if http.auth.token else 0) + (len(named.tokens) if named is not None else 0)
            facts |= {"issuer": http.auth.jwt.issuer} if http.auth.jwt is not None else {}
        facts |= {"public_address": http.public_url} if http.public_url else {}
    start = StartLog(facts)

    def tell() -> None:
        view = hub.peek()
        if view is None or start.told:
            return
        with suppress(PolicyUnreadable):
            start.report(count_skills(view.snapshot, hub.access.now()).served)

    hub.on_sync(tell)


def _readable_name_problems(settings: Settings, snapshot: Snapshot) -> tuple[Problem, ...]:
    """Return the `name_problems`; none of files that cannot be read, which is reported where they are used."""
    try:
        return name_problems(settings, snapshot)
    except PolicyUnreadable:
        return ()


def make_observer(settings: Settings, *, serving: bool, metrics: Prometheus | None = None) -> Observer:
    """Return the observer of a hub: for a server its log and the audit, for a command only what the settings ask for.

    If the program has configured an OpenTelemetry SDK before, spans and metrics are recorded with it too.
    """
    observers: list[Observer] = []
    if "opentelemetry" in sys.modules:
        from skillhub_mcp.observers.open_telemetry import OpenTelemetry, is_configured

        observers += [OpenTelemetry()] if is_configured() else []
    if metrics is not None:
        observers.append(metrics)
    if serving:
        observers.append(AccessLog())
    if serving or settings.observability.audit_log:
        file = (
            JsonLinesLog(settings.observability.audit_log, label="The audit log")
            if settings.observability.audit_log
            else None
        )
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
    for_shell: bool = False,
) -> SkillHub:
    """Return the hub that `settings` describe. Reads no skill yet and imports no heavy library.

    With `background`, for a server, a thread keeps it fresh; without, for a command, it looks for changes once. By
    default a server `asks` for consent where no rule allows or denies something, and a command does not, since its user
    typed it. `observer` defaults to that of `make_observer`. With `for_shell` errors name what is typed in a shell, and
    paths. Raises InvalidSetting, and for a publication in a bucket StorageNotInstalled.
    """
    observer = observer or make_observer(settings, serving=background)
    asks = background if asks is None else asks
    if settings.replica.read_only:
        return _replica_hub(
            settings, background=background, asks=asks, progress=progress, observer=observer, for_shell=for_shell
        )
    if os.path.isfile(os.path.join(settings.index.db_path, _PUBLISHED)):
        raise InvalidSetting(
            "DB_PATH",
            settings.index.db_path,
            "is a publication, in which no index is written",
            hint="set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it, or set DB_PATH to another path",
        )
    found = something_else(settings.index.db_path)
    if found is not None:
        raise InvalidSetting(
            "DB_PATH",
            settings.index.db_path,
            f"is a directory that has something else in it ({found!r}), and no index",
            hint="set DB_PATH to a directory that is empty or not there yet, such as "
            + os.path.join(settings.index.db_path, "skills.lancedb"),
        )
    unreadable = recorded_roots_problem()
    if unreadable is not None:
        log.warning("%s", unreadable.sentence())
    roots = roots_of(settings)
    index_progress = IndexProgress(progress)
    embedder = _QueryEmbedder(choose_embedder(settings))
    automatic = not settings.index.skip_auto_reindex
    trust = project_trust(settings)
    _mend_interrupted(roots, trust)
    index_sync = IndexSync(
        roots,
        Indexer(
            settings.index.db_path,
            roots,
            embedder=embedder.chosen,
            # A provider that fails at indexing is not asked at the next search either: nobody waits for it twice.
            embedding=EmbeddingOptions(on_failure=embedder.breaker.record_failure),
            progress=index_progress.report,
        ),
        make_spare=lambda: Indexer(IN_MEMORY, roots, embedder=None),
        automatic=automatic,
        admission=STRICT if settings.skills.strict else LENIENT,
        observer=observer,
        progress=index_progress.report,
        judge=trust.judged,
    )
    live = LiveIndex(
        roots,
        index_sync,
        automatic=automatic,
        background=background,
        observer=observer,
        progress=index_progress,
        choose_roots=RootsFollower(settings, roots, trust),
    )
    auditor = make_auditor(settings)
    if auditor is not None and background:
        live.on_sync(partial(_audit_behind, auditor, live))
    return _hub_over(live, settings, embedder, auditor=auditor, asks=asks, observer=observer, for_shell=for_shell)


def _mend_interrupted(roots: Sequence[SkillRoot], trust: ProjectTrust) -> None:
    """Complete or take back what a killed command left in a root. Costs one look at one path for each root.

    A project that its person has not agreed to has nothing done in it: its journal may have come with it.
    """
    for root in roots:
        if has_journal(root.path) and not any(one.trust.is_awaited for one in trust.judged((root,))):
            from skillhub_mcp.library.changes.recovery import recover

            try:
                recover(root.path)
            except LibraryUnwritable as error:
                log.warning("A change of %s was interrupted. %s. %s", root.path, error.message, error.hint)


def _replica_hub(
    settings: Settings,
    *,
    background: bool,
    asks: bool,
    progress: ProgressCallback,
    observer: Observer,
    for_shell: bool,
) -> SkillHub:
    """Return the hub over a publication. Raises StorageNotInstalled, and InvalidSetting for its options."""
    from skillhub_mcp.replicas.mirror import Mirror, pointer_name
    from skillhub_mcp.replicas.replica import PATIENCE, Replica, ReplicaOptions

    embedder = _QueryEmbedder(choose_embedder(settings))
    replica = Replica(
        publication_store(settings, settings.index.db_path, patience=PATIENCE),
        Mirror(
            mirror_directory(settings),
            most_bytes=settings.replica.mirror_max_bytes,
            pointer=pointer_name(settings.replica.snapshot),
        ),
        ReplicaOptions(
            pinned=settings.replica.snapshot,
            refresh_seconds=settings.replica.refresh_seconds,
            embedding=NO_EMBEDDING if embedder.chosen is None else embedder.chosen.identity,
            admission=STRICT if settings.skills.strict else LENIENT,
        ),
        background=background,
        progress=IndexProgress(progress),
        observer=observer,
    )
    auditor = make_auditor(settings, files_of=replica.files_of)
    if auditor is not None and background and auditor.blocks:
        # Elsewhere each is audited when it is loaded: here that would copy every skill of the publication.
        replica.on_sync(partial(_audit_behind, auditor, replica))
    return _hub_over(
        replica,
        settings,
        embedder,
        auditor=auditor,
        asks=asks,
        observer=observer,
        for_shell=for_shell,
        files_of=replica.files_of,
        publication=replica.health,
    )


def mirror_directory(settings: Settings) -> str:
    """Return the directory of the mirror of the publication that `settings` name: each publication has its own."""
    name = hashlib.sha256(settings.index.db_path.encode("utf-8", "surrogateescape")).hexdigest()[:_MIRROR_DIGITS]
    return os.path.join(settings.replica.mirror_dir, name)


class _QueryEmbedder:
    """The embedder that was chosen, if one was, and the breaker that keeps queries from one that fails."""

    def __init__(self, chosen: Embedder | None) -> None:
        self.chosen = chosen
        self.breaker = CircuitBreaker(PROVIDER_REST_SECONDS)


def _hub_over(
    views: ViewProvider,
    settings: Settings,
    embedder: _QueryEmbedder,
    *,
    auditor: Auditor | None,
    asks: bool,
    observer: Observer,
    for_shell: bool,
    files_of: FilesOf = own_directory,
    publication: Callable[[], PublicationHealth] | None = None,
) -> SkillHub:
    kept = _Kept(settings, for_shell=for_shell)
    access = make_access(settings, asks=asks, auditor=auditor, kept=kept)
    usage = UsageLog(settings.observability.usage_log) if settings.observability.usage_log else None
    search_tool = "`skillhub search`" if for_shell else "search_skills" if "core" in settings.disclosure.tools else ""
    lookup = SkillLookup(views, access, search_tool=search_tool)
    return SkillHub(
        views,
        access=access,
        engine=SearchEngine(
            views,
            access,
            Searcher(
                mode=SearchMode(settings.search.mode),
                fields=frozenset(settings.search.fields),
                embedder=embedder.chosen,
                embedder_breaker=embedder.breaker,
                model=_reranker(settings),
                observer=observer,
            ),
            SearchOptions(settings.search.limit, settings.search.threshold, settings.search.confidence),
            usage=usage,
            observer=observer,
        ),
        lookup=lookup,
        reader=SkillReader(
            lookup,
            files=ReadLimits(
                max_bytes=settings.disclosure.max_file_bytes, serve_dotfiles=settings.disclosure.serve_dotfiles
            ),
            max_body_bytes=settings.disclosure.max_body_bytes,
            files_of=files_of,
            usage=usage,
            observer=observer,
            auditor=auditor,
        ),
        commands=cache(partial(_command_options, settings)),
        elsewhere=partial(_elsewhere, settings),
        observer=observer,
        auditor=auditor,
        files_of=files_of,
        publication=publication,
        kept=None if settings.replica.read_only else kept,
        on_close=kept.close,
    )


def _command_options(settings: Settings) -> CommandOptions:
    from skillhub_mcp.execution.command_policy import CommandPolicy  # only servers that run commands pay for it
    from skillhub_mcp.execution.outputs import Outputs
    from skillhub_mcp.execution.runner import reduced_environment
    from skillhub_mcp.execution.script_environments import ScriptEnvironments
    from skillhub_mcp.execution.skill_command import CommandOptions

    outputs, environments = _beside_index(settings, "outputs"), _beside_index(settings, "environments")
    kept = ("~/.skillhub", os.path.abspath(settings.index.db_path), outputs, environments)
    return CommandOptions(
        CommandPolicy(settings.execution.allowed_commands),
        run_limits(settings),
        environment=lambda: reduced_environment(os.environ),
        own_environment=lambda: os.environ,
        sandbox=chosen_sandbox(settings),
        outputs=Outputs(outputs, settings.execution.output_dirs),
        environments=ScriptEnvironments(environments),
        hidden=tuple(map(os.path.expanduser, kept)),
    )


def forget_kept(settings: Settings, is_forgotten: Callable[[str], bool]) -> None:
    """Drop what is kept beside the index of the directories that are forgotten: audits, digests, published entries.

    Each is a cache, so that nothing is lost where this is stopped in between. Raises OSError.
    """
    from skillhub_mcp.auditing.kept import KEPT_FILE as KEPT_AUDITS
    from skillhub_mcp.auditing.kept import KeptFile
    from skillhub_mcp.locks.kept_digests import KEPT_FILE, KeptDigests

    KeptFile(_beside_index(settings, KEPT_AUDITS)).forget(is_forgotten)
    for kept in (
        KeptDigests(_beside_index(settings, KEPT_FILE)),
        EntryCache(_beside_index(settings, PUBLICATION_FILE)),
    ):
        kept.forget(is_forgotten)
        kept.close()


def _beside_index(settings: Settings, name: str) -> str:
    if settings.replica.read_only:
        return os.path.join(mirror_directory(settings), name)
    return os.path.join(os.path.dirname(os.path.abspath(settings.index.db_path)), name)


def run_limits(settings: Settings) -> RunLimits:
    """Return what one command of a skill may take."""
    from skillhub_mcp.execution.runner import RunLimits
    from skillhub_mcp.execution.sandbox.model import ResourceLimits

    execution = settings.execution
    return RunLimits(
        execution.timeout_seconds,
        execution.max_output_bytes,
        ResourceLimits(
            cpu_seconds=execution.max_cpu_seconds,
            memory_bytes=execution.max_memory_bytes,
            open_files=execution.max_open_files,
            processes=execution.max_processes,
            file_bytes=execution.max_written_file_bytes,
        ),
    )


def chosen_sandbox(settings: Settings) -> Callable[[], Sandbox]:
    """Return a function for the sandbox of commands, which is chosen once. It raises SandboxUnavailable."""
    kept = cache(_chosen_sandbox)

    def sandbox() -> Sandbox:
        return kept(settings.execution.sandbox)()

    return sandbox


def _chosen_sandbox(setting: str) -> ChosenSandbox:
    from skillhub_mcp.execution.sandbox.choice import ChosenSandbox  # only servers that run commands pay for it

    return ChosenSandbox(setting)


def _audit_behind(auditor: Auditor, live: ViewProvider) -> None:
    view = live.peek()
    if view is not None:
        auditor.follow(view.snapshot.everything)


def publication_store(settings: Settings, target: str, *, patience: Patience | None = None) -> ObjectStore:
    """Return the store of the publication at `target`: a directory or a bucket. Nothing is read or written yet.

    Without `patience` it has that of whoever publishes.

    Raises InvalidArgument for a target that is neither, StorageNotInstalled and InvalidSetting.
    """
    # Only who publishes, or serves a publication, pays for it.
    from skillhub_mcp.storage.object_store import PATIENT
    from skillhub_mcp.storage.targets import open_store

    return open_store(target, settings.storage.options, patience or PATIENT)


def library_to_publish(settings: Settings, hub: SkillHub) -> LibraryToStore:
    """Bring the index up to date and return what of the library is published.

    Raises IndexUnavailable where there is no index to publish, or another process has changed it since.
    """
    # Only who publishes pays for it.
    from skillhub_mcp.storage.library import IndexToStore, labels_of, library_to_store

    view = hub.refresh()
    embedder = choose_embedder(settings)
    identity = IndexIdentity.of(settings.index.db_path, NO_EMBEDDING if embedder is None else embedder.identity)
    files = identity.find()
    state = None if files is None else load_state(files.state_path)
    if view.problem is not None:
        raise view.problem
    if view.snapshot.report.unavailable:
        missing = view.snapshot.report.unavailable[0]
        raise IndexUnavailable(
            f"Skills cannot be published without those of {missing.path}, which {missing.reason}",
            hint="bring it back, or drop its skills with skillhub index --forget-missing",
        )
    if view.index is None or state is None or state.published != (view.index.table_id, view.index.version):
        raise IndexUnavailable("The index changed while it was to be published", hint="publish again")
    memory = state.memory
    return library_to_store(
        view.snapshot,
        hub.access.now(),
        IndexToStore(view.index, state.schema, state.embedder, state.embedding),
        labels=labels_of(view.snapshot.report.roots, {path: own.label for path, own in state.roots.items()}),
        shapes=lambda directory: memory[directory].shape if directory in memory else NO_SHAPE,
    )


def publication_rows(settings: Settings, target: str, store: ObjectStore) -> Callable[[Callable[[], None]], LanceRows]:
    """Return what makes the LanceDB table of the publication at `target`, given what it calls before each write."""
    from skillhub_mcp.storage.lance_rows import LanceRows
    from skillhub_mcp.storage.targets import is_bucket

    uri, options = f"{store.name}/lance", settings.storage.options if is_bucket(target) else {}
    return lambda check: LanceRows(store.name, uri, options, check=check)


def choose_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that `settings` choose, or None. Imports no SDK, loads no model and sends no request."""
    provider = settings.embedding.provider
    if provider == "local" or (provider == "auto" and local.is_installed()):
        return local.LocalEmbedder()
    if provider == "onnx":
        from skillhub_mcp.embedders.onnx import OnnxEmbedder  # only who has a model pays for it

        return OnnxEmbedder(settings.embedding.model_dir)
    if provider not in ("openai", "gemini"):
        return None
    return make_embedder(
        EmbedderOptions(
            provider=provider,
            model=settings.embedding.model or None,
            api_key=settings.embedding.api_key,
            base_url=settings.embedding.base_url or None,
        )
    )


def _reranker(settings: Settings) -> Reranker | None:
    if settings.search.rerank == "local":
        from skillhub_mcp.search.rerankers.local import LocalReranker  # only who has a model pays for it

        return LocalReranker(settings.search.rerank_model_dir)
    if settings.search.rerank == "off" or settings.embedding.provider not in ("openai", "gemini"):
        return None
    return make_reranker(
        settings.embedding.provider,
        model=settings.search.rerank_model or None,
        api_key=settings.embedding.api_key,
        base_url=settings.embedding.base_url or None,
    )
