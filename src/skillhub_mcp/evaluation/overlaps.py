"""Finds skills that compete for the same queries: each description is searched for, and the other hits are rivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.hub import FoundSkill, SkillHub
    from skillhub_mcp.index.progress import ProgressCallback
    from skillhub_mcp.skills.model import Skill

_QUERY_CHARACTERS = 300
_HITS = 5


@dataclass(frozen=True, slots=True)
class Overlap:
    """A skill and a rival that its description finds too; `share` is the rival's score relative to the skill's.

    With a share of 1 or more the rival ranks first for the skill's own description. `copy` means that they are nearly
    identical. `shared` are the words that match the rival.
    """

    skill: str
    rival: str
    share: float
    copy: bool
    shared: Sequence[str]


@dataclass(frozen=True, slots=True)
class OwnSearch:
    """How a skill is found by its own description.

    `rank` is its place among the `hits`, None where it is none of them; `overlaps` has the other hits.
    """

    rank: int | None
    hits: int
    overlaps: tuple[Overlap, ...]


def search_for_itself(hub: SkillHub, skill: Skill) -> OwnSearch:
    """Return how `skill` is found by its own description. Raises IndexUnavailable.

    A skill that is left out beside a hit that says nearly the same has the rank of that hit, and it for its rival.
    """
    hits = hub.search(skill.description[:_QUERY_CHARACTERS], limit=_HITS, explain=True).hits
    handle = hub.lookup.handle_of(skill.directory)
    found = (rank for rank, hit in enumerate(hits, start=1) if handle in (hit.handle, *hit.copies))
    rank = next(found, None)
    if handle is None or rank is None:
        return OwnSearch(None, len(hits), ())
    return OwnSearch(rank, len(hits), tuple(_rivals(handle, hits[rank - 1], hits)))


def find_overlaps(hub: SkillHub, *, least: float, progress: ProgressCallback) -> list[Overlap]:
    """Return the pairs with a share of at least `least`, the closest first. Raises IndexUnavailable."""
    skills = hub.skills()
    found: dict[frozenset[str], Overlap] = {}
    for number, skill in enumerate(skills):
        progress("comparing", number, len(skills))
        for overlap in search_for_itself(hub, skill).overlaps:
            pair = frozenset((overlap.skill, overlap.rival))
            if overlap.share >= least and (pair not in found or found[pair].share < overlap.share):
                found[pair] = overlap
    progress("comparing", len(skills), len(skills))
    return sorted(found.values(), key=lambda overlap: (-overlap.share, overlap.skill, overlap.rival))


def _rivals(handle: str, own: FoundSkill, hits: Sequence[FoundSkill]) -> list[Overlap]:
    """Return the rivals of the skill that `own` is, or stands for."""
    if own.score <= 0.0:
        return []
    same = [one for one in (own.handle, *own.copies) if one != handle]
    copies = [Overlap(handle, copy, 1.0, copy=True, shared=()) for copy in same]
    if own.handle != handle:
        # The other rivals are those of the hit that stands for it.
        return copies
    return copies + [
        Overlap(handle, hit.handle, hit.score / own.score, copy=False, shared=hit.matched[:_HITS])
        for hit in hits
        if hit is not own
    ]
