"""Who may call over HTTP, and which skills may they have? Tokens as a file keeps them: named, hashed, filtered. Pure.

A token is 256 random bits, so nobody finds it by trying, and its plain SHA-256 tells nothing about it. A slow, salted
hash is for secrets that people choose; here it would only make every request slow.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from skillhub_mcp.skills.visibility import Visibility

_FORMAT = 1
_PREFIX = "skillhub_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEYS = frozenset({"name", "sha256", "skills", "categories", "created"})
NOT_GIVEN = object()


class BadTokens(ValueError):
    """Tokens, or a filter of skills, that cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Token:
    """One bearer: a name, the SHA-256 of the token in hexadecimal, and which skills it may have."""

    name: str
    digest: str = field(repr=False)
    visibility: Visibility
    created: str

    def as_json(self) -> dict[str, object]:
        """Return what may be shown of the token, which is all but its digest."""
        return {
            "name": self.name,
            "created": self.created,
            **({"skills": sorted(self.visibility.names)} if self.visibility.names else {}),
            **({"categories": sorted(self.visibility.categories)} if self.visibility.categories else {}),
        }


@dataclass(frozen=True)
class Tokens:
    """The tokens of one file, in its order."""

    tokens: tuple[Token, ...] = ()

    @cached_property
    def by_digest(self) -> Mapping[str, Token]:
        """The tokens by what `digest_of` returns for each."""
        return {token.digest: token for token in self.tokens}

    def named(self, name: str) -> Token | None:
        """Return the token of that name."""
        return next((token for token in self.tokens if token.name == name), None)

    def with_one(self, token: Token) -> Tokens:
        """Return the tokens and one more. Raises BadTokens where its name is taken."""
        if self.named(token.name) is not None:
            raise BadTokens(f"there is a token named {token.name!r} already")
        return Tokens((*self.tokens, token))

    def without(self, name: str) -> Tokens:
        """Return the tokens but for the one of that name."""
        return Tokens(tuple(token for token in self.tokens if token.name != name))


def make_token(name: str, visibility: Visibility) -> tuple[Token, str]:
    """Return a new token: what is kept of it, and the secret itself, which is kept nowhere.

    Raises BadTokens for a name that cannot be a token's.
    """
    _check_name(name)
    # The prefix lets scanners of leaked secrets recognise one.
    secret = _PREFIX + secrets.token_urlsafe(32)
    return Token(name, digest_of(secret), visibility, date.today().isoformat()), secret  # noqa: DTZ011 - the person's day


def digest_of(secret: str) -> str:
    """Return what a file keeps of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def filter_of(skills: object = NOT_GIVEN, categories: object = NOT_GIVEN) -> Visibility:
    """Return the filter that two lists of names make.

    Raises BadTokens for anything else than a list of at least one name: what is not understood widens nothing.
    """
    return Visibility(
        frozenset(_listed("skills", skills)),
        frozenset(category.lower() for category in _listed("categories", categories)),
    )


def parse_tokens(text: str) -> Tokens:
    """Return the tokens that a file holds. Raises BadTokens."""
    try:
        written = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise BadTokens(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise BadTokens("it is nested too deeply") from error
    if not isinstance(written, dict) or written.get("format") != _FORMAT or set(written) != {"format", "tokens"}:
        raise BadTokens(f'it must be an object with "format": {_FORMAT} and "tokens"')
    if not isinstance(written["tokens"], list):
        raise BadTokens("tokens must be a list")
    tokens = tuple(_token(f"tokens[{number}]", one) for number, one in enumerate(written["tokens"]))
    for what, seen in (("name", [one.name for one in tokens]), ("hash", [one.digest for one in tokens])):
        if len(set(seen)) < len(seen):
            raise BadTokens(f"two tokens have the same {what}")
    return Tokens(tokens)


def tokens_text(tokens: Tokens) -> str:
    """Return the file that holds `tokens`."""
    listed = [{**token.as_json(), "sha256": token.digest} for token in tokens.tokens]
    return json.dumps({"format": _FORMAT, "tokens": listed}, ensure_ascii=False, indent=2) + "\n"


def _token(place: str, written: object) -> Token:
    if not isinstance(written, dict):
        raise BadTokens(f"{place} must be an object")
    unknown = sorted(set(written) - _KEYS)
    if unknown:
        raise BadTokens(
            f"{place} has {unknown[0]!r}, which is not known; nothing narrows a token but skills, categories"
        )
    name, digest, created = written.get("name"), written.get("sha256"), written.get("created", "")
    if not isinstance(name, str) or not isinstance(created, str):
        raise BadTokens(f"{place}: name and created must be text")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BadTokens(f"{place}: sha256 must be 64 hexadecimal digits in lower case")
    try:
        _check_name(name)
        # A list that is there and empty, or null, must not come to mean every skill.
        visibility = filter_of(*(written.get(key, NOT_GIVEN) for key in ("skills", "categories")))
    except BadTokens as error:
        raise BadTokens(f"{place}: {error}") from error
    return Token(name, digest, visibility, created)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadTokens(f"{name!r} is not a name of 1 to 64 letters, digits, dots, hyphens and underscores")


def _listed(what: str, written: object) -> Sequence[str]:
    if written is NOT_GIVEN:
        return ()
    if not isinstance(written, list) or not written or not all(isinstance(one, str) and one.strip() for one in written):
        raise BadTokens(f"{what} must be a list of at least one name")
    return [one.strip() for one in written]


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # JSON lets the last one win in silence, and with it a filter disappear.
        raise BadTokens("a key stands twice in one object")
    return found
