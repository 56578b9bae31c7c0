"""Counts in sentences for people."""

from __future__ import annotations


def plural(count: int, thing: str, things: str = "") -> str:
    """Return a number and what it counts, such as `2 files`; `things` is the plural if not `thing` with an `s`."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"
