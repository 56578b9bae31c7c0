"""Suggestions for unknown names: the nearest known names, and the not-found error that lists them. Pure."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable

from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.skills.names import fold_name

_COMPARED = 200
_CUTOFF = 0.6
_LISTED_NAMES = 20


def near_names(wanted: str, names: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return at most `limit` of `names` that resemble `wanted`, the nearest first."""
    pairs = _letter_pairs(wanted)
    shared = ((len(pairs & _letter_pairs(name)), name) for name in names)
    likely = [name for _, name in heapq.nlargest(_COMPARED, shared)]
    by_folded = {fold_name(name): name for name in reversed(likely)}
    close = difflib.get_close_matches(fold_name(wanted), by_folded, n=limit, cutoff=_CUTOFF)
    return [by_folded[name] for name in close]


def not_found(wanted: str, names: Iterable[str], *, search_tool: str, reason: str = "") -> SkillNotFound:
    """Return the not-found error with the nearest names, the first in order, and the `reason` if known."""
    # They mostly come in order.
    available = sorted(dict.fromkeys(names))
    near = near_names(wanted, available)
    guess = "did you mean " + " or ".join(repr(name) for name in near) + "? " if near else ""
    if near and set(near) == set(available):
        return SkillNotFound(wanted, near=near, hint=guess.strip(), reason=reason)
    more = len(available) - _LISTED_NAMES
    listed = ", ".join(available[:_LISTED_NAMES]) or "(none)"
    rest = (f" and {more:,} more" + (f", which {search_tool} finds" if search_tool else "")) if more > 0 else ""
    hint = f"{guess}{'A' if guess else 'a'}vailable skills: {listed}{rest}"
    return SkillNotFound(wanted, near=near, hint=hint, reason=reason)


def _letter_pairs(text: str) -> set[str]:
    folded = f" {fold_name(text)} "
    return {folded[i : i + 2] for i in range(len(folded) - 1)}
