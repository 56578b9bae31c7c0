"""A digest of many texts in any order, which costs after a change what the change costs: the sum of a SHA-256 of each.

It tells collections apart. Who could choose the texts could make two collections with one sum: nothing decides on trust
by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_SUMS = 1 << 256


def summed(texts: Iterable[str], *, without: Iterable[str] = (), before: int = 0) -> int:
    """Return the sum `before`, with some texts and without others, as a number in 0..2^256 - 1."""
    return (before + _sum(texts) - _sum(without)) % _SUMS


def as_hex(total: int) -> str:
    """Return a sum as 64 hexadecimal digits."""
    return f"{total:064x}"


def _sum(texts: Iterable[str]) -> int:
    total, sha256, number = 0, hashlib.sha256, int.from_bytes
    for text in texts:
        total += number(sha256(text.encode("utf-8", "surrogateescape")).digest(), "big")
    return total
