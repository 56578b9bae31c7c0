"""Scoring: BM25F over the fields of each candidate, and the other components of its score. Pure.

`rerankers.fixed` weighs and adds the components, `rerankers.model` may change the order, and `ranking` turns the sums
into the scores from 0 to 1 that a client sees.

BM25F: Robertson, Zaragoza and Taylor, Simple BM25 Extension to Multiple Weighted Fields (CIKM 2004). The body
improves results only if `k1` is raised together with the weights of the fields, and its length strongly normalised.

The weights of the fields were set by hand on the development queries and rounded; `skillhub eval run` repeats the
measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS, Terms, hash_phrase, hash_term, start_offsets
from skillhub_mcp.search.query import Alternative, Query, TermOrigin

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.index.statistics import Statistics

ALL_FIELDS = frozenset(FIELDS)
_K1 = 5.0
_GUESSED = 0.75
# All but the body.
_SHORT = slice(0, 4)


@dataclass(frozen=True)
class Weights:
    """The weight of a term in each field, and how strongly the length of the field is normalised, in 0..1."""

    fields: Mapping[str, float] = field(
        default_factory=lambda: {"name": 8.0, "description": 8.0, "tags": 4.0, "category": 2.0, "body": 1.0}
    )
    normalised: Mapping[str, float] = field(default_factory=lambda: {"description": 0.5, "body": 0.9})


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of the candidates, in their order, each component on its own.

    `words` is BM25F and has no upper bound; `meaning` and `phrase` are shares in 0..1; `coverage` is the share of the
    query, weighted by rarity, that the short fields have. `by_clause` has what each clause added to `words`:
    one row per clause, one column per candidate.
    """

    words: NDArray[Any]
    meaning: NDArray[Any]
    phrase: NDArray[Any]
    coverage: NDArray[Any]
    by_clause: NDArray[Any]

    @property
    def shares(self) -> NDArray[Any]:
        """The `words` score of each candidate as a share of the best."""
        best = float(self.words.max(initial=0.0))
        shares: NDArray[Any] = self.words / best if best else self.words
        return shares

    def matched(self, query: Query, column: int) -> list[str]:
        """Return the parts of the query that the candidate in that column has, the weightiest first."""
        worth = self.by_clause[:, column].tolist()
        best_first = sorted(range(len(worth)), key=worth.__getitem__, reverse=True)
        return list(dict.fromkeys(query.clauses[one].asked for one in best_first if worth[one] > 0.0))


def score(
    query: Query,
    terms: Terms,
    statistics: Statistics,
    *,
    nearness: Sequence[float | None] = (),
    fields: frozenset[str] = ALL_FIELDS,
    weights: Weights = WEIGHTS,
) -> Scores:
    """Return the scores of candidates by their `terms` in `fields` and by their `nearness`.

    More occurrences of a term never lower the `words` score, which depends on no other candidate.
    """
    import numpy as np

    table = _Table(query, terms, statistics, fields, weights)
    candidates = len(terms.lengths)
    by_clause = np.zeros((len(query.clauses), candidates))
    by_clause[table.answerable] = table.best_of_clauses(table.worth)
    # A clause without alternatives is as rare as a term that no skill has.
    rarity = np.full(len(query.clauses), statistics.rarity(""))
    rarity[table.answerable] = table.best_of_clauses(table.rarity)
    # Summed one after the other, in the order of the clauses, so that full coverage is exactly 1: `sum` compensates for
    # rounding from Python 3.12 on.
    covered = (rarity[table.answerable][:, None] * table.best_of_clauses(table.covering)).sum(axis=0)
    asked = reduce(add, rarity.tolist(), 0.0)
    words = by_clause.sum(axis=0)
    return Scores(
        words=words,
        meaning=_spread(nearness, words) if nearness else np.zeros(candidates),
        phrase=_phrases(query, terms) if {"name", "description"} <= fields else np.zeros(candidates),
        coverage=covered / asked if asked else covered,
        by_clause=by_clause,
    )


def _phrases(query: Query, terms: Terms) -> NDArray[Any]:
    """Return the share of the query's pairs of terms that are adjacent in each name or description."""
    import numpy as np

    having = terms.rows_with_phrases([hash_phrase(*pair) for pair in query.phrases])
    return np.bincount(having, minlength=len(terms.lengths)) / max(1, len(query.phrases))


def _certainty(choice: Alternative) -> float:
    """Return how much of its clause an alternative covers; a corrected spelling never covers enough alone."""
    return choice.weight * (_GUESSED if choice.origin is TermOrigin.SPELLING else 1.0)


def _spread(nearness: Sequence[float | None], words: NDArray[Any]) -> NDArray[Any]:
    """Return the nearness of each candidate, scaled from 0 for the farthest to 1 for the nearest.

    A candidate without a vector counts as near as its `words` say: as the farthest, it would come after all others
    until it is embedded.
    """
    import numpy as np

    known = [one for one in nearness if one is not None]
    if not known or max(known) <= min(known):
        return np.zeros(len(nearness))
    lowest, width = min(known), max(known) - min(known)
    best = float(words.max(initial=0.0)) or 1.0
    return np.array(
        [
            share / best if one is None else (one - lowest) / width
            for one, share in zip(nearness, words.tolist(), strict=True)
        ]
    )


def contributions(
    query: Query,
    terms: Terms,
    statistics: Statistics,
    *,
    fields: frozenset[str] = ALL_FIELDS,
    weights: Weights = WEIGHTS,
) -> list[list[Contribution]]:
    """Return for each candidate what each clause contributed to `words`, the largest first, without zeros."""
    table = _Table(query, terms, statistics, fields, weights)
    worth = table.worth.T.tolist()
    found: list[list[Contribution]] = [[] for _ in worth]
    begin = 0
    for clause in query.clauses:
        end = begin + len(clause.alternatives)
        for number, own in enumerate(found):
            values = worth[number][begin:end]
            best = max(values, default=0.0)
            if best > 0.0:
                choice = clause.alternatives[values.index(best)]
                own.append(Contribution(clause.asked, choice, best, table.fields_of(choice, number)))
        begin = end
    for own in found:
        own.sort(key=lambda one: -one.worth)
    return found


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a clause contributed to a score: its text, the matching alternative, how much, and in which fields."""

    asked: str
    choice: Alternative
    worth: float
    fields: tuple[str, ...]

    def describe(self) -> str:
        """Return it as text, such as `invoice 9.1 in name, body (translation of Rechnung)`."""
        source = "" if self.choice.origin is TermOrigin.ASKED else f" ({self.choice.origin.value} of {self.asked})"
        return f"{self.choice.text} {self.worth:.1f} in {', '.join(self.fields)}{source}"


class _Table:
    """The worth of each alternative of a query to each candidate: one row per alternative, in the order of the clauses.

    `covering` is how certainly a candidate has an alternative in its short fields, `rarity` the weighted rarity of its
    rarest term. `answerable` are the numbers of the clauses that have an alternative.
    """

    def __init__(
        self,
        query: Query,
        terms: Terms,
        statistics: Statistics,
        fields: frozenset[str],
        weights: Weights,
    ) -> None:
        import numpy as np

        self._numbers = {term: number for number, term in enumerate(query.terms)}
        self._found = found = terms.occurrences([hash_term(term) for term in self._numbers])
        rarity = np.array([statistics.rarity(term) for term in self._numbers])
        used = np.array([weights.fields[name] if name in fields else 0.0 for name in FIELDS])
        normalised = np.array([weights.normalised.get(name, 0.0) for name in FIELDS])
        length = 1.0 - normalised + normalised * terms.lengths / statistics.mean_lengths
        shares = (used / np.maximum(length, 1e-9)).T
        weighted = (found.counts * shares[:, found.rows]).sum(axis=0)
        # One row per term, one column per candidate.
        of_term, in_short = np.zeros((2, len(self._numbers), len(terms.lengths)))
        of_term[found.term_indices, found.rows] = rarity[found.term_indices] * weighted * (_K1 + 1.0) / (_K1 + weighted)
        self._in_use = used > 0.0
        in_short[found.term_indices, found.rows] = found.counts[_SHORT][self._in_use[_SHORT]].any(axis=0)

        choices = [choice for clause in query.clauses for choice in clause.alternatives]
        numbers = np.array([self._numbers[term] for choice in choices for term in choice.terms], dtype=np.intp)
        starts = start_offsets([len(choice.terms) for choice in choices])
        counted = np.array([choice.weight for choice in choices])
        certainty = np.array([_certainty(choice) for choice in choices])
        # An alternative of several terms is worth as much as its weakest term.
        self.worth = counted[:, None] * np.minimum.reduceat(of_term[numbers], starts)
        self.covering = certainty[:, None] * np.minimum.reduceat(in_short[numbers], starts)
        self.rarity = counted * np.maximum.reduceat(rarity[numbers], starts)
        self.answerable = [number for number, clause in enumerate(query.clauses) if clause.alternatives]
        self._clauses = start_offsets([len(query.clauses[number].alternatives) for number in self.answerable])

    def best_of_clauses(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the largest value among the alternatives of each answerable clause."""
        import numpy as np

        best: NDArray[Any] = np.maximum.reduceat(values, self._clauses)
        return best

    def fields_of(self, choice: Alternative, number: int) -> tuple[str, ...]:
        """Return the fields in which a candidate has a term of the alternative."""
        import numpy as np

        asked = np.isin(self._found.term_indices, [self._numbers[term] for term in choice.terms])
        having = self._found.counts[:, asked & (self._found.rows == number)].any(axis=1) & self._in_use
        return tuple(name for name, has in zip(FIELDS, having.tolist(), strict=True) if has)
