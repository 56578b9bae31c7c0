"""The options of a server over a hub, over stdio and over HTTP, and its log."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillhub_mcp.bootstrap.library import (
    agree_to,
    beside_index,
    brought_in,
    make_catalogues,
    name_problems,
    registry_admission,
    remember_rule,
    unsearched_problems,
)
from skillhub_mcp.chosen_roots import names_project, project_while_serving
from skillhub_mcp.disclosure.listing import count_skills
from skillhub_mcp.disclosure.skill_loaded import FOLLOW
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting, PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.observers.logs import LibraryLog
from skillhub_mcp.policy.files import TOKENS
from skillhub_mcp.project import DEFAULT_MARKERS
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.settings import TOKEN_USES, HttpSettings, Settings
from skillhub_mcp.skills.model import Problem
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.usage import TokenUses

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.known import KnownFiles
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.execution.hooks import Hook
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.server.http.app import HttpOptions
    from skillhub_mcp.server.http.auth import AuthOptions, JwtOptions
    from skillhub_mcp.server.options import ServerOptions

_start = logging.getLogger("skillhub_mcp.start")


def make_resolver(settings: Settings, cwd: str = "", *, known: KnownFiles | None = None) -> AgentsResolver:
    """Return the AGENTS.md resolver of a session in `cwd`, or where `settings` say. Raises InvalidSetting."""
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import read_config

    config = read_config(settings.disclosure.agents_config)
    root = config.root
    if settings.skills.project_root:
        root = root.model_copy(update={"projectRootOverride": settings.skills.project_root})
    if settings.skills.markers != DEFAULT_MARKERS or root.markers is None:
        root = root.model_copy(update={"markers": settings.skills.markers})
    return AgentsResolver(
        cwd or settings.skills.cwd or None, config=config.model_copy(update={"root": root}), known=known
    )


def server_options(
    settings: Settings,
    hub: SkillHub,
    *,
    over_http: bool = False,
    state_key: bytes | None = None,
    agreements: str = "",
) -> ServerOptions:
    """Return the options of a server over `hub`. Raises InvalidSetting, also for unreadable hooks."""
    from skillhub_mcp.server.options import ServerOptions, TrustAsking

    replica = settings.replica.read_only
    has_context = "context" in settings.disclosure.tools and settings.disclosure.skills_enabled and not replica
    asks_for_trust = settings.policy.trust in ("limited", "ask") and not (over_http or replica)
    hooks: Sequence[Hook] = ()
    if settings.execution.hooks:
        from skillhub_mcp.execution.hooks import read_hooks

        hooks = read_hooks(settings.execution.hooks)
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
        catalogues=make_catalogues(settings, hub.access, hub.views.snapshot) if has_context else None,
        context_limit=settings.disclosure.skill_search_limit,
        make_resolver=lambda cwd, known: make_resolver(settings, cwd, known=known),
        saved_sessions=beside_index(settings, "sessions"),
        agreements=agreements,
        closing=FOLLOW[settings.disclosure.closing],
        card=settings.disclosure.card,
        card_project=partial(_card_project, settings, over_http=over_http),
        remember=remember_rule,
        trust=TrustAsking(partial(brought_in, settings), agree_to) if asks_for_trust else None,
        hooks=hooks,
        project=partial(project_while_serving, settings),
        client=None if over_http or replica or names_project(settings) or settings.client.paths else settings.client,
        publisher=Publisher(hub, serve_dotfiles=settings.disclosure.serve_dotfiles, files_of=hub.files_of),
    )


def _card_project(settings: Settings, *, over_http: bool) -> str:
    """Return the project that the card describes; over HTTP only one that a setting names."""
    project = project_while_serving(settings)
    return project.root if project.exists and (names_project(settings) or not over_http) else ""


def is_stateless(settings: Settings) -> bool:
    """Whether no session is kept in the 2025-11-25 protocol: of several workers or replicas, any may answer."""
    return settings.http.workers > 1 or settings.replica.read_only


def http_options(settings: Settings, *, host: str, port: int, metrics: Prometheus | None = None) -> HttpOptions:
    """Return the options of an HTTP server at an address. Raises InvalidSetting and PolicyUnreadable."""
    from skillhub_mcp.server.http.app import HttpOptions

    http = settings.http
    uses = None if settings.observability.usage == "off" else TokenUses(expand_home(TOKEN_USES))
    auth = _auth_options(http, uses)
    if auth is None and not http.allow_anonymous:
        _refuse_anonymous(settings, host)
    public = urlsplit(http.public_url)
    # A public address with TLS implies a proxy on this machine, since this server has no TLS.
    proxies = http.trusted_proxies
    if proxies is None:
        proxies = ("127.0.0.1", "::1") if public.scheme == "https" else ()
    return HttpOptions(
        host=host,
        port=port,
        allowed_hosts=(*http.allowed_hosts, *filter(None, [public.hostname])),
        allowed_origins=(*http.allowed_origins, *([f"{public.scheme}://{public.netloc}"] if public.netloc else [])),
        public_url=http.public_url,
        metrics=None if metrics is None else metrics.exposition,
        auth=auth,
        trusted_proxies=proxies,
        rate_limit=http.rate_limit,
        max_connections=http.max_connections,
        stateless=is_stateless(settings),
        # A balancer may ask another replica only before the first byte of an answer, and a stream sends that early.
        whole_answers=settings.replica.read_only,
        well_known=http.well_known,
        serve_dotfiles=settings.disclosure.serve_dotfiles,
    )


def log_library(hub: SkillHub, settings: Settings) -> None:
    """Log after each sync the problems that are new, and once the skills that need attention."""

    def named(snapshot: Snapshot) -> Sequence[Problem]:
        # A file that cannot be read is reported where it is used.
        with suppress(PolicyUnreadable):
            return name_problems(settings, snapshot)
        return ()

    library = LibraryLog(named, partial(unsearched_problems, settings))

    def report(_: bool) -> None:
        if view := hub.views.peek():
            library.report(view.snapshot)

    hub.views.subscribe(report)


def log_start(hub: SkillHub, settings: Settings, *, http: HttpOptions | None = None, address: str = "") -> None:
    """Log once how many skills are served, of which project, and over HTTP at which address."""
    facts: dict[str, object] = {"transport": "stdio"}
    if http is not None:
        facts = {"transport": "http", "tokens": 0, "address": address}
        if http.auth is not None:
            named = http.auth.tokens.read() if http.auth.tokens else None
            facts["tokens"] = bool(http.auth.token) + (len(named.tokens) if named else 0)
            if http.auth.jwt is not None:
                facts["issuer"] = http.auth.jwt.issuer
        if http.public_url:
            facts["public_address"] = http.public_url
    is_logged = threading.Event()

    def report(_: bool) -> None:
        view = hub.views.peek()
        if view is None or is_logged.is_set():
            return
        project = project_while_serving(settings)
        named = {} if settings.replica.read_only else {"project": project.root if project.exists else "none"}
        with suppress(PolicyUnreadable):
            served = count_skills(view.snapshot, hub.access.now()).served
            is_logged.set()
            _start.info("Ready", extra={"skills": served, **facts, **named})

    hub.views.subscribe(report)


def _refuse_anonymous(settings: Settings, host: str) -> None:
    """Raise InvalidSetting for a server without tokens that other machines can reach, or that runs commands."""
    hint = "set SKILLHUB_TOKEN, or pass --allow-anonymous if access is restricted by other means"
    if not _is_this_machine(host):
        raise InvalidSetting("--host", host, "can be reached from other machines, and no token is required", hint=hint)
    if settings.execution.enable_run and settings.http.enable_run_over_http:
        reason = "allows anyone who can reach the server to run commands"
        raise InvalidSetting("--enable-run-over-http", "1", reason, hint=hint)


def _auth_options(http: HttpSettings, uses: TokenUses | None) -> AuthOptions | None:
    """Return how clients over HTTP authenticate, or None if they need not."""
    named = {"SKILLHUB_JWT_AUDIENCE": http.jwt_audience, "SKILLHUB_JWT_JWKS": http.jwt_jwks}
    for name, value in named.items():
        if value and not http.jwt_issuer:
            raise InvalidSetting(name, value, "requires SKILLHUB_JWT_ISSUER, which is not set")
    if not (http.token or http.tokens_file or http.jwt_issuer):
        return None
    from skillhub_mcp.server.http.auth import AuthOptions

    tokens = TOKENS.file(http.tokens_file, required=True) if http.tokens_file else None
    if tokens is not None:
        # An unusable file is reported at startup, not by refusing every client.
        tokens.read()
    jwt = _jwt_options(http) if http.jwt_issuer else None
    return AuthOptions(token=http.token, tokens=tokens, jwt=jwt, public_url=http.public_url, uses=uses)


def _jwt_options(http: HttpSettings) -> JwtOptions:
    from skillhub_mcp.server.http.auth import JwtOptions

    if not http.jwt_audience:
        reason = "requires SKILLHUB_JWT_AUDIENCE; without it, a token issued for another service would be accepted here"
        hint = "set SKILLHUB_JWT_AUDIENCE to the issuer's claim aud for this server, such as the server's URL"
        raise InvalidSetting("SKILLHUB_JWT_ISSUER", http.jwt_issuer, reason, hint=hint)
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
