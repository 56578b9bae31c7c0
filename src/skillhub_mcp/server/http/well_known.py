"""The routes below /.well-known/agent-skills: the index of the caller's skills and their artifacts, for installers.

They tell of skills, so they stand where /mcp stands: behind the guard of Host and Origin, a token where one is needed,
and the limit of requests. A hook that stands before reading a skill's files stands before its artifact.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from http import HTTPStatus

import anyio.to_thread
from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from skillhub_mcp.errors import (
    BlockedByHook,
    IndexUnavailable,
    PolicyUnreadable,
    ResourceNotFound,
    RootUnavailable,
    ServerBusy,
    SkillFilesUnavailable,
    SkillHubError,
)
from skillhub_mcp.events import REQUEST_CONTEXT, RequestContext
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.library.sources.well_known import WELL_KNOWN_PATH, ArtifactKind, SiteSkill, index_text
from skillhub_mcp.publishing.artifacts import Artifact, ArtifactService
from skillhub_mcp.server.callers import NAMELESS, caller_name
from skillhub_mcp.server.http.front_page import FrontPage
from skillhub_mcp.skills.model import SKILL_FILE

log = logging.getLogger(__name__)

# Makes a use of a skill pass what stands before it, for a request of that name.
StandingBefore = Callable[[str], AbstractContextManager[None]]

_TOP = WELL_KNOWN_PATH.rpartition("/")[0]
_ZIP = ".zip"
_CHUNK_BYTES = 64 * 1024
# How many artifacts of more than a megabyte are in memory at once: each may have 64 MiB, and may be read slowly.
_LARGE_AT_ONCE = 4
_LARGE_BYTES = 1024 * 1024
_RETRY_SECONDS = "5"
_HEADERS = {"cache-control": "private, no-cache", "vary": "Authorization", "x-content-type-options": "nosniff"}
# What may pass by itself; anything else that keeps a skill from its caller is as if there were no such skill.
_PASSING = (IndexUnavailable, PolicyUnreadable, RootUnavailable, ServerBusy, SkillFilesUnavailable)


def nothing_before(_: str) -> AbstractContextManager[None]:
    """Let every use pass: a server without hooks."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is answered; without a body where the client asked for none, or has it."""

    media_type: str
    digest: str
    size: int
    body: bytes | None = None


def well_known_routes(
    server: FastMCP,
    hub: SkillHub,
    page: FrontPage,
    *,
    serve_dotfiles: bool,
    middleware: Sequence[Middleware],
    before: StandingBefore = nothing_before,
) -> list[Route]:
    """Return the routes, behind `middleware`: the guard, what finds out who asks, and the limit of requests."""
    artifacts = ArtifactService(hub, serve_dotfiles=serve_dotfiles)
    routes: Mapping[str, _Answering] = {
        WELL_KNOWN_PATH: lambda _, __: _whole("application/json", _index(artifacts.all())),
        f"{_TOP}/{{name}}/{SKILL_FILE}": lambda request, _: _document(artifacts, request),
        f"{_TOP}/{{name}}{_ZIP}": lambda request, place: _archive(artifacts, request, place),
    }
    places = threading.BoundedSemaphore(_LARGE_AT_ONCE)
    return [
        Route(path, _Endpoint(server, page, answer, before, places), methods=["GET"], middleware=middleware)
        for path, answer in routes.items()
    ]


class _Place:
    """One of the places for large artifacts, which is held until the last byte has gone out."""

    def __init__(self, places: threading.BoundedSemaphore) -> None:
        self._places = places
        self._is_held = False

    def take(self) -> None:
        """Take a place. Raises ServerBusy where there is none: whoever reads slowly keeps no thread waiting."""
        self._is_held = self._places.acquire(blocking=False)
        if not self._is_held:
            raise ServerBusy

    def leave(self) -> None:
        """Give the place back, if one was taken."""
        if self._is_held:
            self._is_held = False
            self._places.release()


_Answering = Callable[[Request, _Place], _Answer]


class _Endpoint:
    """An ASGI application that answers one route."""

    def __init__(
        self,
        server: FastMCP,
        page: FrontPage,
        answer: _Answering,
        before: StandingBefore,
        places: threading.BoundedSemaphore,
    ) -> None:
        self._server = server
        self._page = page
        self._answer = answer
        self._before = before
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if self._server.auth is not None and not request.user.is_authenticated:
            await self._page.unauthorized(scope)(scope, receive, send)
            return
        place = _Place(self._places)
        try:
            response = await anyio.to_thread.run_sync(self._responded, request, place)
            await response(scope, receive, send)
        finally:
            place.leave()

    def _responded(self, request: Request, place: _Place) -> Response:
        # The thread has the context of this request alone.
        REQUEST_CONTEXT.set(RequestContext(caller_name() or NAMELESS, "http"))
        try:
            with self._before(f"{request.method} {_TOP}"):
                answer = self._answer(request, place)
        except _PASSING as error:
            log.warning("A request for skills to install is not answered: %s", error.message)
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, error, "The skills cannot be given now; try again.")
        except BlockedByHook as error:
            return _refusal(HTTPStatus.FORBIDDEN, error, "A hook of this server does not let this skill be installed.")
        except SkillHubError:
            return self._page.not_found(request.scope)
        headers = {**_HEADERS, "etag": f'"{answer.digest}"', "content-length": str(answer.size)}
        if _has_it(request, answer.digest):
            del headers["content-length"]
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        if answer.body is None or request.method == "HEAD":
            return Response(headers={**headers, "content-type": answer.media_type})
        return StreamingResponse(_chunks(answer.body), headers={**headers, "content-type": answer.media_type})


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


def _document(artifacts: ArtifactService, request: Request) -> _Answer:
    found, skill = artifacts.find(request.path_params["name"])
    if not found.is_archive and _is_body_unwanted(request, found):
        return _Answer("text/markdown; charset=utf-8", found.digest, found.size)
    return _whole("text/markdown; charset=utf-8", artifacts.document(skill))


def _archive(artifacts: ArtifactService, request: Request, place: _Place) -> _Answer:
    found, skill = artifacts.find(request.path_params["name"])
    if not found.is_archive:
        raise ResourceNotFound(found.name)
    if _is_body_unwanted(request, found):
        return _Answer("application/zip", found.digest, found.size)
    if found.size > _LARGE_BYTES:
        place.take()
    return _whole("application/zip", artifacts.artifact(skill))


def _whole(media_type: str, body: bytes) -> _Answer:
    return _Answer(media_type, f"sha256:{hashlib.sha256(body).hexdigest()}", len(body), body)


def _is_body_unwanted(request: Request, found: Artifact) -> bool:
    return request.method == "HEAD" or _has_it(request, found.digest)


def _has_it(request: Request, digest: str) -> bool:
    """Whether a client says that it has the bytes with that digest."""
    tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    return f'"{digest}"' in tags or "*" in tags


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body in pieces, so that a client who reads slowly has no copy of all of it waiting for them."""
    for at in range(0, len(body), _CHUNK_BYTES):
        yield body[at : at + _CHUNK_BYTES]


def _refusal(status: HTTPStatus, error: SkillHubError, sentence: str) -> Response:
    """Return a refusal in words of our own: those of the error may name a path of this machine."""
    headers = {**_HEADERS, "cache-control": "no-store"}
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = _RETRY_SECONDS
    return JSONResponse(
        {"error": error.code.lower(), "error_description": sentence}, status_code=status, headers=headers
    )
