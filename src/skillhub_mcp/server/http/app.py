"""The HTTP application: /healthz, and the other routes behind the guard of Host and Origin."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.callers import caller_may_run, caller_visibility
from skillhub_mcp.server.http.leniency import LenientRequests
from skillhub_mcp.server.http.pages import (
    MCP_PATH,
    Exposition,
    LegibleRefusals,
    Refusals,
    metrics_route,
    readiness_route,
)
from skillhub_mcp.server.http.rate_limit import RateLimit, TokenBuckets
from skillhub_mcp.server.http.shutdown import DisconnectOnShutdown, GracefulServer, exit_cleanly_on_sigterm
from skillhub_mcp.server.notifications import ChangeNotifier

if TYPE_CHECKING:
    from skillhub_mcp.server.http.auth import AuthOptions

log = logging.getLogger(__name__)

# Shorter than the ten seconds that Docker waits before it kills.
GRACE_SECONDS = 8
HEALTH_PATH = "/healthz"
# How many connections may wait to be accepted.
_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where to listen, and which Host and Origin headers besides this machine's own to accept.

    `public_url` is the URL of /mcp for clients. `metrics` returns the content of /metrics. A `rate_limit` of 0 is none.
    A `stateless` server has no sessions in the 2025-11-25 protocol. With `whole_answers` no call is answered by an
    event stream. With `well_known` others can install the skills.
    """

    host: str
    port: int
    allowed_hosts: Sequence[str]
    allowed_origins: Sequence[str]
    public_url: str = ""
    metrics: Exposition | None = None
    auth: AuthOptions | None = None
    trusted_proxies: Sequence[str] = ()
    rate_limit: int = 0
    max_connections: int = 512
    stateless: bool = False
    whole_answers: bool = False
    well_known: bool = False
    serve_dotfiles: bool = False


def make_http_app(server: FastMCP, hub: SkillHub, options: HttpOptions) -> DisconnectOnShutdown:
    """Return the whole ASGI application. With authentication, the hub serves each bearer their own skills."""
    if options.auth is not None:
        from skillhub_mcp.server.http.auth import HubTokenVerifier

        server.auth = HubTokenVerifier(options.auth)
        hub.access.narrow_by(caller_visibility, may_run=caller_may_run)
    rate_limit = [Middleware(RateLimit, buckets=TokenBuckets(options.rate_limit))] if options.rate_limit else []
    guarded = server.http_app(
        path=MCP_PATH,
        middleware=[*rate_limit, Middleware(LenientRequests)],
        stateless_http=options.stateless,
        json_response=options.whole_answers,
        host_origin_protection=True,
        allowed_hosts=list(options.allowed_hosts),
        allowed_origins=list(options.allowed_origins),
    )
    guarded.router.redirect_slashes = False
    refusals = Refusals(options.public_url, options.auth)
    guarded.router.routes.append(readiness_route(server, hub, refusals))
    if options.metrics is not None:
        guarded.router.routes.append(metrics_route(server, options.metrics, refusals))
    if options.well_known:
        from skillhub_mcp.server.http.well_known import well_known_routes

        guarded.router.routes += well_known_routes(server, hub, refusals, serve_dotfiles=options.serve_dotfiles)
    mounted: ASGIApp = LegibleRefusals(guarded, refusals)
    if options.allowed_origins:
        # A browser sends preflight requests without a token, so CORS comes before authentication.
        mounted = CORSMiddleware(
            mounted,
            allow_origins=options.allowed_origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=("Mcp-Session-Id", "WWW-Authenticate", "Retry-After"),
        )
    # Whatever checks the server's health may address it by any name.
    health = Route(HEALTH_PATH, _healthz)
    whole = Starlette(routes=[health, Mount("/", app=mounted)], lifespan=guarded.lifespan)

    notifier = next(one for one in server.middleware if isinstance(one, ChangeNotifier))
    return DisconnectOnShutdown(whole, end_subscriptions=notifier.end_streams)


async def _healthz(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def serve_http(
    server: FastMCP, hub: SkillHub, options: HttpOptions, *, on_listening: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until the process is stopped; `on_listening` is first given the URL of /mcp.

    Raises InvalidSetting for an address that cannot be used.
    """
    exit_cleanly_on_sigterm()
    with listening(options) as listener:
        on_listening(url_of(listener))
        make_uvicorn(make_http_app(server, hub, options), options).run(sockets=[listener])


def make_uvicorn(app: DisconnectOnShutdown, options: HttpOptions) -> GracefulServer:
    """Return the uvicorn server that runs the application."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http="h11",
        ws="none",  # MCP uses no WebSockets, so their library is not loaded
        server_header=False,
        forwarded_allow_ips=list(options.trusted_proxies),
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=options.max_connections + 1,  # uvicorn refuses from this number on
    )
    return GracefulServer(config, app)


@contextmanager
def listening(options: HttpOptions) -> Iterator[socket.socket]:
    """Listen at the address, and log it. Raises InvalidSetting for one that cannot be used."""
    host, port = options.host, options.port
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise InvalidSetting("--host", host, f"cannot be used: {error.strerror or error}") from error
    try:
        # From here on a client that knows the address waits to be served, and is not refused.
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            hint = "127.0.0.1 is for this machine alone, 0.0.0.0 for every address that it has"
            raise InvalidSetting("--host", host, "is not an address of this machine", hint=hint) from error
        raise InvalidSetting(
            "--port", str(port), f"is not available at {host}: {error.strerror}", hint="choose another port"
        ) from error
    with listener:
        log.info("Serving MCP at %s", url_of(listener))
        yield listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of /mcp at the address where `listener` listens."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}{MCP_PATH}"
