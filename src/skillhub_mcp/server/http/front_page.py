"""What who is no MCP client is told: what this server is, where its endpoint is, and how to get in.

It tells nothing about the skills. A server that asks for tokens does not tell its version either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillhub_mcp.version import homepage, version

if TYPE_CHECKING:
    from skillhub_mcp.server.http.auth import AuthOptions

MCP_PATH = "/mcp"
SKILLS_PATH = "/skills"

# Not kept by a cache, since it repeats the Host header; and read as what it is, since that comes from outside.
_HEADERS = {"cache-control": "no-store", "vary": "Accept, Host", "x-content-type-options": "nosniff"}
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
_DESCRIPTION = re.compile(r'error_description="[^"]*"')
_NO_STREAM = (HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_ACCEPTABLE)


@dataclass(frozen=True, slots=True)
class FrontPage:
    """What is told about one server: the URL of /mcp for clients, empty if unknown, and how clients get in."""

    public_url: str
    auth: AuthOptions | None

    def route(self) -> Route:
        """Return the route `/`."""

        async def front(request: Request) -> Response:
            if wants_json(request.headers, otherwise=False):
                return JSONResponse(self._facts(request.scope), headers=_HEADERS)
            return PlainTextResponse(self._text(request.scope), headers=_HEADERS)

        return Route("/", front)

    def unauthorized(self, scope: Scope, challenge: str = "Bearer") -> Response:
        """Return 401 with how to get in, for a request without a token or with one that is not accepted.

        `challenge` is the header WWW-Authenticate; its description, if it has one, is replaced.
        """
        if Headers(scope=scope).get("authorization", "")[:7].lower() == "bearer ":
            error, what = "invalid_token", "This token is not accepted: it is mistyped, expired or revoked."
        else:
            error, what = "token_required", "This server asks for a token."
        sentence = f"{what} Send one with each request, in the header 'Authorization: Bearer TOKEN'. {self._givers()}"
        headers = {"www-authenticate": _DESCRIPTION.sub(f'error_description="{what}"', challenge)}
        return _refusal(scope, HTTPStatus.UNAUTHORIZED, error, sentence, headers)

    def not_found(self, scope: Scope) -> Response:
        """Return 404 with where the endpoint is."""
        sentence = f"Nothing is here. MCP clients connect to {self._endpoint(scope)}."
        return _refusal(scope, HTTPStatus.NOT_FOUND, "not_found", sentence)

    @staticmethod
    def misdirected(scope: Scope) -> Response:
        """Return 421, for a Host header that is not this server's."""
        sentence = "The Host header is no address of this server. Whoever runs it allows it with SKILLHUB_PUBLIC_URL or"
        return _refusal(scope, HTTPStatus.MISDIRECTED_REQUEST, "misdirected", f"{sentence} SKILLHUB_ALLOWED_HOSTS.")

    @staticmethod
    def foreign_origin(scope: Scope) -> Response:
        """Return 403, for a page of another site."""
        sentence = "Pages of this origin may not call. Whoever runs this server allows them: SKILLHUB_ALLOWED_ORIGINS."
        return _refusal(scope, HTTPStatus.FORBIDDEN, "foreign_origin", sentence)

    def _path(self, path: str) -> str:
        """Return a path of this server as clients see it, below the prefix of a proxy."""
        return urlsplit(self.public_url).path.removesuffix(MCP_PATH) + path

    def no_stream(self, status: int, headers: Mapping[str, str]) -> Response:
        """Return the refusal of a person's GET of /mcp, with what this is."""
        text = f"This is the endpoint for MCP clients: give them this address. What the server is: {self._path('/')}\n"
        return PlainTextResponse(text, status_code=status, headers={**_HEADERS, **headers})

    def _endpoint(self, scope: Scope) -> str:
        host = Headers(scope=scope).get("host", "")
        if self.public_url or not _HOST.fullmatch(host):
            return self.public_url or MCP_PATH
        return f"{scope['scheme']}://{host}{MCP_PATH}"

    def _givers(self) -> str:
        """Return who gives tokens, as a sentence."""
        ways = []
        if self.auth is not None and self.auth.tokens is not None:
            ways.append("whoever runs this server makes one with 'skillhub token new NAME'")
        elif self.auth is not None and self.auth.token:
            ways.append("whoever runs this server has it, as SKILLHUB_TOKEN")
        if self.auth is not None and self.auth.jwt is not None:
            ways.append(f"they are issued by {self.auth.jwt.issuer}")
        told = ", or ".join(ways)
        return f"{told[:1].upper()}{told[1:]}."

    def _facts(self, scope: Scope) -> dict[str, object]:
        return {
            "name": "SkillHub",
            "description": "Serves Agent Skills to MCP clients",
            "endpoint": self._endpoint(scope),
            "transport": "streamable-http",
            "authentication": None if self.auth is None else "bearer",
            "health": self._path("/healthz"),
            "ready": self._path("/readyz"),
            "skills": self._path(SKILLS_PATH),
            "documentation": homepage(),
            **({"version": version()} if self.auth is None else {}),
        }

    def _text(self, scope: Scope) -> str:
        endpoint = self._endpoint(scope)
        variable, token = "", "none is needed"
        if self.auth is not None:
            variable = " --token-variable SKILLHUB_TOKEN"
            token = f"needed, as 'Authorization: Bearer TOKEN'. {self._givers()}"
        lines = [
            "SkillHub: Agent Skills for MCP clients.",
            "",
            f"endpoint  {endpoint}",
            f"connect   skillhub connect CLIENT --http {endpoint}{variable}",
            f"token     {token}",
            f"health    {self._path('/healthz')} (lives), {self._path('/readyz')} (can search)",
            f"skills    {self._path(SKILLS_PATH)} (where they are from, and whether they are as they were locked)",
        ]
        docs = homepage()
        return "\n".join([*lines, *([f"docs      {docs}"] if docs else []), ""])


class LegibleRefusals:
    """ASGI middleware: what the endpoint refuses without a reason that a person could read gets one from `page`.

    The status, and what the specifications say of headers, stay: 401 with WWW-Authenticate, 405 with Allow.
    """

    def __init__(self, app: ASGIApp, page: FrontPage) -> None:
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        replaced = False

        async def send_legibly(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start":
                response = self._replacement(scope, message["status"], MutableHeaders(raw=message["headers"]))
                if response is not None:
                    replaced = True
                    await response(scope, receive, send)
            if not replaced:
                await send(message)

        await self._app(scope, receive, send_legibly)

    def _replacement(self, scope: Scope, status: int, headers: Headers) -> Response | None:
        at_endpoint = scope["path"] == MCP_PATH
        if status == HTTPStatus.UNAUTHORIZED:
            return self._page.unauthorized(scope, headers.get("www-authenticate", "Bearer"))
        if status == HTTPStatus.MISDIRECTED_REQUEST:
            return self._page.misdirected(scope)
        if status == HTTPStatus.FORBIDDEN and "origin" in Headers(scope=scope):
            return self._page.foreign_origin(scope)
        if status == HTTPStatus.NOT_FOUND and not at_endpoint:
            return self._page.not_found(scope)
        if at_endpoint and status in _NO_STREAM and scope["method"] in ("GET", "HEAD") and _is_a_person(scope):
            return self._page.no_stream(status, {"allow": headers["allow"]} if "allow" in headers else {})
        return None


def _is_a_person(scope: Scope) -> bool:
    """Whether a request looks like a browser's or curl's: it asks for neither a stream nor JSON."""
    headers = Headers(scope=scope)
    return "text/event-stream" not in headers.get("accept", "") and not wants_json(headers, otherwise=False)


def _refusal(
    scope: Scope, status: HTTPStatus, error: str, sentence: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal as text or, in the form of OAuth errors, as JSON: clients show `error_description`."""
    given = {**_HEADERS, **(headers or {})}
    if wants_json(Headers(scope=scope), otherwise=True):
        return JSONResponse({"error": error, "error_description": sentence}, status_code=status, headers=given)
    return PlainTextResponse(f"{sentence}\n", status_code=status, headers=given)


def wants_json(headers: Headers, *, otherwise: bool) -> bool:
    """Whether a client accepts JSON rather than text; one that accepts either gets the one that `otherwise` says."""
    accept = headers.get("accept", "").lower()
    json, text = "application/json" in accept, "text/html" in accept or "text/plain" in accept
    return otherwise if json == text else json
