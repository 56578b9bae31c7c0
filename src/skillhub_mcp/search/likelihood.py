"""How likely the first hit is the right one: a logistic over four numbers of a question and its ranking. Pure.

`bench/calibrate.py` fits the coefficients to judged questions: as people put them, as agents ask, and long texts, in
libraries of several sizes, with vectors and without. docs/benchmarks.md says how well they hold on questions that were
left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.index.impacts import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillhub_mcp.index.statistics import Statistics
    from skillhub_mcp.search.query import Query
    from skillhub_mcp.search.ranking import Ranking

# Added to a share before its logarithm, so that none is infinite.
_LEAST_SHARE = 0.02
_SECOND, _FIFTH = 1, 4


class Evidence(NamedTuple):
    """What speaks for the first hit of a question.

    `share` is its text score as a share, in 0..1, of what a skill could score that has every word often; a word that no
    skill has counts as the rarest. `words` is how many words the question has. `over_second` and `over_fifth` are by
    which share of its total, in 0..1, the first hit is ahead of those.
    """

    share: float
    words: int
    over_second: float
    over_fifth: float


class Coefficients(NamedTuple):
    """The weights of the logarithms of share and words, of the two distances, and the constant."""

    share: float
    words: float
    over_second: float
    over_fifth: float
    constant: float


COEFFICIENTS = Coefficients(share=3.37, words=1.84, over_second=2.48, over_fifth=2.91, constant=-1.58)


def evidence_of(query: Query, statistics: Statistics, ranking: Ranking) -> Evidence:
    """Return the evidence for the first of a ranking, which is not empty."""
    possible = sum(_rarities(query, statistics)) + statistics.rarity("") * len(query.unknown)
    return Evidence(
        share=float(ranking.words[0]) / max(WEIGHTS.largest * possible, 1e-9),
        words=len(query.clauses) + len(query.unknown),
        over_second=_ahead(ranking, _SECOND),
        over_fifth=_ahead(ranking, _FIFTH),
    )


def likelihood(evidence: Evidence) -> float:
    """Return the probability, in 0..1, that the first hit is right."""
    odds = sum(weight * number for weight, number in zip(COEFFICIENTS, weighed(evidence), strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


def weighed(evidence: Evidence) -> tuple[float, float, float, float, float]:
    """Return the numbers that the coefficients weigh, in their order."""
    share, words, over_second, over_fifth = evidence
    return math.log(share + _LEAST_SHARE), math.log1p(words), over_second, over_fifth, 1.0


def _rarities(query: Query, statistics: Statistics) -> Iterator[float]:
    """Yield the rarity of each clause: that of the rarest term that would satisfy it."""
    for clause in query.clauses:
        yield clause.weight * max(
            choice.weight * max(map(statistics.rarity, choice.terms)) for choice in clause.alternatives
        )


def _ahead(ranking: Ranking, place: int) -> float:
    first = float(ranking.totals[0])
    if place >= len(ranking.totals) or first <= 0.0:
        return 1.0
    return min(1.0, max(0.0, 1.0 - float(ranking.totals[place]) / first))
