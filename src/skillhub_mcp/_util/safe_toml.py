"""TOML from other programs: read, or refused with a reason, in bounded time."""

from __future__ import annotations

import re
import sys
from typing import Any

# Parsers take time in the square of the parts of a dotted key.
_MOST_PARTS = 16
_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*"
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_PART}\.[ \t]*){{{_MOST_PARTS}}}", re.MULTILINE)


class BadToml(ValueError):
    """A text that is not TOML, or takes too long to read; the message says why."""


def check_toml(text: str, *, most_characters: int) -> None:
    """Raise BadToml for a text that would take too long to read."""
    if len(text) > most_characters:
        raise BadToml(f"it has more than {most_characters:,} characters")
    if _LONG_KEY.search(text):
        raise BadToml(f"it has a key of more than {_MOST_PARTS} parts")


def read_toml(text: str, *, most_characters: int) -> dict[str, Any]:
    """Return the values of a TOML text. Raises BadToml."""
    check_toml(text, most_characters=most_characters)
    if sys.version_info >= (3, 11):
        import tomllib as parser

        errors: tuple[type[Exception], ...] = (ValueError,)
    else:
        import tomlkit as parser
        from tomlkit.exceptions import TOMLKitError

        errors = (ValueError, TOMLKitError)
    try:
        return dict(parser.loads(text))
    except RecursionError as error:
        raise BadToml("it is nested too deep") from error
    except errors as error:
        raise BadToml(str(error)) from error
