"""The options of a server over HTTP: who may call it, from where, and how much."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.policy.files import tokens_file
from skillhub_mcp.settings import HttpSettings, Settings

if TYPE_CHECKING:
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.server.http.app import HttpOptions
    from skillhub_mcp.server.http.auth import AuthOptions, JwtOptions


def is_stateless(settings: Settings) -> bool:
    """Whether no session is kept in the 2025-11-25 protocol: of several workers or replicas, any may answer."""
    return settings.http.workers > 1 or settings.replica.read_only


def http_options(settings: Settings, *, host: str, port: int, metrics: Prometheus | None = None) -> HttpOptions:
    """Return the options of an HTTP server at an address.

    Raises InvalidSetting, also for a server that would be open to anonymous clients unintentionally, and
    TokensUnreadable.
    """
    from skillhub_mcp.server.http.app import HttpOptions

    http = settings.http
    auth = _auth_options(http)
    if auth is None and not http.allow_anonymous:
        _refuse_anonymous(settings, host)
    public = urlsplit(http.public_url)
    # A public address with TLS implies a proxy on this machine, since this server has no TLS.
    proxies = http.trusted_proxies
    if proxies is None:
        proxies = ("127.0.0.1", "::1") if public.scheme == "https" else ()
    return HttpOptions(
        host=host,
        port=port,
        allowed_hosts=(*http.allowed_hosts, *filter(None, [public.hostname])),
        allowed_origins=(*http.allowed_origins, *([f"{public.scheme}://{public.netloc}"] if public.netloc else [])),
        public_url=http.public_url,
        metrics=None if metrics is None else metrics.exposition,
        auth=auth,
        trusted_proxies=proxies,
        rate_limit=http.rate_limit,
        max_connections=http.max_connections,
        stateless=is_stateless(settings),
        # A balancer may ask another replica only before the first byte of an answer, and a stream sends that early.
        whole_answers=settings.replica.read_only,
        well_known=http.well_known,
        serve_dotfiles=settings.disclosure.serve_dotfiles,
    )


def _refuse_anonymous(settings: Settings, host: str) -> None:
    """Raise InvalidSetting for a server without tokens that other machines can reach, or that runs commands."""
    hint = "set SKILLHUB_TOKEN, or pass --allow-anonymous if access is restricted by other means"
    if not _is_this_machine(host):
        raise InvalidSetting("--host", host, "can be reached from other machines, and no token is required", hint=hint)
    if settings.execution.enable_run and settings.http.enable_run_over_http:
        reason = "allows anyone who can reach the server to run commands"
        raise InvalidSetting("--enable-run-over-http", "1", reason, hint=hint)


def _auth_options(http: HttpSettings) -> AuthOptions | None:
    """Return how clients over HTTP authenticate, or None if they need not."""
    named = {"SKILLHUB_JWT_AUDIENCE": http.jwt_audience, "SKILLHUB_JWT_JWKS": http.jwt_jwks}
    for name, value in named.items():
        if value and not http.jwt_issuer:
            raise InvalidSetting(name, value, "requires SKILLHUB_JWT_ISSUER, which is not set")
    if not (http.token or http.tokens_file or http.jwt_issuer):
        return None
    from skillhub_mcp.server.http.auth import AuthOptions

    tokens = tokens_file(http.tokens_file) if http.tokens_file else None
    if tokens is not None:
        # An unusable file is reported at startup, not by refusing every client.
        tokens.read()
    jwt = _jwt_options(http) if http.jwt_issuer else None
    return AuthOptions(token=http.token, tokens=tokens, jwt=jwt, public_url=http.public_url)


def _jwt_options(http: HttpSettings) -> JwtOptions:
    from skillhub_mcp.server.http.auth import JwtOptions

    if not http.jwt_audience:
        reason = "requires SKILLHUB_JWT_AUDIENCE; without it, a token issued for another service would be accepted here"
        hint = "set SKILLHUB_JWT_AUDIENCE to the issuer's claim aud for this server, such as the server's URL"
        raise InvalidSetting("SKILLHUB_JWT_ISSUER", http.jwt_issuer, reason, hint=hint)
    jwks = http.jwt_jwks or f"{http.jwt_issuer.rstrip('/')}/.well-known/jwks.json"
    url = urlsplit(jwks)
    if url.scheme != "https" and not _is_this_machine(url.hostname or ""):
        name, value = ("SKILLHUB_JWT_JWKS", jwks) if http.jwt_jwks else ("SKILLHUB_JWT_ISSUER", http.jwt_issuer)
        raise InvalidSetting(name, value, "must start with https://: keys changed in transit could sign any token")
    return JwtOptions(http.jwt_issuer, http.jwt_audience, jwks)


def _is_this_machine(host: str) -> bool:
    """Whether `host` is a loopback address, or a name that resolves to such only."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)
