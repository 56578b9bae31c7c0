"""Refuses NUL characters in arguments, before a text becomes a path, a name or a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from skillhub_mcp.errors import InvalidArgument

_SHOWN_NAME = 64


def refuse_nul(**arguments: object) -> None:
    """Raise InvalidArgument for the first argument with a NUL character in any of its texts, however deep."""
    for name, value in arguments.items():
        if _has_nul(value):
            raise InvalidArgument(name[:_SHOWN_NAME], "contains a NUL character", hint="remove it and call again")


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_has_nul(key) or _has_nul(item) for key, item in value.items())
    return isinstance(value, Iterable) and not isinstance(value, bytes) and any(map(_has_nul, value))
