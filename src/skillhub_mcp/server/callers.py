"""The caller: the bearer of the token that came with the current request, in whatever thread it is answered."""

from __future__ import annotations

from fastmcp.server.auth import AccessToken
from fastmcp.server.dependencies import get_access_token
from pydantic import Field

from skillhub_mcp.policy.visibility import Visibility

# The caller if none is named.
NAMELESS = "anonymous"


class CallerToken(AccessToken):
    """An accepted token, without the secret: its bearer, the filter of skills if it has one, whether they may run.

    The `client_id` distinguishes callers, also two of one name with tokens of other kinds.
    """

    token: str = ""
    scopes: list[str] = Field(default_factory=list)
    name: str
    visibility: Visibility | None = None
    may_run: bool = False


def current_caller() -> CallerToken | None:
    """Return the caller; None where no token is required, over stdio, and in threads that serve no request."""
    token = get_access_token()
    return token if isinstance(token, CallerToken) else None


def caller_name() -> str | None:
    """Return the caller's name, for a line in a log; None as for `current_caller`."""
    caller = current_caller()
    return None if caller is None else caller.name


def caller_key() -> str | None:
    """Return what tells the caller from every other."""
    caller = current_caller()
    return None if caller is None else caller.client_id


def caller_visibility() -> Visibility | None:
    """Return the caller's filter of skills; None is every skill that the server serves."""
    caller = current_caller()
    return None if caller is None else caller.visibility


def caller_may_run() -> bool:
    """Return whether the caller's token lets them run commands; without authentication every caller may."""
    caller = current_caller()
    return caller is None or caller.may_run
