"""What each clause of a query contributes to the text score of a skill, and in which fields. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.index.impacts import impact
from skillhub_mcp.search.query import Alternative, Clause, Query, TermOrigin

if TYPE_CHECKING:
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
    import numpy as np

    if not query.terms or not numbers:
        return [[] for _ in numbers]
    occurring = index.occurrences(query.terms, numbers)
    lengths = index.lengths(numbers)[occurring.rows]
    impacts = impact(occurring.counts, lengths, index.mean_lengths, fields=fields)
    worth = np.zeros((len(query.terms), len(numbers)), dtype=np.float32)
    worth[occurring.term_indices, occurring.rows] = impacts
    worth *= np.array([index.statistics.rarity(term) for term in query.terms], dtype=np.float32)[:, None]
    having: dict[tuple[int, int], set[str]] = {}
    used = [name if name in fields else "" for name in FIELDS]
    for term, row, counts in zip(
        occurring.term_indices.tolist(), occurring.rows.tolist(), occurring.counts.T.tolist(), strict=True
    ):
        having[term, row] = {name for name, times in zip(used, counts, strict=True) if times and name}
    places = {term: place for place, term in enumerate(query.terms)}
    found = []
    for row, worths_here in enumerate(worth.T.tolist()):
        own = []
        for clause in query.clauses:
            worths = [
                (clause.weight * choice.weight * min(worths_here[places[term]] for term in choice.terms), choice)
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
