"""In what order, and which of them? Pure functions over hits (seed 002 §3.2, DECISIONS 18)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

# Half of the fitting hits of real queries score at least this times the logarithm of the library's size.
_FULL_MATCH_FACTOR = 1.5
NEVER_CUT = 5


class Reason(str, Enum):
    """Which way of searching found a hit."""

    TEXT = "text"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Hit:
    """A skill that was found: its directory (the row's key), a score of at least 0, and which way found it."""

    directory: str
    score: float
    reason: Reason


def order(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` best first; equal scores stand in the order of their keys, so that answers repeat."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.directory))


def full_text_match(skills: int) -> float:
    """Return the text score that a good match of a few words reaches among that many skills.

    A word's weight in BM25 grows with the logarithm of the number of documents that lack it.
    """
    return _FULL_MATCH_FACTOR * math.log1p(max(1, skills))


def scaled(hits: Sequence[Hit], *, full_match: float) -> list[Hit]:
    """Return `hits` with scores in 0..1 that keep their ratios.

    Text scores have no upper bound: they are divided by the best of them, or by `full_match` where the best is
    less. Vector scores are cosine similarities already.
    """
    top = max((hit.score for hit in hits), default=0.0)
    if top <= 0.0:
        return [replace(hit, score=0.0) for hit in hits]
    by_text = any(hit.reason is Reason.TEXT for hit in hits)
    divisor = max(top, full_match) if by_text else max(top, 1.0)
    return [replace(hit, score=max(0.0, hit.score) / divisor) for hit in hits]


def cut(hits: Sequence[Hit], *, threshold: float, limit: int) -> list[Hit]:
    """Keep at most `limit` hits; of more than five, only those with score/top of at least `threshold`.

    `hits` are best first.
    """
    kept = list(hits)
    if len(kept) > NEVER_CUT:
        top = kept[0].score
        kept = [hit for hit in kept if top <= 0.0 or hit.score / top >= threshold]
    return kept[:limit]
