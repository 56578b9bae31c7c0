"""How likely the first hit is the right one: a logistic over four numbers of a question and its first hit. Pure.

A sentence encoder also finds skills that share no word with the question. There a second logistic over the nearness
alone says how likely the first is, and the greater of both counts.

`bench/calibrate.py` fits the coefficients to judged questions: as people put them, as agents ask, and long texts, in
libraries of several sizes, for each kind of vectors. docs/benchmarks.md says how well they hold on questions that were
left out.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.search.impacts import LARGEST_IMPACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillhub_mcp.index.statistics import Statistics
    from skillhub_mcp.search.query import Query
    from skillhub_mcp.search.ranking import Ranking

# Added to a share before its logarithm, so that none is infinite.
_LEAST_SHARE = 0.02
# As how much of a word that no skill has one counts that could not be translated: the skills may have what it means.
# With more, the scores of foreign questions are lower than the share of right hits.
_UNTRANSLATED = 0.15
# The largest library that was judged. Of larger ones, made up, as many first hits are right as of this.
_MOST_SKILLS = 2_000


class Meaning(str, Enum):
    """What nearness in meaning says: that words are alike, or that sentences are. A sentence encoder says more."""

    WORDS = "words"
    SENTENCES = "sentences"


class Evidence(NamedTuple):
    """What speaks for the first hit of a question.

    `share` is its text score as a share, in 0..1, of what a skill could score that has every word often; a word that no
    skill has counts as the rarest, and as a part of that where they may have what it means. `words` is how many
    words the question has. `nearness` is that in meaning, in 0..1, or NaN where there is no vector. `skills` is among
    how many it was found: of twenty, a hit that has little of the question may still be the one that was meant.
    """

    share: float
    words: int
    nearness: float
    skills: int


class Coefficients(NamedTuple):
    """The weights of the logarithms of share and words, of nearness, of the logarithm of skills, and the constant."""

    share: float
    words: float
    nearness: float
    skills: float
    constant: float


class NearnessCoefficients(NamedTuple):
    """The weight of the nearness, and the constant."""

    nearness: float
    constant: float


BY_TEXT = Coefficients(share=4.0, words=1.99, nearness=0.0, skills=-0.3, constant=2.48)
BY_MEANING = {
    Meaning.WORDS: Coefficients(share=3.31, words=1.72, nearness=1.6, skills=-0.29, constant=1.79),
    Meaning.SENTENCES: Coefficients(share=2.63, words=1.41, nearness=3.35, skills=-0.26, constant=0.82),
}
# Fitted to first hits that have less than this share of the question.
FEW_WORDS = 0.1
BY_NEARNESS = NearnessCoefficients(nearness=4.74, constant=-4.32)


def evidence_of(query: Query, statistics: Statistics, ranking: Ranking, *, skills: int) -> Evidence:
    """Return the evidence for the first of a ranking, which is not empty, among so many skills."""
    unknown = len(query.unknown) + _UNTRANSLATED * len(query.untranslated)
    possible = sum(_rarities(query, statistics)) + statistics.rarity("") * unknown
    return Evidence(
        share=float(ranking.words[0]) / max(LARGEST_IMPACT * possible, 1e-9),
        words=len(query.clauses) + len(query.unknown) + len(query.untranslated),
        nearness=float(ranking.nearness[0]),
        skills=skills,
    )


def likelihood(evidence: Evidence, meaning: Meaning = Meaning.WORDS) -> float:
    """Return the probability, in 0..1, that the first hit is right, where vectors tell that `meaning`."""
    has_vector = not math.isnan(evidence.nearness)
    coefficients = BY_MEANING[meaning] if has_vector else BY_TEXT
    odds = sum(weight * number for weight, number in zip(coefficients, weighed(evidence), strict=True))
    if has_vector and meaning is Meaning.SENTENCES:
        odds = max(odds, BY_NEARNESS.nearness * evidence.nearness + BY_NEARNESS.constant)
    return 1.0 / (1.0 + math.exp(-odds))


def weighed(evidence: Evidence) -> tuple[float, float, float, float, float]:
    """Return the numbers that the coefficients weigh, in their order; without a vector the nearness is 0."""
    share, words, nearness, skills = evidence
    near = 0.0 if math.isnan(nearness) else nearness
    return math.log(share + _LEAST_SHARE), math.log1p(words), near, math.log1p(min(skills, _MOST_SKILLS)), 1.0


def _rarities(query: Query, statistics: Statistics) -> Iterator[float]:
    """Yield the rarity of each clause: that of the rarest term that would satisfy it."""
    for clause in query.clauses:
        yield clause.weight * max(
            choice.weight * max(map(statistics.rarity, choice.terms)) for choice in clause.alternatives
        )
