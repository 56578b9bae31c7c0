"""The page /skills: how the caller's skills stand against their locks, as text for people or as JSON.

It tells of skills, so it stands where /mcp stands: behind the guard of Host and Origin, a token where one is needed,
and the limit of requests. What a caller may not have is not on it, and neither is a path of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import anyio
import anyio.to_thread
from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.harmless import for_model, path_for_model
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.http.front_page import SKILLS_PATH, FrontPage, wants_json

# Each of them is looked at, all of its files: a larger library is for `skillhub list` and `skillhub verify`.
_MOST = 1_000
_HEADERS = {
    "cache-control": "private, no-cache",
    "vary": "Accept, Authorization",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told of each skill that is known to be from somewhere, and how many are not, or were not looked at."""

    skills: Sequence[Mapping[str, object]]
    unlocked: int
    more: int


def skills_route(server: FastMCP, hub: SkillHub, page: FrontPage, *, middleware: Sequence[Middleware]) -> Route:
    """Return the route, behind `middleware`; `page` tells who has no token how to get in."""
    # Looking at files takes threads, which calls of /mcp need too.
    turn = anyio.Semaphore(1)

    async def skills(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return page.unauthorized(request.scope)
        try:
            async with turn:
                told = await anyio.to_thread.run_sync(_told, hub)
        except SkillHubError as error:
            # In words of our own: those of the error may name a path of this machine.
            refusal = {"error": error.code.lower(), "error_description": "The skills cannot be told now; try again."}
            return JSONResponse(refusal, status_code=HTTPStatus.SERVICE_UNAVAILABLE, headers=_HEADERS)
        if wants_json(request.headers, otherwise=False):
            counts = {"unlocked": told.unlocked, "more": told.more}
            return JSONResponse({"skills": list(told.skills), **counts}, headers=_HEADERS)
        return PlainTextResponse(_text(told), headers=_HEADERS)

    return Route(SKILLS_PATH, skills, middleware=middleware)


def _told(hub: SkillHub) -> _Told:
    skills = hub.skills()
    found: list[Mapping[str, object]] = []
    for skill in skills[:_MOST]:
        (standing,) = hub.lock_standings([skill])
        told = {} if standing is None else standing.told(with_paths=False)
        if "source" in told or "problem" in told:
            said = {key: for_model(value) if isinstance(value, str) else value for key, value in told.items()}
            found.append({"name": path_for_model(skill.name), **said})
    looked_at = min(len(skills), _MOST)
    return _Told(found, looked_at - len(found), len(skills) - looked_at)


def _text(told: _Told) -> str:
    blocks = []
    for one in told.skills:
        facts = [f"  {key:<12}  {value}" for key, value in one.items() if key != "name" and value is not None]
        blocks.append("\n".join([str(one["name"]), *facts]))
    if told.unlocked or not told.skills:
        blocks.append(f"{told.unlocked:,} of which no lock tells")
    if told.more:
        blocks.append(f"{told.more:,} that were not looked at: `skillhub list` tells of all")
    return "\n\n".join(blocks) + "\n"
