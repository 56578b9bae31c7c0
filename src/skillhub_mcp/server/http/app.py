"""How is the server reached over HTTP? /mcp behind the Host and Origin guard; /healthz, /readyz, /metrics before it."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
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

from skillhub_mcp.errors import InvalidSetting, PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.http.callers import caller_visibility
from skillhub_mcp.server.http.metrics import Exposition, metrics_route
from skillhub_mcp.server.http.rate_limit import Buckets, RateLimit, RequestSize
from skillhub_mcp.server.http.shutdown import DisconnectOnShutdown, GracefulServer, end_well_when_told
from skillhub_mcp.server.resources.list_changed import ListChangedNotifier

if TYPE_CHECKING:
    from skillhub_mcp.server.http.auth import AuthOptions

log = logging.getLogger(__name__)

# Shorter than the ten seconds that Docker waits before it kills.
GRACE_SECONDS = 8
_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where to listen, and which Host and Origin headers besides this machine's own are welcome.

    `metrics` is what /metrics tells; None for no such path. `auth` says who is let in; None is everybody. The headers
    of `trusted_proxies`, addresses or networks, say whom they speak for. A `rate_limit` of 0 is none. A `stateless`
    server keeps no sessions of the older era.
    """

    host: str
    port: int
    allowed_hosts: Sequence[str]
    allowed_origins: Sequence[str]
    metrics: Exposition | None = None
    auth: AuthOptions | None = None
    trusted_proxies: Sequence[str] = ()
    rate_limit: int = 0
    max_request_bytes: int = 1_048_576
    stateless: bool = False


def make_http_app(server: FastMCP, hub: SkillHub, options: HttpOptions) -> DisconnectOnShutdown:
    """Return the whole ASGI application. Where tokens are asked for, the hub serves each bearer what is theirs."""
    if options.auth is not None:
        from skillhub_mcp.server.http.auth import HubTokenVerifier

        server.auth = HubTokenVerifier(options.auth)
        hub.access.narrow_by(caller_visibility)
    limiting = [Middleware(RateLimit, buckets=Buckets(options.rate_limit))] if options.rate_limit else []
    guarded = server.http_app(
        path="/mcp",
        middleware=limiting,
        stateless_http=options.stateless,
        host_origin_protection=True,
        allowed_hosts=list(options.allowed_hosts),
        allowed_origins=list(options.allowed_origins),
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with guarded.lifespan(app):
            yield

    probes = _probes(server, hub)
    if options.metrics is not None:
        probes.append(metrics_route(server, options.metrics))
    reached: ASGIApp = guarded
    if options.allowed_origins:
        # A browser asks beforehand, without a token, and shows a page only what it is told it may.
        reached = CORSMiddleware(
            guarded,
            allow_origins=options.allowed_origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=("Mcp-Session-Id", "WWW-Authenticate", "Retry-After"),
        )
    whole = Starlette(routes=[*probes, Mount("/", app=reached)], lifespan=lifespan)

    def stop_listening() -> None:
        for announcer in server.middleware:
            if isinstance(announcer, ListChangedNotifier):
                announcer.end_streams()

    return DisconnectOnShutdown(RequestSize(whole, options.max_request_bytes), stop_listening=stop_listening)


def _probes(server: FastMCP, hub: SkillHub) -> list[Route]:
    """Return what stands outside the guard, because a probe addresses the server by its IP."""

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def readyz(request: Request) -> JSONResponse:
        if server.auth is None or request.user.is_authenticated:
            return readiness(hub)
        if "authorization" in request.headers:
            # Else a token could be tried here by who is not let try it at /mcp.
            return JSONResponse({"index": "not told"}, status_code=401, headers={"www-authenticate": "Bearer"})
        return readiness(hub, to_a_stranger=True)

    bearers = [] if server.auth is None else server.auth.get_middleware()
    return [Route("/healthz", healthz), Route("/readyz", readyz, middleware=bearers)]


def readiness(hub: SkillHub, *, to_a_stranger: bool = False) -> JSONResponse:
    """Return 200 with the state of the index, the number of skills and the digest; 503 while none can be served.

    A stranger is told the state alone.
    """
    view = hub.peek()
    if view is None or view.index is None:
        state = "failed" if view is not None and view.problem is not None else "starting"
        return JSONResponse({"index": state}, status_code=503)
    try:
        hub.access.now()
    except PolicyUnreadable as error:
        problem = {} if to_a_stranger else {"problem": error.message}
        return JSONResponse({"index": "refused", **problem}, status_code=503)
    report = {"index": "degraded" if view.problem is not None else "ready"}
    if to_a_stranger:
        return JSONResponse(report)
    return JSONResponse({**report, "skills": len(hub.skills()), "digest": view.snapshot.digest})


def serve_http(server: FastMCP, hub: SkillHub, options: HttpOptions) -> None:
    """Listen until told to stop. Raises InvalidSetting when the address cannot be had."""
    end_well_when_told()
    with listening(options) as listener:
        make_uvicorn(make_http_app(server, hub, options), options).run(sockets=[listener])


def make_uvicorn(app: DisconnectOnShutdown, options: HttpOptions) -> GracefulServer:
    """Return what runs the application."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",  # the protocol has no WebSockets: their library is not loaded
        server_header=False,
        forwarded_allow_ips=list(options.trusted_proxies),
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return GracefulServer(config, app)


@contextmanager
def listening(options: HttpOptions) -> Iterator[socket.socket]:
    """Listen at the address, and say so. Raises InvalidSetting when it cannot be had."""
    listener = _listen(options.host, options.port)
    try:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        log.info("Serving MCP at http://%s:%d/mcp", shown, port)
        yield listener
    finally:
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidSetting("--host", host, f"cannot be used: {error.strerror or error}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # From here on a client that was told the address waits to be served, and is not turned away.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise InvalidSetting(
            "--port", str(port), f"cannot be listened on at {host}: {error.strerror}", hint="choose another port"
        ) from error
    return listener
