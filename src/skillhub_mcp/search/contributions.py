"""What each clause of a query contributes to the text score of a skill, and in which fields. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.search.query import Alternative, Clause, Query, TermOrigin

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.index.skill_index import SkillIndex


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a clause contributed to a score: its matching alternative, how much, and the fields that have its terms."""

    clause: Clause
    choice: Alternative
    worth: float
    fields: tuple[str, ...]

    @property
    def asked(self) -> str:
        """The word of the query."""
        return self.clause.asked

    def describe(self) -> str:
        """Return it as text, such as `invoice 9.1 in name, body (translation of Rechnung)`."""
        source = "" if self.choice.origin is TermOrigin.ASKED else f" ({self.choice.origin.value} of {self.asked})"
        return f"{self.choice.text} {self.worth:.1f} in {', '.join(self.fields)}{source}"


def contributions(
    query: Query, index: SkillIndex, numbers: Sequence[int], *, fields: frozenset[str]
) -> list[list[Contribution]]:
    """Return for each skill what each clause contributed in `fields`, the largest first, without zeros."""
    if not query.terms or not numbers:
        return [[] for _ in numbers]
    impacts = [_impacts(index, term, numbers, fields) for term in query.terms]
    worth = {term: index.statistics.rarity(term) * own for term, own in zip(query.terms, impacts, strict=True)}
    having: dict[tuple[int, int], set[str]] = {}
    occurring = index.occurrences(query.terms, numbers)
    used = [name if name in fields else "" for name in FIELDS]
    for term, row, counts in zip(
        occurring.term_indices.tolist(), occurring.rows.tolist(), occurring.counts.T.tolist(), strict=True
    ):
        having[term, row] = {name for name, times in zip(used, counts, strict=True) if times and name}
    places = {term: place for place, term in enumerate(query.terms)}
    found = []
    for row in range(len(numbers)):
        own = []
        for clause in query.clauses:
            worths = [
                (clause.weight * choice.weight * min(float(worth[term][row]) for term in choice.terms), choice)
                for choice in clause.alternatives
            ]
            most, choice = max(worths, key=lambda one: one[0])
            if most > 0.0:
                names = set[str]().union(*(having.get((places[term], row), ()) for term in choice.terms))
                own.append(Contribution(clause, choice, most, tuple(name for name in FIELDS if name in names)))
        found.append(sorted(own, key=lambda one: -one.worth))
    return found


def covers(query: Query, index: SkillIndex, number: int, *, fields: frozenset[str]) -> bool:
    """Whether a skill has every word of a query in its name, description, tags or category."""
    if query.unknown or query.left_out:
        return False
    (own,) = contributions(query, index, [number], fields=fields - {"body"})
    return 0 < len(own) == len(query.clauses)


def _impacts(index: SkillIndex, term: str, numbers: Sequence[int], fields: frozenset[str]) -> NDArray[Any]:
    """Return the impact of a term on each of those skills, 0 where they have it not."""
    import numpy as np

    having, impacts = index.postings(term, fields=fields)
    if not len(having):
        return np.zeros(len(numbers), dtype=np.float32)
    at = np.minimum(having.searchsorted(numbers), len(having) - 1)
    own: NDArray[Any] = np.where(having[at] == numbers, impacts[at], np.float32(0.0))
    return own
