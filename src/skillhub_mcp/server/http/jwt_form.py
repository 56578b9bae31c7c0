"""The form of a JSON Web Token, checked before a library that expects a well-meant one is given it."""

from __future__ import annotations

import base64
import json
from typing import NoReturn

_MAX_CHARACTERS = 16_384
_PARTS = 3
_TIMES = ("exp", "nbf", "iat")
# The last second of the year 9999.
_LATEST = 253_402_300_799


class Malformed(ValueError):
    """A token is no JSON Web Token that could ever be accepted."""


def algorithm_of(token: str) -> str:
    """Return the algorithm that a token's header names; neither it nor anything else is verified.

    Raises Malformed unless the header and the claims are JSON objects (no Infinity, no half surrogate pairs, no depth
    that exhausts the stack), and times are numbers of seconds.
    """
    parts = token.split(".")
    if len(token) > _MAX_CHARACTERS or len(parts) != _PARTS:
        raise Malformed("it is too long, or has not three parts")
    header, claims = _object(parts[0]), _object(parts[1])
    for name in _TIMES:
        time = claims.get(name, 0)
        # None is "not given"; whether it has to be is decided where the signature is known.
        if time is not None and not _is_time(time):
            raise Malformed(f"{name} is no time")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str):
        raise Malformed("alg is no text")
    return algorithm


def _object(part: str) -> dict[str, object]:
    try:
        found = json.loads(base64.urlsafe_b64decode(f"{part}{'=' * (-len(part) % 4)}"), parse_constant=_refuse)
        # Half of a surrogate pair cannot be written anywhere.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Malformed("a part is no JSON") from error
    if not isinstance(found, dict):
        raise Malformed("a part is no object")
    return found


def _is_time(value: object) -> bool:
    # Infinity and NaN are within no bounds.
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LATEST <= value <= _LATEST


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
