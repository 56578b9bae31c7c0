"""Who is let in over HTTP? The bearers of one token, of a file of tokens, and of tokens that an issuer signed.

What is not understood lets nobody in: a file that became malformed, a signature, a filter of skills in a claim. No
token is logged, shown or kept; what goes on to the tools is `CallerToken`.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastmcp.server.auth import AccessToken, RemoteAuthProvider, TokenVerifier
from fastmcp.utilities.auth import decode_jwt_header
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from pydantic import AnyHttpUrl
from starlette.authentication import AuthCredentials, AuthenticationError
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route

from skillhub_mcp.errors import RateLimited, TokensUnreadable
from skillhub_mcp.policy.access_tokens import NOT_GIVEN, BadTokens, Token, Tokens, digest_of, filter_of
from skillhub_mcp.policy.files import PolicyFile
from skillhub_mcp.server.http.callers import Caller, CallerToken
from skillhub_mcp.server.http.rate_limit import WrongTokens, address_of, too_many
from skillhub_mcp.skills.visibility import Visibility

log = logging.getLogger(__name__)

MCP_PATH = "/mcp"

# Signatures whose keys an issuer can publish. A shared secret (HS256) is none, and `none` is no signature.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_SKILLS_CLAIM, _CATEGORIES_CLAIM = "skillhub_skills", "skillhub_categories"
_ONE_TOKEN = "token"  # noqa: S105 - what the bearer of SKILLHUB_TOKEN goes by
_SHOWN_NAME = 128


@dataclass(frozen=True, slots=True)
class JwtOptions:
    """Whose signed tokens are taken: who must have issued them, for whom, and where the issuer's keys are."""

    issuer: str
    audience: str
    jwks: str


@dataclass(frozen=True, slots=True)
class AuthOptions:
    """Which tokens are taken; an empty `token`, and None, stand for none. `public_url` is /mcp as clients reach it."""

    token: str = field(repr=False)
    tokens: PolicyFile[Tokens] | None
    jwt: JwtOptions | None
    public_url: str


class HubTokenVerifier(TokenVerifier):
    """Lets bearers in, and tells clients of the issuer where a token is to be had (RFC 9728)."""

    def __init__(self, options: AuthOptions) -> None:
        super().__init__(base_url=options.public_url.removesuffix(MCP_PATH) or None)
        self._digest = digest_of(options.token) if options.token else None
        self._file = options.tokens
        self._problem = ""
        self._jwt = None if options.jwt is None else _SignedTokens(options.jwt)
        self._issuer = None if options.jwt is None else options.jwt.issuer
        self._wrong = WrongTokens()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who bears `token`, or None where nobody knows it."""
        digest = digest_of(token)
        if self._digest is not None and hmac.compare_digest(digest, self._digest):
            return _callers_token(_ONE_TOKEN, Caller(_ONE_TOKEN))
        # How long a look-up takes tells something of a digest at most, and a digest tells nothing of its token.
        known = self._kept().get(digest)
        if known is not None:
            visibility = known.visibility if known.visibility.limits else None
            return _callers_token(f"named {known.name}", Caller(known.name, visibility))
        return None if self._jwt is None else await self._jwt.verify(token)

    def get_routes(self, mcp_path: str | None = None) -> list[Route]:
        """Return the route of the protected resource's metadata, where there is an issuer to tell of."""
        if self._issuer is None or self.base_url is None:
            return []
        return RemoteAuthProvider(self, [AnyHttpUrl(self._issuer)], self.base_url).get_routes(mcp_path)

    def get_middleware(self) -> list[Any]:
        """Return FastMCP's middleware, with a bound on wrong tokens in the one that looks at them."""
        _, *rest = super().get_middleware()
        backend = _Backend(self, self._wrong)
        return [Middleware(AuthenticationMiddleware, backend=backend, on_error=_refused), *rest]

    def _kept(self) -> Mapping[str, Token]:
        try:
            tokens = None if self._file is None else self._file.read()
        except TokensUnreadable as error:
            if error.message != self._problem:
                log.error("%s (%s): nobody with a token of it is let in until it is mended", error.message, error.path)  # noqa: TRY400 - its sentence says it all
            self._problem = error.message
            return {}
        self._problem = ""
        return {} if tokens is None else tokens.by_digest


class _SignedTokens:
    """The tokens of one issuer, by FastMCP's verifiers."""

    def __init__(self, options: JwtOptions) -> None:
        # Only who takes such tokens loads what checks them.
        from fastmcp.server.auth.providers.jwt import JWTVerifier

        self._verifiers = {
            algorithm: JWTVerifier(
                jwks_uri=options.jwks, issuer=options.issuer, audience=options.audience, algorithm=algorithm
            )
            for algorithm in _ALGORITHMS
        }

    async def verify(self, token: str) -> AccessToken | None:
        try:
            algorithm = decode_jwt_header(token).get("alg")
        except ValueError:
            return None
        verifier = self._verifiers.get(algorithm) if isinstance(algorithm, str) else None
        found = None if verifier is None else await verifier.verify_token(token)
        if found is None:
            return None
        name = _shown(found.subject or found.client_id)
        try:
            visibility = _filter(found)
        except BadTokens as problem:
            log.warning("A signed token of %s is not taken: %s", name, problem)
            return None
        caller = Caller(name, visibility if visibility.limits else None)
        return _callers_token(f"signed {found.subject or found.client_id}", caller, found)


class _Backend(BearerAuthBackend):
    """Looks at a request's token, but for those of an address that sent too many wrong ones."""

    def __init__(self, verifier: TokenVerifier, wrong: WrongTokens) -> None:
        super().__init__(verifier)
        self._wrong = wrong

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        token = conn.headers.get("authorization")
        if token is None:
            return None
        address = address_of(conn.scope)
        refused = self._wrong.wait(address, token)
        if refused is not None:
            raise _TooManyWrongTokens(refused)
        found: tuple[AuthCredentials, AuthenticatedUser] | None = await super().authenticate(conn)
        if found is None:
            self._wrong.was_wrong(address, token)
        else:
            self._wrong.was_right(token)
        return found


class _TooManyWrongTokens(AuthenticationError):
    def __init__(self, error: RateLimited) -> None:
        super().__init__(error.message)
        self.error = error


def _refused(_: HTTPConnection, error: AuthenticationError) -> Response:
    assert isinstance(error, _TooManyWrongTokens)  # noqa: S101 - for the type checker
    return too_many(error.error)


def _filter(signed: AccessToken) -> Visibility:
    """Return the filter in a token's claims. Raises BadTokens for a token that FastMCP takes and we do not."""
    if signed.expires_at is None:
        raise BadTokens("it never expires, so that nobody could take it back")
    begins = signed.claims.get("nbf", 0)
    if not isinstance(begins, int | float) or begins > time.time():
        raise BadTokens("its time has not come")
    return filter_of(signed.claims.get(_SKILLS_CLAIM, NOT_GIVEN), signed.claims.get(_CATEGORIES_CLAIM, NOT_GIVEN))


def _callers_token(client_id: str, caller: Caller, signed: AccessToken | None = None) -> CallerToken:
    """Return what goes on to the tools. The `client_id` tells callers apart, also those of two kinds and one name."""
    return CallerToken(
        token="",
        client_id=client_id,
        scopes=[] if signed is None else signed.scopes,
        expires_at=None if signed is None else signed.expires_at,
        subject=None if signed is None else signed.subject,
        claims={} if signed is None else {"iss": signed.claims.get("iss")},
        caller=caller,
    )


def _shown(name: str) -> str:
    """Return a name that somebody else gave as one line that a log may hold."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[:_SHOWN_NAME])
