"""How well does each candidate fit? BM25F over the fields, and what rerankers go by besides. Pure functions.

BM25F: Robertson, Zaragoza and Taylor, Simple BM25 Extension to Multiple Weighted Fields (CIKM 2004). The body pays
only with a `k1` raised in step with the fields' weights, and with its length normalised hard.

Weights were set by hand on the development queries and rounded; `skillhub eval run` repeats the measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillhub_mcp.search.features import FIELDS, Decoded, Parts, hash_of, phrase_hash, side_by_side
from skillhub_mcp.search.question import Alternative, Origin, Question

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.search.statistics import Statistics

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
class Candidate:
    """A skill that may fit: its directory, its features, and how near its vector is (cosine), where that is known."""

    directory: str
    features: Parts
    nearness: float | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """The candidates' scores, in their order, each part on its own.

    `words` is BM25F and has no upper bound; `meaning` and `phrase` are shares in 0..1; `coverage` is the share of what
    was asked for, by rarity, that the short fields have. `by_clause` holds what each clause added to `words`.
    """

    words: NDArray[Any]
    meaning: NDArray[Any]
    phrase: NDArray[Any]
    coverage: NDArray[Any]
    by_clause: Sequence[NDArray[Any]]

    @property
    def shares(self) -> NDArray[Any]:
        """The words of each as a share of the best."""
        best = float(self.words.max(initial=0.0))
        shares: NDArray[Any] = self.words / best if best else self.words
        return shares

    def matched(self, question: Question, number: int) -> list[str]:
        """Return what was asked for that a candidate has, what counts most first."""
        worth = [
            (float(values[number]), clause.asked)
            for values, clause in zip(self.by_clause, question.clauses, strict=True)
        ]
        return list(dict.fromkeys(asked for value, asked in sorted(worth, key=lambda one: -one[0]) if value > 0.0))


def score(
    question: Question,
    candidates: Sequence[Candidate],
    statistics: Statistics,
    *,
    fields: frozenset[str] = ALL_FIELDS,
    weights: Weights = WEIGHTS,
) -> Scores:
    """Return how well each candidate fits; only what stands in `fields` counts.

    A candidate with more of a term never scores less in `words`, and what a candidate scores there depends on no other.
    """
    import numpy as np

    table = _Table(side_by_side([one.features for one in candidates]), statistics, fields, weights)
    covered = np.zeros(len(candidates))
    by_clause = []
    asked = 0.0
    for clause in question.clauses:
        rarest = max((table.rarity(choice) for choice in clause.alternatives), default=table.rarity_of_the_unknown)
        asked += rarest
        worth = [choice.weight * table.contribution(choice) for choice in clause.alternatives]
        by_clause.append(np.max(worth, axis=0) if worth else np.zeros(len(candidates)))
        if clause.alternatives:
            covered += rarest * np.max([_certainty(c) * table.stands(c) for c in clause.alternatives], axis=0)
    words = np.sum([np.zeros(len(candidates)), *by_clause], axis=0)
    meaning = _spread(candidates)
    phrase = table.phrases(question.phrases) if {"name", "description"} <= fields else np.zeros(len(candidates))
    coverage = covered / asked if asked else covered
    return Scores(words, meaning, phrase, coverage, by_clause)


def _certainty(choice: Alternative) -> float:
    """Return for how much of its clause an alternative stands; a guess at what was meant never for enough of it."""
    return choice.weight * (_GUESSED if choice.origin is Origin.SPELLING else 1.0)


def _spread(candidates: Sequence[Candidate]) -> NDArray[Any]:
    """Return how near each candidate is, from 0 for the farthest of them to 1 for the nearest."""
    import numpy as np

    known = [one.nearness for one in candidates if one.nearness is not None]
    if not known or max(known) <= min(known):
        return np.zeros(len(candidates))
    lowest, width = min(known), max(known) - min(known)
    return np.array([0.0 if one.nearness is None else (one.nearness - lowest) / width for one in candidates])


def contributions(
    question: Question,
    candidates: Sequence[Candidate],
    statistics: Statistics,
    *,
    fields: frozenset[str] = ALL_FIELDS,
    weights: Weights = WEIGHTS,
) -> list[list[Contribution]]:
    """Return for each candidate what each clause brought it in `words`, the most first; those that brought nothing
    are left out.
    """
    table = _Table(side_by_side([one.features for one in candidates]), statistics, fields, weights)
    found: list[list[Contribution]] = [[] for _ in candidates]
    for clause in question.clauses:
        parts = [(choice, choice.weight * table.contribution(choice)) for choice in clause.alternatives]
        for number, own in enumerate(found):
            choice, worth = max(
                ((choice, float(values[number])) for choice, values in parts),
                key=lambda part: part[1],
                default=(None, 0.0),
            )
            if choice is not None and worth > 0.0:
                own.append(Contribution(clause.asked, choice, worth, table.where(choice, number)))
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
        source = "" if self.choice.origin is Origin.ASKED else f" ({self.choice.origin.value} of {self.asked})"
        return f"{self.choice.text} {self.worth:.1f} in {', '.join(self.fields)}{source}"


class _Table:
    """The candidates' terms by field, weighted."""

    def __init__(self, decoded: Decoded, statistics: Statistics, fields: frozenset[str], weights: Weights) -> None:
        import numpy as np

        self._decoded = decoded
        self._statistics = statistics
        self._counts: dict[str, NDArray[Any]] = {}
        self._contributions: dict[str, NDArray[Any]] = {}
        used = np.array([weights.fields[name] if name in fields else 0.0 for name in FIELDS])
        normalised = np.array([weights.normalised.get(name, 0.0) for name in FIELDS])
        length = 1.0 - normalised + normalised * decoded.lengths / statistics.mean_lengths
        self._shares = used / np.maximum(length, 1e-9)
        self._in_use = used > 0.0

    @property
    def rarity_of_the_unknown(self) -> float:
        """The rarity of a term that no skill has."""
        return self._statistics.rarity("")

    def rarity(self, choice: Alternative) -> float:
        """Return the rarity of the rarest of the alternative's terms, by what it counts."""
        return choice.weight * max(self._statistics.rarity(term) for term in choice.terms)

    def contribution(self, choice: Alternative) -> NDArray[Any]:
        """Return what an alternative is worth to each candidate: as much as its least term."""
        import numpy as np

        least: NDArray[Any] = np.min([self._of_term(term) for term in choice.terms], axis=0)
        return least

    def stands(self, choice: Alternative) -> NDArray[Any]:
        """Return 1.0 for each candidate that has all of the alternative's terms in its short fields, else 0.0."""
        import numpy as np

        having = [(self._in_fields(term)[:, _SHORT] > 0).any(axis=1) for term in choice.terms]
        all_of_them: NDArray[Any] = np.all(having, axis=0).astype(np.float64)
        return all_of_them

    def where(self, choice: Alternative, number: int) -> tuple[str, ...]:
        """Return the fields in which a candidate has any of the alternative's terms."""
        having = sum(self._in_fields(term)[number] for term in choice.terms)
        return tuple(name for name, count in zip(FIELDS, having, strict=True) if count > 0)

    def phrases(self, wanted: Sequence[tuple[str, str]]) -> NDArray[Any]:
        """Return which share of the question's pairs of terms stand side by side in name or description."""
        import numpy as np

        found = [self._decoded.have_phrase(phrase_hash(*pair)) for pair in wanted]
        return np.mean(found, axis=0) if found else np.zeros(len(self._decoded.starts))

    def _of_term(self, term: str) -> NDArray[Any]:
        if term not in self._contributions:
            weighted = (self._in_fields(term) * self._shares).sum(axis=1)
            rarity = self._statistics.rarity(term)
            self._contributions[term] = rarity * weighted * (_K1 + 1.0) / (_K1 + weighted)
        return self._contributions[term]

    def _in_fields(self, term: str) -> NDArray[Any]:
        if term not in self._counts:
            self._counts[term] = self._decoded.counts_of(hash_of(term)) * self._in_use
        return self._counts[term]
