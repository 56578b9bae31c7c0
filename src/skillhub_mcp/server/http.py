"""How is the server reached over HTTP? /mcp behind the Host and Origin guard, /healthz and /readyz before it."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn
from fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from skillhub_mcp.errors import InvalidSetting, PolicyUnreadable
from skillhub_mcp.hub import SkillHub

log = logging.getLogger(__name__)

_GRACE_SECONDS = 5
_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where to listen, and which Host and Origin headers besides this machine's own are welcome."""

    host: str
    port: int
    allowed_hosts: Sequence[str]
    allowed_origins: Sequence[str]


def make_http_app(server: FastMCP, hub: SkillHub, options: HttpOptions) -> Starlette:
    """Return the whole ASGI application."""
    guarded = server.http_app(
        path="/mcp",
        host_origin_protection=True,
        allowed_hosts=list(options.allowed_hosts),
        allowed_origins=list(options.allowed_origins),
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with guarded.lifespan(app):
            yield

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> JSONResponse:
        return readiness(hub)

    # Outside the guard, because a probe addresses the server by its IP; they tell nothing that needs guarding.
    probes = [Route("/healthz", healthz), Route("/readyz", readyz)]
    return Starlette(routes=[*probes, Mount("/", app=guarded)], lifespan=lifespan)


def readiness(hub: SkillHub) -> JSONResponse:
    """Return 200 with the state of the index, the number of skills and the digest; 503 while none can be served."""
    view = hub.peek()
    if view is None or view.index is None:
        state = "failed" if view is not None and view.problem is not None else "starting"
        return JSONResponse({"index": state}, status_code=503)
    try:
        served = len(hub.skills())
    except PolicyUnreadable as error:
        return JSONResponse({"index": "refused", "problem": error.message}, status_code=503)
    report = {
        "index": "degraded" if view.problem is not None else "ready",
        "skills": served,
        "digest": view.snapshot.digest,
    }
    return JSONResponse(report)


def serve_http(server: FastMCP, hub: SkillHub, options: HttpOptions) -> None:
    """Listen until told to stop. Raises InvalidSetting when the address cannot be had."""
    listener = _listen(options.host, options.port)
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    log.info("Serving MCP at http://%s:%d/mcp", shown, port)
    config = uvicorn.Config(
        make_http_app(server, hub, options),
        log_config=None,
        access_log=False,
        ws="none",  # the protocol has no WebSockets: their library is not loaded
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    try:
        uvicorn.Server(config).run(sockets=[listener])
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
