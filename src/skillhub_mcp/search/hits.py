"""The hits of a search: their scores, whether the first fits, and which are shown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

NEVER_CUT = 5
NEAR_MISSES = 5
# Below this share of the confidence that is asked for, more than a few near misses only distract.
_HARDLY = 0.25
# A first hit that is as likely as not to be right.
FITS = 0.5
# Of 100 questions with an answer, the first hits of 99 score at least this where agents ask, of 81 where people do.
DEFAULT_CONFIDENCE = 0.2


class Reason(str, Enum):
    """What found a hit."""

    TEXT = "text"
    VECTOR = "vector"
    BOTH = "text and vector"


class Hit(NamedTuple):
    """A skill that was found: its directory (the key of the row), a score in 0..1, and what found it.

    The score of the first hit is the probability that it is right; the others keep their ratio to it.
    """

    directory: str
    score: float
    reason: Reason


def confident(hits: Sequence[Hit], *, threshold: float) -> bool:
    """Whether the best of `hits` reaches `threshold`."""
    return bool(hits) and hits[0].score >= threshold


def near_misses(hits: Sequence[Hit], *, threshold: float) -> Sequence[Hit]:
    """Return the hits to show if the best does not reach `threshold`: only a few if it is far below."""
    return hits[:NEAR_MISSES] if hits and hits[0].score < threshold * _HARDLY else hits


def cut_tail(hits: Sequence[Hit], *, threshold: float, limit: int) -> list[Hit]:
    """Keep at most `limit` hits; of more than five, only those with score/top of at least `threshold`.

    `hits` are best first.
    """
    kept = list(hits)
    if len(kept) > NEVER_CUT:
        top = kept[0].score
        kept = [hit for hit in kept if top <= 0.0 or hit.score / top >= threshold]
    return kept[:limit]
