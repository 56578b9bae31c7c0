"""Whether searches can be answered, at `/readyz`: what balancers ask, often and without patience."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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

# Kubernetes gives a probe one second.
_PATIENCE_SECONDS = 0.5


def readiness_route(server: FastMCP, hub: SkillHub, page: FrontPage, *, middleware: Sequence[Middleware]) -> Route:
    """Return the route behind the guard, which knows the addresses that the server listens at."""
    # After a change all skills are counted, which takes long for a large library: not in the thread of all requests,
    # and not for several probes at once.
    one_at_a_time = CapacityLimiter(1)
    digest = _Digest(hub)

    async def readyz(request: Request) -> Response:
        if server.auth is None or request.user.is_authenticated:
            if not await digest.is_there():
                return readiness(hub, counted=False)
            return await to_thread.run_sync(readiness, hub, limiter=one_at_a_time)
        if "authorization" in request.headers:
            # Otherwise tokens could be guessed here instead of at /mcp.
            return page.unauthorized(request.scope)
        return readiness(hub, anonymous=True)

    return Route("/readyz", readyz, middleware=middleware)


class _Digest:
    """The digest of the skills there are, which takes seconds when a server over a large library has just started.

    It is made in one thread, once for all probes, and goes on where one of them has waited long enough.
    """

    def __init__(self, hub: SkillHub) -> None:
        self._hub = hub
        self._made: asyncio.Task[None] | None = None

    async def is_there(self) -> bool:
        """Wait a moment for it, and return whether it can be told without waiting."""
        if self._made is None or self._made.done():
            # Of skills that have theirs, this is nothing; of others it is another one.
            self._made = asyncio.create_task(to_thread.run_sync(self._make, abandon_on_cancel=True))
        made = self._made
        await asyncio.wait([made], timeout=_PATIENCE_SECONDS)
        if made.done():
            made.result()
        return made.done()

    def _make(self) -> None:
        view = self._hub.views.peek()
        if view is not None:
            _ = view.snapshot.digest


def readiness(hub: SkillHub, *, anonymous: bool = False, counted: bool = True) -> JSONResponse:
    """Return 200 with the state of the index, the number of skills and the digest; 503 while none can be served.

    A replica adds how the storage of its publication does, which changes nothing about the 200: what is in its mirror
    is served. An `anonymous` client, of a server with authentication, gets the states alone; number and digest are left
    out, too, where they are not yet `counted`.
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
    report = {
        "index": "degraded" if view.problem is not None else "ready",
        **_storage(publication, anonymous=anonymous),
    }
    if anonymous or not counted:
        return JSONResponse(report)
    return JSONResponse({**report, "skills": len(hub.skills()), "digest": view.snapshot.digest})


def _storage(publication: PublicationHealth | None, *, anonymous: bool) -> dict[str, object]:
    if publication is None:
        return {}
    if anonymous:
        return {"storage": publication.storage.value}
    told: dict[str, object] = {"publication": publication.number, "storage": publication.storage.value}
    told["since"] = _in_utc(publication.since)
    if publication.checked_at:
        told["checked_at"] = _in_utc(publication.checked_at)
    return {**told, "storage_problem": publication.problem} if publication.problem else told


def _in_utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
