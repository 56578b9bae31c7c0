"""Ranking: the BM25F score of every candidate, and the nearness in meaning of the best. Pure.

1. A clause is worth the best of its alternatives that the skill has: rarity times impact. The impact of a term on a
   skill is BM25F's saturated frequency over the weighted fields (`search.impacts`), computed when it was indexed.
2. The text score of a skill is the sum over the clauses; its share of the best one's is between 0 and 1.
3. Where there are vectors, the nearness of the best by text is added: a cosine on the scale of the library's own
   descriptions. What is farther than two of these mostly are loses by it. With a provider's model the nearest of all
   skills are candidates, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.search.candidates import Candidates
    from skillhub_mcp.search.query import Alternative, Query


_MOST_TIED = 10


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best skills by their numbers in the index, best first, and why: arrays of one length.

    `words` are text scores; `nearness` shares in 0..1, NaN without a vector; `totals` what they are ordered by.
    """

    numbers: NDArray[Any]
    words: NDArray[Any]
    nearness: NDArray[Any]
    totals: NDArray[Any]

    def ordered_by(self, totals: NDArray[Any]) -> Ranking:
        """Return the same skills by other totals, in their order; of equal ones what came first stays first."""
        import numpy as np

        order = np.argsort(-totals, kind="stable")
        return Ranking(self.numbers[order], self.words[order], self.nearness[order], totals[order])

    def with_best_in(self, order: NDArray[Any]) -> Ranking:
        """Return the same skills, the best of them in the `order` of their places, and then the others.

        Each place keeps its total, by which confidence and the tail cut were computed.
        """
        import numpy as np

        places = np.concatenate([order, np.arange(len(order), len(self.numbers))])
        return Ranking(self.numbers[places], self.words[places], self.nearness[places], self.totals)

    def with_first(self, number: int | None) -> Ranking:
        """Return the same skills with that of a number, if given, before all others."""
        import numpy as np

        if number is None:
            return self
        ahead = 1.0 + float(self.totals.max(initial=0.0))
        return self.ordered_by(np.where(self.numbers == number, ahead, self.totals))


def text_scores(query: Query, candidates: Candidates) -> NDArray[Any]:
    """Return the text score of every candidate: shape (candidates,). Each occurrence of a term of the query adds."""
    import numpy as np

    scores = np.zeros(len(candidates.directories), dtype=np.float32)
    for clause in query.clauses:
        most = np.zeros_like(scores)
        for numbers, worth in (_worth_of(choice, candidates) for choice in clause.alternatives):
            most[numbers] = np.maximum(most[numbers], worth)
        scores += clause.weight * most
    return scores


def _worth_of(choice: Alternative, candidates: Candidates) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the numbers of the skills that have all terms of an alternative, and what its weakest is worth to each."""
    import numpy as np

    (numbers, worth), *others = (
        (numbers, candidates.statistics.rarity(term) * impacts)
        for term in choice.terms
        for numbers, impacts in [candidates.postings(term)]
    )
    for own, own_worth in others:
        numbers, here, there = np.intersect1d(numbers, own, assume_unique=True, return_indices=True)
        worth = np.minimum(worth[here], own_worth[there])
    return numbers, choice.weight * worth


def best(scores: NDArray[Any], *, limit: int) -> NDArray[Any]:
    """Return the numbers of up to `limit` skills that score above 0, best first, and of those that tie with the last.

    Where more than ten times as many would be returned, the lower numbers are.
    """
    import numpy as np

    found = (scores > 0.0).nonzero()[0]
    if limit < len(found):
        # Scores below the last wanted one need no sorting.
        found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
    return found[np.argsort(-scores[found], kind="stable")][: limit * _MOST_TIED]


def rank(
    words: NDArray[Any],
    numbers: NDArray[Any],
    nearness: NDArray[Any],
    *,
    meaning: float,
    by_meaning_alone: bool = False,
) -> Ranking:
    """Return the skills of those `numbers` best first; `words` has the text score of every skill.

    A skill without a vector counts as near as its words say: as the farthest, it would come after all others until it
    is embedded. A nearness below 0 takes from the total; the ranking says 0.
    """
    import numpy as np

    own = words[numbers].astype(np.float64)
    shares = own / max(float(own.max(initial=0.0)), 1e-9)
    near = np.where(np.isnan(nearness), shares, nearness)
    found = Ranking(numbers, own, np.maximum(nearness, 0.0), near)
    return found.ordered_by(near if by_meaning_alone else shares + meaning * near)
