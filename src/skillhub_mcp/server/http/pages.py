"""The pages `/readyz` and `/metrics`, and refusals that a person can read. None names a skill or a path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from http import HTTPStatus
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from fastmcp import FastMCP
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.hub import SkillHub

if TYPE_CHECKING:
    from skillhub_mcp.server.http.auth import AuthOptions
    from skillhub_mcp.store.replica import PublicationHealth

MCP_PATH = "/mcp"
READY_PATH, METRICS_PATH = "/readyz", "/metrics"

# Not kept by a cache, since it repeats the Host header.
_HEADERS = {"cache-control": "no-store", "vary": "Host", "x-content-type-options": "nosniff"}
_DESCRIPTION = re.compile(r'error_description="[^"]*"')


@dataclass(frozen=True, slots=True)
class Refusals:
    """The refusals of one server. `public_url` is the URL of /mcp for clients, empty if unknown."""

    public_url: str
    auth: AuthOptions | None

    def unauthorized(self, scope: Scope, challenge: str = "Bearer") -> Response:
        """Return 401 with how to get in. `challenge` is WWW-Authenticate; its description is replaced."""
        if Headers(scope=scope).get("authorization", "")[:7].lower() == "bearer ":
            error, what = "invalid_token", "This token is not accepted: it is mistyped, expired or revoked."
        else:
            error, what = "token_required", "This server requires a token."
        sentence = f"{what} Send one with each request, in the header 'Authorization: Bearer TOKEN'. {self._givers()}"
        headers = {"www-authenticate": _DESCRIPTION.sub(f'error_description="{what}"', challenge)}
        return refusal(HTTPStatus.UNAUTHORIZED, error, sentence, headers)

    def not_found(self, scope: Scope) -> Response:
        """Return 404 with where the endpoint is."""
        sentence = f"Nothing is here. MCP clients connect to {self._endpoint(scope)}."
        return refusal(HTTPStatus.NOT_FOUND, "not_found", sentence)

    def replacement(self, scope: Scope, status: int, headers: Headers) -> Response | None:
        """Return a refusal with its reason for one without, or None."""
        if status == HTTPStatus.UNAUTHORIZED:
            return self.unauthorized(scope, headers.get("www-authenticate", "Bearer"))
        if status == HTTPStatus.MISDIRECTED_REQUEST:
            settings = "SKILLHUB_PUBLIC_URL or SKILLHUB_ALLOWED_HOSTS"
            sentence = f"The Host header is not an address of this server: set {settings}."
            return refusal(HTTPStatus.MISDIRECTED_REQUEST, "misdirected", sentence)
        if status == HTTPStatus.FORBIDDEN and "origin" in Headers(scope=scope):
            sentence = "Pages of this origin may not call: set SKILLHUB_ALLOWED_ORIGINS."
            return refusal(HTTPStatus.FORBIDDEN, "foreign_origin", sentence)
        if status == HTTPStatus.NOT_FOUND and scope["path"] != MCP_PATH:
            return self.not_found(scope)
        return None

    def _endpoint(self, scope: Scope) -> str:
        return self.public_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', '')}{MCP_PATH}"

    def _givers(self) -> str:
        """Return who gives tokens, as a sentence."""
        ways = []
        if self.auth is not None and (self.auth.tokens is not None or self.auth.token):
            how = "creates one with 'skillhub token new NAME'" if self.auth.tokens else "has it, as SKILLHUB_TOKEN"
            ways.append(f"The server's administrator {how}.")
        if self.auth is not None and self.auth.jwt is not None:
            ways.append(f"{self.auth.jwt.issuer} issues them.")
        return " ".join(ways)


class LegibleRefusals:
    """ASGI middleware: a refusal without a reason that a person could read gets one from `refusals`.

    The status, and what the specifications say of headers, stay: 401 with WWW-Authenticate.
    """

    def __init__(self, app: ASGIApp, refusals: Refusals) -> None:
        self._app = app
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        replaced = False

        async def send_legibly(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                response = self._refusals.replacement(scope, message["status"], headers)
                if response is not None:
                    replaced = True
                    await response(scope, receive, send)
            if not replaced:
                await send(message)

        await self._app(scope, receive, send_legibly)


def refusal(status: HTTPStatus, error: str, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a refusal in the form of OAuth errors: clients show `error_description`."""
    content = {"error": error, "error_description": sentence}
    return JSONResponse(content, status_code=status, headers={**_HEADERS, **(headers or {})})


Exposition = Callable[[str], tuple[bytes, str]]


def readiness_route(server: FastMCP, hub: SkillHub, refusals: Refusals) -> Route:
    """Return the route READY_PATH: whether searches can be answered."""
    # After a change all skills are counted: not for several probes at once.
    one_at_a_time = CapacityLimiter(1)

    async def readyz(request: Request) -> Response:
        if server.auth is None or request.user.is_authenticated:
            return await to_thread.run_sync(readiness, hub, limiter=one_at_a_time)
        if "authorization" in request.headers:
            # Otherwise tokens could be guessed here instead of at /mcp.
            return refusals.unauthorized(request.scope)
        return readiness(hub, anonymous=True)

    return Route(READY_PATH, readyz)


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
    storage: dict[str, object] = {"storage": publication.storage}
    if anonymous:
        return storage
    checked = {"checked_at": _in_utc(publication.checked_at)} if publication.checked_at else {}
    problem = {"storage_problem": publication.problem} if publication.problem else {}
    return {"publication": publication.number, **storage, "since": _in_utc(publication.since), **checked, **problem}


def _in_utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def metrics_route(server: FastMCP, exposition: Exposition, refusals: Refusals) -> Route:
    """Return the route METRICS_PATH. `exposition` returns the numbers in the format that an Accept header asks for."""

    async def metrics(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return refusals.unauthorized(request.scope)
        body, media_type = await to_thread.run_sync(exposition, request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type})

    return Route(METRICS_PATH, metrics)
