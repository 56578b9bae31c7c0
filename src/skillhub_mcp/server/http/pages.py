"""The pages `/readyz` and `/metrics`, for balancers and monitoring. None names a path of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.http.front_page import FrontPage

if TYPE_CHECKING:
    from skillhub_mcp.store.replica import PublicationHealth

Exposition = Callable[[str], tuple[bytes, str]]


def readiness_route(server: FastMCP, hub: SkillHub, page: FrontPage, *, middleware: Sequence[Middleware]) -> Route:
    """Return the route `/readyz`: whether searches can be answered."""
    # After a change all skills are counted: not for several probes at once.
    one_at_a_time = CapacityLimiter(1)

    async def readyz(request: Request) -> Response:
        if server.auth is None or request.user.is_authenticated:
            return await to_thread.run_sync(readiness, hub, limiter=one_at_a_time)
        if "authorization" in request.headers:
            # Otherwise tokens could be guessed here instead of at /mcp.
            return page.unauthorized(request.scope)
        return readiness(hub, anonymous=True)

    return Route("/readyz", readyz, middleware=middleware)


def readiness(hub: SkillHub, *, anonymous: bool = False) -> JSONResponse:
    """Return 200 with the state of the index, the number of skills and the digest; 503 if none can be served.

    A replica adds the state of its storage, which does not change the status. An `anonymous` client, of a server with
    authentication, gets the states alone.
    """
    view, publication = hub.views.peek(), None if hub.publication is None else hub.publication()
    if view is None or view.index is None:
        state = "failed" if view is not None and view.problem is not None else "starting"
        return JSONResponse({"index": state, **_storage(publication, anonymous=anonymous)}, status_code=503)
    try:
        hub.access.now()
    except PolicyUnreadable as error:
        problem = {} if anonymous else {"problem": error.message}
        return JSONResponse({"index": "refused", **problem}, status_code=503)
    state = "degraded" if view.problem is not None else "ready"
    counts = {} if anonymous else {"skills": len(hub.skills()), "digest": view.snapshot.digest}
    return JSONResponse({"index": state, **_storage(publication, anonymous=anonymous), **counts})


def _storage(publication: PublicationHealth | None, *, anonymous: bool) -> dict[str, object]:
    if publication is None:
        return {}
    if anonymous:
        return {"storage": publication.storage.value}
    reported: dict[str, object] = {"publication": publication.number, "storage": publication.storage.value}
    reported["since"] = _in_utc(publication.since)
    if publication.checked_at:
        reported["checked_at"] = _in_utc(publication.checked_at)
    return {**reported, "storage_problem": publication.problem} if publication.problem else reported


def _in_utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def metrics_route(
    server: FastMCP, exposition: Exposition, page: FrontPage, *, middleware: Sequence[Middleware]
) -> Route:
    """Return the route `/metrics`. `exposition` returns the numbers in the format that an Accept header asks for."""

    async def metrics(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return page.unauthorized(request.scope)
        body, media_type = await to_thread.run_sync(exposition, request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type})

    return Route("/metrics", metrics, middleware=middleware)
