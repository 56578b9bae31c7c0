"""Find skills that compete for the same queries: the other hits of a search for each description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.hub import FoundSkill, SkillHub
    from skillhub_mcp.index.progress import ProgressCallback
    from skillhub_mcp.skills.model import Skill

LEAST_SHARE = 0.8
"""The share of a skill's own score from which on another competes with it."""

_QUERY_CHARACTERS = 300
_HITS = 5


@dataclass(frozen=True, slots=True)
class Overlap:
    """A rival that a skill's description finds, its relative score `share`, and the `shared` words."""

    skill: str
    rival: str
    share: float
    copy: bool
    shared: Sequence[str]


@dataclass(frozen=True, slots=True)
class OwnSearch:
    """How a skill is found by its own description: its `rank` among the `hits`, if any, and the other hits."""

    rank: int | None
    hits: int
    overlaps: tuple[Overlap, ...]


def search_for_itself(hub: SkillHub, skill: Skill) -> OwnSearch:
    """Return how `skill` is found by its own description; a near copy has its hit's rank. Raises IndexUnavailable."""
    hits = hub.search(skill.description[:_QUERY_CHARACTERS], limit=_HITS, explain=True).hits
    handle = hub.lookup.handle_of(skill.directory)
    found = (rank for rank, hit in enumerate(hits, start=1) if handle in (hit.handle, *hit.copies))
    rank = next(found, None)
    if handle is None or rank is None:
        return OwnSearch(None, len(hits), ())
    return OwnSearch(rank, len(hits), tuple(_rivals(handle, hits[rank - 1], hits)))


def find_overlaps(hub: SkillHub, progress: ProgressCallback) -> list[Overlap]:
    """Return the pairs with a share of at least `LEAST_SHARE`, the closest first. Raises IndexUnavailable."""
    skills = hub.skills()
    found: dict[frozenset[str], Overlap] = {}
    for number, skill in enumerate(skills):
        progress("comparing", number, len(skills))
        for overlap in search_for_itself(hub, skill).overlaps:
            pair = frozenset((overlap.skill, overlap.rival))
            if overlap.share >= LEAST_SHARE and (pair not in found or found[pair].share < overlap.share):
                found[pair] = overlap
    progress("comparing", len(skills), len(skills))
    return sorted(found.values(), key=lambda overlap: (-overlap.share, overlap.skill, overlap.rival))


def _rivals(handle: str, own: FoundSkill, hits: Sequence[FoundSkill]) -> list[Overlap]:
    if own.score <= 0.0:
        return []
    same = [one for one in (own.handle, *own.copies) if one != handle]
    copies = [Overlap(handle, copy, 1.0, copy=True, shared=()) for copy in same]
    if own.handle != handle:
        return copies
    return copies + [
        Overlap(handle, hit.handle, hit.score / own.score, copy=False, shared=hit.matched[:_HITS])
        for hit in hits
        if hit is not own
    ]
