"""Which names did the caller perhaps mean, and which are there at all? Pure; used on the error path only."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable

from skillhub_mcp.errors import SkillNotFound

_COMPARED = 200
_CUTOFF = 0.5
_LISTED_NAMES = 20


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


def not_found(wanted: str, names: Iterable[str], *, search_tool: str) -> SkillNotFound:
    """Return the error for a name that none of `names` is: the nearest of them, and the first in order of the others.

    `search_tool` finds those that the error has no room for.
    """
    there = sorted(set(names))
    near = near_names(wanted, there)
    guess = "did you mean " + " or ".join(repr(name) for name in near) + "? " if near else ""
    if near and set(near) == set(there):
        return SkillNotFound(wanted, near=near, hint=guess.strip())
    more = len(there) - _LISTED_NAMES
    listed = ", ".join(there[:_LISTED_NAMES]) or "(none)"
    rest = f" and {more:,} more, which {search_tool} finds" if more > 0 else ""
    return SkillNotFound(wanted, near=near, hint=f"{guess}{'A' if guess else 'a'}vailable skills: {listed}{rest}")


def _pairs(text: str) -> set[str]:
    folded = f" {text.lower()} "
    return {folded[i : i + 2] for i in range(len(folded) - 1)}
