"""Which skills compete for the same queries? Each skill's own description is asked for, and who else answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.hub import SearchAnswer, SkillHub
    from skillhub_mcp.index.progress import ProgressCallback

_ASKED_CHARACTERS = 300
_HITS = 5


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two skills that one's own description finds: the skill, its rival, and the rival's share of the skill's score.

    A share of 1 or more says that the rival comes first for what the skill says of itself. `copy` says that the two
    say nearly the same. `shared` are the words that bring the rival in.
    """

    skill: str
    rival: str
    share: float
    copy: bool
    shared: Sequence[str]


def find_overlaps(hub: SkillHub, *, least: float, progress: ProgressCallback) -> list[Overlap]:
    """Return the pairs in which a rival has at least the share `least`, the closest first. Raises IndexUnavailable."""
    skills = hub.skills()
    found: dict[frozenset[str], Overlap] = {}
    for number, skill in enumerate(skills):
        progress("comparing", number, len(skills))
        answer = hub.search(skill.description[:_ASKED_CHARACTERS], limit=_HITS)
        for overlap in _rivals(skill.directory, answer):
            pair = frozenset((overlap.skill, overlap.rival))
            if overlap.share >= least and (pair not in found or found[pair].share < overlap.share):
                found[pair] = overlap
    progress("comparing", len(skills), len(skills))
    return sorted(found.values(), key=lambda one: (-one.share, one.skill, one.rival))


def _rivals(directory: str, answer: SearchAnswer) -> list[Overlap]:
    own = next((hit for hit in answer.hits if hit.skill.directory == directory), None)
    if own is None or own.score <= 0.0:
        return []
    copies = [Overlap(own.handle, copy, 1.0, copy=True, shared=()) for copy in own.copies]
    return copies + [
        Overlap(own.handle, hit.handle, hit.score / own.score, copy=False, shared=hit.matched[:_HITS])
        for hit in answer.hits
        if hit is not own
    ]
