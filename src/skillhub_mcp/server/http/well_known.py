"""The routes below /.well-known/agent-skills: the index of the caller's skills and their artifacts, for installers.

A hook for reading a skill's files runs before its artifact is served.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from http import HTTPStatus

import anyio.to_thread
from fastmcp import FastMCP
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skillhub_mcp.errors import (
    BlockedByHook,
    IndexUnavailable,
    PolicyUnreadable,
    ResourceNotFound,
    RootUnavailable,
    SkillFilesUnavailable,
    SkillHubError,
)
from skillhub_mcp.events import REQUEST_CONTEXT, RequestContext
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.library.sources.well_known import WELL_KNOWN_PATH, ArtifactKind, SiteSkill, index_text
from skillhub_mcp.publishing.artifacts import Artifact, ArtifactService
from skillhub_mcp.server.callers import NAMELESS, caller_name
from skillhub_mcp.server.http.pages import Refusals, refusal
from skillhub_mcp.server.middleware.hooks import HookMiddleware
from skillhub_mcp.skills.model import SKILL_FILE

log = logging.getLogger(__name__)

_TOP = WELL_KNOWN_PATH.rpartition("/")[0]
_ZIP = ".zip"
_HEADERS = {"cache-control": "private, no-cache", "vary": "Authorization", "x-content-type-options": "nosniff"}
# These may pass; any other error is answered as if there were no such skill.
_PASSING = (IndexUnavailable, PolicyUnreadable, RootUnavailable, SkillFilesUnavailable)


def well_known_routes(server: FastMCP, hub: SkillHub, refusals: Refusals, *, serve_dotfiles: bool) -> list[Route]:
    """Return the routes."""
    hooks = next((one for one in server.middleware if isinstance(one, HookMiddleware)), None)
    artifacts = ArtifactService(hub, serve_dotfiles=serve_dotfiles)

    def index(request: Request) -> Response:
        return _whole(request, "application/json", _index(artifacts.all()))

    def document(request: Request) -> Response:
        _, skill = artifacts.find(request.path_params["name"])
        return _whole(request, "text/markdown; charset=utf-8", artifacts.document(skill))

    def archive(request: Request) -> Response:
        found, skill = artifacts.find(request.path_params["name"])
        if not found.is_archive:
            raise ResourceNotFound(found.name)
        return _whole(request, "application/zip", artifacts.artifact(skill))

    def route(path: str, answer: Callable[[Request], Response]) -> Route:
        async def endpoint(request: Request) -> Response:
            if server.auth is not None and not request.user.is_authenticated:
                return refusals.unauthorized(request.scope)
            return await anyio.to_thread.run_sync(_answered, request, answer, hooks, refusals)

        return Route(path, endpoint, methods=["GET"])

    return [
        route(WELL_KNOWN_PATH, index),
        route(f"{_TOP}/{{name}}/{SKILL_FILE}", document),
        route(f"{_TOP}/{{name}}{_ZIP}", archive),
    ]


def _answered(
    request: Request, answer: Callable[[Request], Response], hooks: HookMiddleware | None, refusals: Refusals
) -> Response:
    # The thread has the context of this request alone.
    REQUEST_CONTEXT.set(RequestContext(caller_name() or NAMELESS, "http"))
    try:
        with nullcontext() if hooks is None else hooks.standing_before(f"{request.method} {_TOP}"):
            return answer(request)
    except _PASSING as error:
        log.warning("A request for skills to install is not answered: %s", error.message)
        # The error's own words may name a path of this machine.
        sentence = "The skills cannot be given now; try again."
        return refusal(HTTPStatus.SERVICE_UNAVAILABLE, error.code.lower(), sentence, {"retry-after": "5"})
    except BlockedByHook as error:
        sentence = "A hook of this server does not let this skill be installed."
        return refusal(HTTPStatus.FORBIDDEN, error.code.lower(), sentence)
    except SkillHubError:
        return refusals.not_found(request.scope)


def _index(skills: Sequence[Artifact]) -> bytes:
    """Return the index; its URLs are relative, so that they hold behind any proxy and below any path."""
    return index_text(
        [
            SiteSkill(
                one.name,
                ArtifactKind.ARCHIVE if one.is_archive else ArtifactKind.SKILL_MD,
                one.description,
                f"{one.name}{_ZIP}" if one.is_archive else f"{one.name}/{SKILL_FILE}",
                one.digest,
            )
            for one in skills
        ]
    ).encode()


def _whole(request: Request, media_type: str, body: bytes) -> Response:
    headers = {**_HEADERS, "etag": f'"sha256:{hashlib.sha256(body).hexdigest()}"'}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, headers={**headers, "content-type": media_type})
