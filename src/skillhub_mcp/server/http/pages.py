"""The pages `/readyz`, `/metrics` and `/skills`, for balancers, monitoring and people.

They stand where `/mcp` stands: behind the guard of Host and Origin, and on a server with authentication for bearers
only. `/readyz` tells a client without a token the states alone. No page names a path of this machine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timezone
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread
from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from skillhub_mcp.errors import PolicyUnreadable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.sanitize import for_model, path_for_model
from skillhub_mcp.server.http.front_page import SKILLS_PATH, FrontPage, wants_json

if TYPE_CHECKING:
    from skillhub_mcp.store.replica import PublicationHealth

Exposition = Callable[[str], tuple[bytes, str]]

# All files of each skill are checked: for a larger library there are `skillhub list` and `skillhub verify`.
_MAX_CHECKED = 1_000
_HEADERS = {
    "cache-control": "private, no-cache",
    "vary": "Accept, Authorization",
    "x-content-type-options": "nosniff",
}


def readiness_route(server: FastMCP, hub: SkillHub, page: FrontPage, *, middleware: Sequence[Middleware]) -> Route:
    """Return the route `/readyz`: whether searches can be answered."""
    # After a change all skills are counted: not in the thread of all requests, and not for several probes at once.
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
    """Return 200 with the state of the index, the number of skills and the digest; 503 while none can be served.

    A replica adds the state of its publication's storage, which does not change the status: what is in its mirror is
    served. An `anonymous` client, of a server with authentication, gets the states alone.
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
    if anonymous:
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


def metrics_route(
    server: FastMCP, exposition: Exposition, page: FrontPage, *, middleware: Sequence[Middleware]
) -> Route:
    """Return the route `/metrics`. `exposition` returns the numbers in the format that an Accept header asks for."""

    async def metrics(request: Request) -> Response:
        body, media_type = await to_thread.run_sync(exposition, request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type})

    return Route("/metrics", _for_bearers(server, page, metrics), middleware=middleware)


def skills_route(server: FastMCP, hub: SkillHub, page: FrontPage, *, middleware: Sequence[Middleware]) -> Route:
    """Return the route `/skills`: the state of the caller's skills against their locks, as text or JSON."""
    # Checking files takes threads, which calls of /mcp need too.
    one_at_a_time = CapacityLimiter(1)

    async def skills(request: Request) -> Response:
        try:
            told = await to_thread.run_sync(_locked_skills, hub, limiter=one_at_a_time)
        except SkillHubError as error:
            # The error's own words may name a path of this machine.
            refusal = {"error": error.code.lower(), "error_description": "The skills cannot be told now; try again."}
            return JSONResponse(refusal, status_code=HTTPStatus.SERVICE_UNAVAILABLE, headers=_HEADERS)
        if wants_json(request.headers, otherwise=False):
            return JSONResponse(told, headers=_HEADERS)
        return PlainTextResponse(_text(**told), headers=_HEADERS)

    return Route(SKILLS_PATH, _for_bearers(server, page, skills), middleware=middleware)


def _for_bearers(
    server: FastMCP, page: FrontPage, endpoint: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return `endpoint` for bearers only, on a server with authentication."""

    async def guarded(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return page.unauthorized(request.scope)
        return await endpoint(request)

    return guarded


def _locked_skills(hub: SkillHub) -> dict[str, Any]:
    """Return each skill with a known source, and the numbers of skills without one, and of those not checked."""
    skills = hub.skills()
    found: list[dict[str, object]] = []
    for skill in skills[:_MAX_CHECKED]:
        (standing,) = hub.lock_standings([skill])
        told = {} if standing is None else standing.told(with_paths=False)
        if "source" in told or "problem" in told:
            said = {key: for_model(value) if isinstance(value, str) else value for key, value in told.items()}
            found.append({"name": path_for_model(skill.name), **said})
    checked = min(len(skills), _MAX_CHECKED)
    return {"skills": found, "unlocked": checked - len(found), "more": len(skills) - checked}


def _text(skills: Sequence[dict[str, object]], unlocked: int, more: int) -> str:
    blocks = []
    for one in skills:
        facts = [f"  {key:<12}  {value}" for key, value in one.items() if key != "name" and value is not None]
        blocks.append("\n".join([str(one["name"]), *facts]))
    if unlocked or not skills:
        blocks.append(f"{unlocked:,} of which no lock tells")
    if more:
        blocks.append(f"{more:,} that were not looked at: `skillhub list` tells of all")
    return "\n\n".join(blocks) + "\n"
