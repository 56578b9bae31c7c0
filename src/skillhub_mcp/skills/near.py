"""Which names did the caller perhaps mean? Pure; used on the error path only."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable

_COMPARED = 200
_CUTOFF = 0.5


def near_names(wanted: str, names: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return at most `limit` of `names` that look like `wanted`, the nearest first.

    Names are first ranked by shared letter pairs, which is cheap for 100,000 of them; only the best of those
    are compared letter by letter.
    """
    pairs = _pairs(wanted)
    likely = heapq.nlargest(_COMPARED, names, key=lambda name: (len(pairs & _pairs(name)), name))
    by_folded = {name.lower(): name for name in reversed(likely)}
    close = difflib.get_close_matches(wanted.lower(), by_folded, n=limit, cutoff=_CUTOFF)
    return [by_folded[name] for name in close]


def _pairs(text: str) -> set[str]:
    folded = f" {text.lower()} "
    return {folded[i : i + 2] for i in range(len(folded) - 1)}
