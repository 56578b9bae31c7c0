"""Authentication over HTTP: by one token, by a file of tokens, and by tokens that an issuer signed (JWT).

No token is logged, shown or stored; the tools get a `CallerToken` without the secret.
"""

from __future__ import annotations

import base64
import hmac
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from fastmcp.server.auth import AccessToken, RemoteAuthProvider, TokenVerifier
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.authentication import AuthCredentials, AuthenticationError
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.errors import PolicyUnreadable, RateLimited
from skillhub_mcp.policy.access_tokens import NOT_GIVEN, Token, Tokens, digest_of, filter_of, may_run_of
from skillhub_mcp.policy.files import PolicyFile
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.sanitize import in_line, shortened
from skillhub_mcp.server.callers import CallerToken
from skillhub_mcp.server.http.pages import MCP_PATH
from skillhub_mcp.server.http.rate_limit import TokenBuckets, address_of, too_many_requests
from skillhub_mcp.usage import TokenUses

log = logging.getLogger(__name__)

# The end of the year 9999, in seconds since 1970.
_LAST_SECOND = 253_402_300_799
# Signatures with public keys. HS256 uses a shared secret, and `none` is no signature.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_SKILLS_CLAIM, _CATEGORIES_CLAIM, _RUN_CLAIM = "skillhub_skills", "skillhub_categories", "skillhub_may_run"
_ONE_TOKEN = "token"  # noqa: S105 - the name of SKILLHUB_TOKEN's bearer
_MAX_NAME = 128
_WRONG_TOKENS_A_MINUTE = 60
_MAX_ACCEPTED = 10_000
_MAX_TOKEN_CHARACTERS = 16_384
# Clients compare an issuer letter by letter with what it says of itself, and a URL of pydantic's ends with a slash.
_AS_WRITTEN = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))


@dataclass(frozen=True, slots=True)
class JwtOptions:
    """Which signed tokens are accepted: their issuer, their audience, and the URL of the issuer's keys (JWKS)."""

    issuer: str
    audience: str
    jwks: str


@dataclass(frozen=True, slots=True)
class AuthOptions:
    """Which tokens are accepted; an empty `token`, or None, is none. `public_url` is the URL of /mcp for clients.

    `uses` records on which days each token of the file was used.
    """

    token: str = field(repr=False)
    tokens: PolicyFile[Tokens] | None
    jwt: JwtOptions | None
    public_url: str
    uses: TokenUses | None = None


class HubTokenVerifier(TokenVerifier):
    """Verifies tokens, and tells clients which authorization server issues them (RFC 9728)."""

    def __init__(self, options: AuthOptions) -> None:
        super().__init__(base_url=options.public_url.removesuffix(MCP_PATH) or None)
        self._digest = digest_of(options.token) if options.token else None
        self._file = options.tokens
        self._problem = ""
        self._uses = options.uses
        self._jwt = None if options.jwt is None else _SignedTokens(options.jwt)
        self._issuer = None if options.jwt is None else options.jwt.issuer

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the bearer of `token`, or None for an unknown one."""
        digest = digest_of(token)
        if self._digest is not None and hmac.compare_digest(digest, self._digest):
            # Nothing can be written beside this token: who set it and enabled commands over HTTP is its bearer.
            return CallerToken(client_id=_ONE_TOKEN, name=_ONE_TOKEN, may_run=True)
        # The time of a look-up can reveal a part of a digest at most, and a digest reveals nothing about its token.
        known = self._tokens_by_digest().get(digest)
        # The day is the server's, as in `skillhub token`.
        if known is not None and known.is_accepted_on(date.today()):  # noqa: DTZ011 - the server's day
            if self._uses is not None:
                self._uses.record(known.name)
            client_id = f"named {known.name}"
            return CallerToken(client_id=client_id, name=known.name, visibility=known.visibility, may_run=known.may_run)
        return None if self._jwt is None else await self._jwt.verify(token)

    def get_routes(self, mcp_path: str | None = None) -> list[Route]:
        """Return the route of the protected resource's metadata, if there is an issuer."""
        if self._issuer is None or self.base_url is None:
            return []
        return RemoteAuthProvider(self, [_AS_WRITTEN.validate_python(self._issuer)], self.base_url).get_routes(mcp_path)

    def get_middleware(self) -> list[Any]:
        """Return FastMCP's middleware, with a limit for wrong tokens in the one that verifies them."""
        _, *rest = super().get_middleware()
        backend = _Backend(self)

        def refused(_: HTTPConnection, error: AuthenticationError) -> Response:
            return too_many_requests(error.args[0])

        return [Middleware(AuthenticationMiddleware, backend=backend, on_error=refused), *rest]

    def _tokens_by_digest(self) -> Mapping[str, Token]:
        try:
            tokens = None if self._file is None else self._file.read()
        except PolicyUnreadable as error:
            if error.message != self._problem:
                log.error("%s (%s): none of its tokens is accepted until it is fixed", error.message, error.path)  # noqa: TRY400 - the message is enough
            self._problem = error.message
            return {}
        self._problem = ""
        return {} if tokens is None else tokens.by_digest


class _SignedTokens:
    """The tokens of one issuer, verified by FastMCP."""

    def __init__(self, options: JwtOptions) -> None:
        # Imported only where such tokens are accepted.
        from fastmcp.server.auth.providers.jwt import JWTVerifier

        self._verifiers = {
            algorithm: JWTVerifier(
                jwks_uri=options.jwks, issuer=options.issuer, audience=options.audience, algorithm=algorithm
            )
            for algorithm in _ALGORITHMS
        }

    async def verify(self, token: str) -> AccessToken | None:
        verifier = self._verifiers.get(_algorithm_of(token))
        try:
            found = None if verifier is None else await verifier.verify_token(token)
        except (OverflowError, ValueError):
            # A claim is a number that is no time.
            return None
        if found is None:
            return None
        name = shortened(in_line(found.subject or found.client_id), _MAX_NAME)
        try:
            visibility = _filter(found)
            may_run = may_run_of(found.claims.get(_RUN_CLAIM, NOT_GIVEN))
        except BadJson as problem:
            log.warning("A signed token of %s is not accepted: %s", name, problem)
            return None
        client_id = f"signed {found.subject or found.client_id}"
        return CallerToken(client_id=client_id, name=name, visibility=visibility, may_run=may_run)


def _algorithm_of(token: str) -> str:
    """Return the algorithm that the header of a JSON Web Token names; empty for any other text."""
    header = token.partition(".")[0]
    try:
        found = json.loads(base64.urlsafe_b64decode(f"{header}{'=' * (-len(header) % 4)}"))
    except (ValueError, RecursionError):
        return ""
    return str(found.get("alg")) if isinstance(found, dict) and len(token) <= _MAX_TOKEN_CHARACTERS else ""


class _Backend(BearerAuthBackend):
    """Verifies a request's token, unless its address has sent too many wrong ones.

    A token that was accepted before is verified all the same, so that a neighbour's guesses lock no one out.
    """

    def __init__(self, verifier: TokenVerifier) -> None:
        super().__init__(verifier)
        self._wrong = TokenBuckets(_WRONG_TOKENS_A_MINUTE)
        self._accepted: LRUCache[str, None] = LRUCache(_MAX_ACCEPTED)

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        token = conn.headers.get("authorization")
        if token is None:
            return None
        address, digest = address_of(conn.scope), digest_of(token)
        seconds = self._wrong.wait(address)
        if seconds and digest not in self._accepted:
            raise AuthenticationError(RateLimited("wrong tokens", per_minute=_WRONG_TOKENS_A_MINUTE, seconds=seconds))
        found: tuple[AuthCredentials, AuthenticatedUser] | None = await super().authenticate(conn)
        if found is None:
            self._accepted.pop(digest)
            self._wrong.take(address)
        else:
            self._accepted.put(digest, None)
        return found


def _filter(signed: AccessToken) -> Visibility:
    """Return the filter in a token's claims. Raises BadJson for a token that is not accepted."""
    if signed.expires_at is None or signed.expires_at > _LAST_SECOND:
        raise BadJson("it never expires, so it could not be revoked")
    not_before = signed.claims.get("nbf", 0)
    if not isinstance(not_before, int | float) or not not_before <= time.time():  # NaN is no time
        raise BadJson("it is not valid yet")
    return filter_of(signed.claims.get(_SKILLS_CLAIM, NOT_GIVEN), signed.claims.get(_CATEGORIES_CLAIM, NOT_GIVEN))
