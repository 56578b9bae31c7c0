"""How likely the first hit is the right one: a logistic over three numbers of a question and its ranking. Pure.

`bench/calibrate.py` fits the coefficients to judged questions: as people put them, as agents ask, and long texts, in
libraries of several sizes. docs/benchmarks.md says how well they hold on questions that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.index.impacts import WEIGHTS

if TYPE_CHECKING:
    from skillhub_mcp.index.statistics import Statistics
    from skillhub_mcp.search.query import Query
    from skillhub_mcp.search.ranking import Ranking

# Added to a share before its logarithm, so that none is infinite.
_LEAST_SHARE = 0.02


class Evidence(NamedTuple):
    """What speaks for the first hit of a question.

    `share` is its text score as a share, in 0..1, of what a skill could score that has every word often; a word that no
    skill has counts as the rarest. `words` is how many words the question has, and `nearness` the best of all hits, in
    0..1; None where there are no vectors.
    """

    share: float
    words: int
    nearness: float | None = None


class Coefficients(NamedTuple):
    """The weights of the logarithms of the share and of the number of words, of the nearness, and the constant."""

    share: float
    words: float
    nearness: float
    constant: float


WITH_VECTORS = Coefficients(1.0, 1.0, 1.0, 0.0)
BY_TEXT = Coefficients(1.0, 1.0, 0.0, 0.0)


def evidence_of(query: Query, statistics: Statistics, ranking: Ranking) -> Evidence:
    """Return the evidence for the first of a ranking, which is not empty."""
    import numpy as np

    possible = sum(_rarity(query, statistics)) + statistics.rarity("") * len(query.unknown)
    known = ranking.nearness[~np.isnan(ranking.nearness)]
    return Evidence(
        share=float(ranking.words[0]) / max(WEIGHTS.largest * possible, 1e-9),
        words=len(query.clauses) + len(query.unknown),
        nearness=float(known.max()) if len(known) else None,
    )


def likelihood(evidence: Evidence) -> float:
    """Return the probability, in 0..1, that the first hit is right."""
    by = BY_TEXT if evidence.nearness is None else WITH_VECTORS
    odds = sum(weight * number for weight, number in zip(by, numbers_of(evidence), strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


def numbers_of(evidence: Evidence) -> tuple[float, float, float, float]:
    """Return what the coefficients weigh."""
    return math.log(evidence.share + _LEAST_SHARE), math.log1p(evidence.words), evidence.nearness or 0.0, 1.0


def _rarity(query: Query, statistics: Statistics) -> Sequence[float]:
    """Return the rarity of each clause: that of the rarest term that would satisfy it."""
    return [
        clause.weight * max(choice.weight * max(map(statistics.rarity, choice.terms)) for choice in clause.alternatives)
        for clause in query.clauses
    ]
