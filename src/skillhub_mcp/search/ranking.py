"""Ranking: the final score of each hit from 0 to 1, their order, whether the best fits, and what is cut. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from skillhub_mcp.index.candidate import Candidate
    from skillhub_mcp.search.scoring import Scores

NEVER_CUT = 5
NEAR_MISSES = 3

# By text alone a fitting skill scores at least this times the logarithm of the number of skills: 99 of 100 do, while
# two thirds of the queries that nothing fits stay below. docs/benchmarks.md has the curve.
_FITTING = 2.6
# A skill whose name and description cover this share of the query, by rarity, fits however short the query is.
_COVERED = 0.7
# The score shown at that limit: above it a skill fits, below it is a near miss.
HALF = 0.5


class Reason(str, Enum):
    """What found a hit."""

    TEXT = "text"
    VECTOR = "vector"
    BOTH = "text and vector"


class Hit(NamedTuple):
    """A skill that was found: its directory (the key of the row), a score in 0..1, and what found it.

    A score of one half or more means that the skill fits, whatever the query and however many skills there are.
    """

    directory: str
    score: float
    reason: Reason

    @property
    def fits(self) -> bool:
        """Whether the score says that the skill fits."""
        return self.score >= HALF


def rank(
    candidates: Sequence[Candidate],
    scores: Scores,
    totals: Sequence[float],
    *,
    skills: int,
    meaning_alone: bool = False,
    usual_nearness: float | None = None,
    named: frozenset[str] = frozenset(),
) -> list[Hit]:
    """Return the candidates that score at all as hits, best first; equal ones keep their order.

    `totals` are the reranked scores. The score of the best hit is its fitness among that many `skills`; the others
    keep their ratio to it. With `meaning_alone` the cosine is the score. A skill `named` like the query comes first and
    fits.
    """
    if meaning_alone:
        near = [Hit(one.directory, min(1.0, max(0.0, one.nearness or 0.0)), Reason.VECTOR) for one in candidates]
        return sorted(near, key=_score, reverse=True)
    if named:
        first = 1.0 + max(totals, default=0.0)
        totals = [first if one.directory in named else total for one, total in zip(candidates, totals, strict=True)]
    top = max(totals, default=0.0)
    fit = 1.0 if named else fitness(candidates, scores, totals, skills=skills, usual_nearness=usual_nearness)
    found = [
        Hit(one.directory, fit * total / top if total > 0.0 else 0.0, _reason(one, words))
        for one, total, words in zip(candidates, totals, scores.words.tolist(), strict=True)
        if words > 0.0 or one.nearness is not None or one.directory in named
    ]
    return sorted(found, key=_score, reverse=True)


def _reason(candidate: Candidate, words: float) -> Reason:
    if candidate.nearness is None:
        return Reason.TEXT
    return Reason.BOTH if words > 0.0 else Reason.VECTOR


def fitness(
    candidates: Sequence[Candidate],
    scores: Scores,
    totals: Sequence[float],
    *,
    skills: int,
    usual_nearness: float | None = None,
) -> float:
    """Return how well the best candidate fits, in 0..1; from one half on it fits.

    The weight of a word grows with the logarithm of the number of skills, so scores are measured by it. Where the
    `usual_nearness` of a barely fitting skill is known, text counts less the farther the nearest candidate is.
    """
    if not totals:
        return 0.0
    best = max(range(len(totals)), key=totals.__getitem__)
    strength = float(scores.words.max(initial=0.0)) / (_FITTING * math.log1p(max(1, skills)))
    if usual_nearness is not None:
        nearest = max((one.nearness for one in candidates if one.nearness is not None), default=usual_nearness)
        strength *= max(0.0, nearest) / usual_nearness
    coverage = float(scores.coverage[best])
    by_coverage = HALF + (coverage - _COVERED) * HALF / (1.0 - _COVERED) if coverage >= _COVERED else 0.0
    # Without a shared word there is the cosine alone, which says little.
    nearness = 0.0 if strength else max(0.0, candidates[best].nearness or 0.0) * HALF
    return min(1.0, max(strength * HALF, by_coverage, nearness))


def confident(hits: Sequence[Hit], *, threshold: float) -> bool:
    """Whether the best of `hits` reaches `threshold`."""
    return bool(hits) and hits[0].score >= threshold


def cut_tail(hits: Sequence[Hit], *, threshold: float, limit: int) -> list[Hit]:
    """Keep at most `limit` hits; of more than five, only those with score/top of at least `threshold`.

    `hits` are best first.
    """
    kept = list(hits)
    if len(kept) > NEVER_CUT:
        top = kept[0].score
        kept = [hit for hit in kept if top <= 0.0 or hit.score / top >= threshold]
    return kept[:limit]


_score = attrgetter("score")
