"""TOML from other programs: read, or refused with a reason, in bounded time."""

from __future__ import annotations

import re
from typing import Any

# Parsers take time in the square of the parts of a dotted key.
_MOST_PARTS = 16
_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*"
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_PART}\.[ \t]*){{{_MOST_PARTS}}}", re.MULTILINE)


class BadToml(ValueError):
    """A text that is not TOML, or takes too long to read; the message says why."""


def read_toml(text: str, *, most_characters: int) -> dict[str, Any]:
    """Return the values of a TOML text. Raises BadToml, also for a text that would take too long to read."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if len(text) > most_characters:
        raise BadToml(f"it has more than {most_characters:,} characters")
    if _LONG_KEY.search(text):
        raise BadToml(f"it has a key of more than {_MOST_PARTS} parts")
    try:
        return tomlkit.parse(text).unwrap()
    except RecursionError as error:
        raise BadToml("it is nested too deep") from error
    except (ValueError, TOMLKitError) as error:
        raise BadToml(str(error)) from error
