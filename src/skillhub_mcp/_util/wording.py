"""Counts and sizes in sentences for people."""

from __future__ import annotations

_KILO = 1_000


def plural(count: int, thing: str, things: str = "") -> str:
    """Return a number and what it counts, such as `2 files`; `things` is the plural if not `thing` with an `s`."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def size_text(count: int) -> str:
    """Return a number of bytes for people, such as `1.2 MB`."""
    size, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < _KILO:
            break
        size, unit = size / _KILO, larger
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
