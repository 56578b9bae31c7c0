"""Bearer tokens as a file holds them: name, SHA-256 of 256 random bits, and a filter of skills. Pure."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from skillhub_mcp._util.safe_json import BadJson, read_json, unique_keys
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.names import fold_name

_FORMAT = 1
_PREFIX = "skillhub_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEYS = frozenset({"name", "sha256", "skills", "categories", "created", "may_run", "expires", "group"})
NOT_GIVEN = object()


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its name, its SHA-256 in hexadecimal, the skills that it gives access to, and whether to run them.

    `expires` is the last day on which it is accepted. Tokens of one `group` are revoked together. Raises BadJson.
    """

    name: str
    digest: str = field(repr=False)
    visibility: Visibility
    created: str
    may_run: bool = False
    expires: str = ""
    group: str = ""

    def __post_init__(self) -> None:
        of_letters = "of 1 to 64 letters, digits, dots, hyphens and underscores"
        if not _NAME.fullmatch(self.name):
            raise BadJson(f"{self.name!r} is not a name {of_letters}")
        if self.group and not _NAME.fullmatch(self.group):
            raise BadJson(f"{self.group!r} is not a group {of_letters}")
        if self.expires and not _is_day(self.expires):
            raise BadJson(f"{self.expires!r} is not a day such as 2027-01-31")

    def is_accepted_on(self, day: date) -> bool:
        """Whether the token has not expired."""
        return not self.expires or day <= date.fromisoformat(self.expires)

    def as_json(self) -> dict[str, object]:
        """Return the public part of the token: everything but its digest."""
        return {
            "name": self.name,
            "created": self.created,
            **({"skills": sorted(self.visibility.names)} if self.visibility.names is not None else {}),
            **({"categories": sorted(self.visibility.categories)} if self.visibility.categories is not None else {}),
            **({"may_run": True} if self.may_run else {}),
            **({"expires": self.expires} if self.expires else {}),
            **({"group": self.group} if self.group else {}),
        }


@dataclass(frozen=True)
class Tokens:
    """The tokens of one file, in its order."""

    tokens: tuple[Token, ...] = ()

    @cached_property
    def by_digest(self) -> Mapping[str, Token]:
        """The tokens by digest, as `digest_of` returns it."""
        return {token.digest: token for token in self.tokens}

    def named(self, name: str) -> Token | None:
        """Return the token of that name."""
        return next((token for token in self.tokens if token.name == name), None)

    def with_token(self, token: Token) -> Tokens:
        """Return the tokens and one more. Raises BadJson if its name is taken."""
        if self.named(token.name) is not None:
            raise BadJson(f"there is a token named {token.name!r} already")
        return Tokens((*self.tokens, token))

    def without(self, *names: str) -> Tokens:
        """Return the tokens except those of the names."""
        return Tokens(tuple(token for token in self.tokens if token.name not in names))


def make_token(
    name: str, visibility: Visibility, *, may_run: bool = False, expires: str = "", group: str = ""
) -> tuple[Token, str]:
    """Return a new token and its secret, which is not stored anywhere. Raises BadJson for an invalid name or day."""
    # Scanners for leaked secrets recognise a token by its prefix.
    secret = _PREFIX + secrets.token_urlsafe(32)
    today = date.today().isoformat()  # noqa: DTZ011 - the user's day
    return Token(name, digest_of(secret), visibility, today, may_run, expires, group), secret


def digest_of(secret: str) -> str:
    """Return the digest of a token's secret, as a file holds it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def filter_of(skills: object = NOT_GIVEN, categories: object = NOT_GIVEN) -> Visibility:
    """Return the filter that two lists of names define. Raises BadJson for anything else."""
    return Visibility(
        None if skills is NOT_GIVEN else frozenset(_parse_names("skills", skills)),
        None if categories is NOT_GIVEN else frozenset(map(fold_name, _parse_names("categories", categories))),
    )


def may_run_of(value: object, place: str = "") -> bool:
    """Return whether a token lets its bearer run commands: not unless it says so. Raises BadJson but for a bool."""
    if value is NOT_GIVEN:
        return False
    if not isinstance(value, bool):
        raise BadJson(f"{place}may_run must be true or false")
    return value


def parse_tokens(text: str) -> Tokens:
    """Return the tokens that a file holds. Raises BadJson."""
    content = read_json(text, pairs=unique_keys)
    if not isinstance(content, dict) or content.get("format") != _FORMAT or set(content) != {"format", "tokens"}:
        raise BadJson(f'it must be an object with "format": {_FORMAT} and "tokens"')
    if not isinstance(content["tokens"], list):
        raise BadJson("tokens must be a list")
    tokens = tuple(_parse_token(f"tokens[{number}]", item) for number, item in enumerate(content["tokens"]))
    for what, seen in (("name", [token.name for token in tokens]), ("hash", [token.digest for token in tokens])):
        if len(set(seen)) < len(seen):
            raise BadJson(f"two tokens have the same {what}")
    return Tokens(tokens)


def tokens_text(tokens: Tokens) -> str:
    """Return the content of the file that holds `tokens`."""
    items = [{**token.as_json(), "sha256": token.digest} for token in tokens.tokens]
    return json.dumps({"format": _FORMAT, "tokens": items}, ensure_ascii=False, indent=2) + "\n"


def _parse_token(place: str, value: object) -> Token:
    if not isinstance(value, dict):
        raise BadJson(f"{place} must be an object")
    unknown = sorted(set(value) - _KEYS)
    if unknown:
        raise BadJson(f"{place} has the unknown key {unknown[0]!r}; only skills and categories narrow a token")
    may_run = may_run_of(value.get("may_run", NOT_GIVEN), f"{place}: ")
    digest = value.get("sha256")
    name, created, expires, group = (value.get(key, "") for key in ("name", "created", "expires", "group"))
    if not all(isinstance(text, str) for text in (name, created, expires, group)):
        raise BadJson(f"{place}: name, created, expires and group must be text")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BadJson(f"{place}: sha256 must be 64 hexadecimal digits in lower case")
    try:
        # A list that is present and empty, or null, must not mean every skill.
        visibility = filter_of(*(value.get(key, NOT_GIVEN) for key in ("skills", "categories")))
        return Token(name, digest, visibility, created, may_run, expires, group)
    except BadJson as error:
        raise BadJson(f"{place}: {error}") from error


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _parse_names(what: str, value: object) -> Sequence[str]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) and name.strip() for name in value):
        raise BadJson(f"{what} must be a list of at least one name")
    return [name.strip() for name in value]
