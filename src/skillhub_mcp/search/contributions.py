"""What each clause of a query contributes to the text score of a skill, and in which fields. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.search.impacts import impact
from skillhub_mcp.search.query import Alternative, Clause, Query, TermOrigin

if TYPE_CHECKING:
    from skillhub_mcp.search.candidates import Candidates


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


def contributions(query: Query, candidates: Candidates, number: int) -> list[Contribution]:
    """Return what each clause contributed to the candidate of that number, the largest first, without zeros."""
    found, fields, statistics = candidates.occurrences(query.terms, [number]), candidates.fields, candidates.statistics
    lengths = candidates.lengths([number] * len(found.rows))
    impacts = impact(found.counts, lengths, statistics.mean_lengths, fields=fields)
    having: dict[str, tuple[float, frozenset[str]]] = {}
    for place, worth, counts in zip(
        found.term_indices.tolist(), impacts.tolist(), found.counts.T.tolist(), strict=True
    ):
        own = frozenset(name for name, times in zip(FIELDS, counts, strict=True) if times) & fields
        if own:
            having[query.terms[place]] = worth * statistics.rarity(query.terms[place]), own
    parts = []
    for clause in query.clauses:
        choices = [choice for choice in clause.alternatives if having.keys() >= set(choice.terms)]
        if choices:
            worths = [
                clause.weight * choice.weight * min(having[term][0] for term in choice.terms) for choice in choices
            ]
            most = max(worths)
            choice = choices[worths.index(most)]
            names = frozenset[str]().union(*(having[term][1] for term in choice.terms))
            parts.append(Contribution(clause, choice, most, tuple(name for name in FIELDS if name in names)))
    return sorted(parts, key=lambda one: -one.worth)
