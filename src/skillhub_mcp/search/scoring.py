"""How well does each candidate fit? BM25F over the fields, and what rerankers go by besides. Pure functions.

BM25F: Robertson, Zaragoza and Taylor, Simple BM25 Extension to Multiple Weighted Fields (CIKM 2004). The body pays
only with a `k1` raised in step with the fields' weights, and with its length normalised hard.

Weights were set by hand on the development queries and rounded; `skillhub eval run` repeats the measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS, Terms, hash_of, phrase_hash, starts_of
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
    """What a term counts in each field, and how far a field's length takes away from that, in 0..1."""

    fields: Mapping[str, float] = field(
        default_factory=lambda: {"name": 8.0, "description": 8.0, "tags": 4.0, "category": 2.0, "body": 1.0}
    )
    normalised: Mapping[str, float] = field(default_factory=lambda: {"description": 0.5, "body": 0.9})


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Scores:
    """The candidates' scores, in their order, each part on its own.

    `words` is BM25F and has no upper bound; `meaning` and `phrase` are shares in 0..1; `coverage` is the share of what
    was asked for, by rarity, that the short fields have. `by_clause` holds what each clause added to `words`: a row a
    clause, a column a candidate.
    """

    words: NDArray[Any]
    meaning: NDArray[Any]
    phrase: NDArray[Any]
    coverage: NDArray[Any]
    by_clause: NDArray[Any]

    @property
    def shares(self) -> NDArray[Any]:
        """The words of each as a share of the best."""
        best = float(self.words.max(initial=0.0))
        shares: NDArray[Any] = self.words / best if best else self.words
        return shares

    def matched(self, question: Query, number: int) -> list[str]:
        """Return what was asked for that a candidate has, what counts most first."""
        worth = self.by_clause[:, number].tolist()
        best_first = sorted(range(len(worth)), key=worth.__getitem__, reverse=True)
        return list(dict.fromkeys(question.clauses[one].asked for one in best_first if worth[one] > 0.0))


def score(
    question: Query,
    terms: Terms,
    statistics: Statistics,
    *,
    nearness: Sequence[float | None] = (),
    fields: frozenset[str] = ALL_FIELDS,
    weights: Weights = WEIGHTS,
) -> Scores:
    """Return how well each candidate fits by its `terms` and its `nearness`; only what stands in `fields` counts.

    A candidate with more of a term never scores less in `words`, and what a candidate scores there depends on no other.
    """
    import numpy as np

    table = _Table(question, terms, statistics, fields, weights)
    candidates = len(terms.lengths)
    by_clause = np.zeros((len(question.clauses), candidates))
    by_clause[table.answerable] = table.best_of_clauses(table.worth)
    # What nothing can stand for is as rare as what no skill has.
    rarity = np.full(len(question.clauses), statistics.rarity(""))
    rarity[table.answerable] = table.best_of_clauses(table.rarity)
    # Added up in the same order as what was asked for, so that all of it is a share of exactly 1.
    covered = (rarity[table.answerable][:, None] * table.best_of_clauses(table.standing)).sum(axis=0)
    asked = sum(rarity.tolist())
    return Scores(
        words=by_clause.sum(axis=0),
        meaning=_spread(nearness) if nearness else np.zeros(candidates),
        phrase=_phrases(question, terms) if {"name", "description"} <= fields else np.zeros(candidates),
        coverage=covered / asked if asked else covered,
        by_clause=by_clause,
    )


def _phrases(question: Query, terms: Terms) -> NDArray[Any]:
    """Return which share of the question's pairs of terms stand side by side in each name or description."""
    import numpy as np

    having = terms.having_phrases([phrase_hash(*pair) for pair in question.phrases])
    return np.bincount(having, minlength=len(terms.lengths)) / max(1, len(question.phrases))


def _certainty(choice: Alternative) -> float:
    """Return for how much of its clause an alternative stands; a guess at what was meant never for enough of it."""
    return choice.weight * (_GUESSED if choice.origin is TermOrigin.SPELLING else 1.0)


def _spread(nearness: Sequence[float | None]) -> NDArray[Any]:
    """Return how near each candidate is, from 0 for the farthest of them to 1 for the nearest."""
    import numpy as np

    known = [one for one in nearness if one is not None]
    if not known or max(known) <= min(known):
        return np.zeros(len(nearness))
    lowest, width = min(known), max(known) - min(known)
    return np.array([0.0 if one is None else (one - lowest) / width for one in nearness])


def contributions(
    question: Query,
    terms: Terms,
    statistics: Statistics,
    *,
    fields: frozenset[str] = ALL_FIELDS,
    weights: Weights = WEIGHTS,
) -> list[list[Contribution]]:
    """Return for each candidate what each clause brought it in `words`, the most first; those that brought nothing
    are left out.
    """
    table = _Table(question, terms, statistics, fields, weights)
    worth = table.worth.T.tolist()
    found: list[list[Contribution]] = [[] for _ in worth]
    begin = 0
    for clause in question.clauses:
        end = begin + len(clause.alternatives)
        for number, own in enumerate(found):
            values = worth[number][begin:end]
            best = max(values, default=0.0)
            if best > 0.0:
                choice = clause.alternatives[values.index(best)]
                own.append(Contribution(clause.asked, choice, best, table.where(choice, number)))
        begin = end
    for own in found:
        own.sort(key=lambda one: -one.worth)
    return found


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a clause brought a skill: the words asked for, what stood for them, how much, and in which fields."""

    asked: str
    choice: Alternative
    worth: float
    fields: tuple[str, ...]

    def told(self) -> str:
        """Return it for a person or a model to read, such as `invoice 9.1 in name, body (translation of Rechnung)`."""
        source = "" if self.choice.origin is TermOrigin.ASKED else f" ({self.choice.origin.value} of {self.asked})"
        return f"{self.choice.text} {self.worth:.1f} in {', '.join(self.fields)}{source}"


class _Table:
    """What each alternative of a question is worth to each candidate: a row an alternative, in the clauses' order.

    `standing` is how certainly a candidate has an alternative in its short fields, `rarity` how rare its rarest term
    is, by what it counts. `answerable` are the numbers of the clauses that have any alternative.
    """

    def __init__(
        self,
        question: Query,
        terms: Terms,
        statistics: Statistics,
        fields: frozenset[str],
        weights: Weights,
    ) -> None:
        import numpy as np

        self._numbers = {term: number for number, term in enumerate(question.terms)}
        self._found = found = terms.occurrences([hash_of(term) for term in self._numbers])
        rarity = np.array([statistics.rarity(term) for term in self._numbers])
        used = np.array([weights.fields[name] if name in fields else 0.0 for name in FIELDS])
        normalised = np.array([weights.normalised.get(name, 0.0) for name in FIELDS])
        length = 1.0 - normalised + normalised * terms.lengths / statistics.mean_lengths
        shares = (used / np.maximum(length, 1e-9)).T
        weighted = (found.counts * shares[:, found.rows]).sum(axis=0)
        # A row a term, a column a candidate.
        of_term, in_short = np.zeros((2, len(self._numbers), len(terms.lengths)))
        of_term[found.asked, found.rows] = rarity[found.asked] * weighted * (_K1 + 1.0) / (_K1 + weighted)
        self._in_use = used > 0.0
        in_short[found.asked, found.rows] = found.counts[_SHORT][self._in_use[_SHORT]].any(axis=0)

        choices = [choice for clause in question.clauses for choice in clause.alternatives]
        numbers = np.array([self._numbers[term] for choice in choices for term in choice.terms], dtype=np.intp)
        starts = starts_of([len(choice.terms) for choice in choices])
        counted = np.array([choice.weight for choice in choices])
        certainty = np.array([_certainty(choice) for choice in choices])
        # An alternative of several terms is worth as much as its least.
        self.worth = counted[:, None] * np.minimum.reduceat(of_term[numbers], starts)
        self.standing = certainty[:, None] * np.minimum.reduceat(in_short[numbers], starts)
        self.rarity = counted * np.maximum.reduceat(rarity[numbers], starts)
        self.answerable = [number for number, clause in enumerate(question.clauses) if clause.alternatives]
        self._clauses = starts_of([len(question.clauses[number].alternatives) for number in self.answerable])

    def best_of_clauses(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest of the alternatives' values for each answerable clause."""
        import numpy as np

        best: NDArray[Any] = np.maximum.reduceat(values, self._clauses)
        return best

    def where(self, choice: Alternative, number: int) -> tuple[str, ...]:
        """Return the fields in which a candidate has any of the alternative's terms."""
        import numpy as np

        asked = np.isin(self._found.asked, [self._numbers[term] for term in choice.terms])
        having = self._found.counts[:, asked & (self._found.rows == number)].any(axis=1) & self._in_use
        return tuple(name for name, has in zip(FIELDS, having.tolist(), strict=True) if has)
