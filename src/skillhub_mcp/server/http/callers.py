"""Who is asking? The bearer of the token that came with the present request, in whatever thread it is answered."""

from __future__ import annotations

from dataclasses import dataclass

from fastmcp.server.auth import AccessToken
from fastmcp.server.dependencies import get_access_token

from skillhub_mcp.skills.visibility import Visibility


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose token was let in: what they go by, and which skills they may have, where that is narrowed."""

    name: str
    visibility: Visibility | None = None


class CallerToken(AccessToken):
    """A token that was let in, with whom it stands for. It does not hold the secret itself."""

    caller: Caller


def present_caller() -> Caller | None:
    """Return who is asking: None where no token is asked for, over stdio, and in threads that serve nobody."""
    token = get_access_token()
    return token.caller if isinstance(token, CallerToken) else None


def caller_name() -> str | None:
    """Return what whoever is asking goes by, for a line in a log; None as for `present_caller`."""
    caller = present_caller()
    return None if caller is None else caller.name


def caller_visibility() -> Visibility | None:
    """Return which skills whoever is asking may have; None is all that the server serves."""
    caller = present_caller()
    return None if caller is None else caller.visibility
