"""The rank of one skill in a search, and what the first hit has that it lacks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp.search.contributions import Contribution

# Less of a word's worth than this share of the first's is worth a line.
_MUCH_LESS = 0.75


class LeftOut(str, Enum):
    """Why a search does not show a skill."""

    NO_WORD = "it has no word of the task, and is not near it in meaning"
    NOT_AMONG_BEST = "others have so much more of the task's words that it was not compared"
    COPY = "it says nearly the same as a skill that is shown, which names it"
    TAIL = "its score is too far below the first's (SEARCH_THRESHOLD)"
    NEAR_MISS = "nothing fits well, and of near misses only the first five are shown"
    LIMIT = "there are more hits than are shown (SEARCH_LIMIT)"


@dataclass(frozen=True, slots=True)
class Difference:
    """A word of the task, the fields in which the first has it and this one has it, and its worth to each."""

    word: str
    first_fields: tuple[str, ...]
    own_fields: tuple[str, ...]
    first_worth: float
    own_worth: float

    def describe(self) -> str:
        """Return it in plain words."""
        first = f"{self.word!r}: the first has it in its {_listed(self.first_fields)}"
        if not self.own_fields:
            return f"{first}, this one nowhere"
        if set(self.own_fields) == set(self.first_fields):
            return f"{first}, this one too, where it is one word among more"
        return f"{first}, this one in its {_listed(self.own_fields)}"


@dataclass(frozen=True, slots=True)
class Stand:
    """One skill in a search: its handle and score in 0..1, what each word of the task contributes to it, the weightiest
    first, and its nearness in meaning in 0..1, where there are vectors.
    """

    handle: str
    score: float
    parts: Sequence[Contribution]
    nearness: float | None


@dataclass(frozen=True, slots=True)
class RankExplanation:
    """The rank of a skill among the hits of a search, beside the first hit, if there is one.

    `rank` is 1 for the first of `hits`, None if it is not a hit. `confident` says that the first hit fits, and `named`
    that the task is its name. `left_out` is why this skill is not shown.
    """

    task: str
    rank: int | None
    hits: int
    confident: bool
    left_out: LeftOut | None
    named: bool
    own: Stand
    first: Stand | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What the first has and this one has not."""
        return () if self.first is None or self.rank == 1 else differences(self.own.parts, self.first.parts)


def differences(own: Sequence[Contribution], first: Sequence[Contribution]) -> tuple[Difference, ...]:
    """Return the words that the first has and the other has not, or to much less worth, the weightiest first."""
    have = {one.asked: one for one in own}
    found = []
    for one in first:
        mine = have.get(one.asked)
        worth = 0.0 if mine is None else mine.worth
        if worth < one.worth * _MUCH_LESS:
            fields = () if mine is None else mine.fields
            found.append(Difference(one.asked, one.fields, fields, one.worth, worth))
    return tuple(sorted(found, key=lambda one: one.own_worth - one.first_worth))


def _listed(fields: Sequence[str]) -> str:
    *others, last = fields
    return f"{', '.join(others)} and {last}" if others else last
