"""How far scores are probabilities, and how well they tell questions that nothing answers. Pure.

Expected calibration error: Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian
Binning (AAAI 2015), with ten bins of one width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

_BINS = 10
KEPT = 0.95


@dataclass(frozen=True, slots=True)
class Bin:
    """The questions whose first score is in one tenth of 0..1: how many, the mean of their scores, the share right."""

    questions: int
    score: float
    right: float


def reliability(scored: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Return the bins that have questions, the lowest first, from first scores and whether the first hit was right."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for score, right in scored:
        bins[min(int(score * _BINS), _BINS - 1)].append((score, right))
    return [Bin(len(own), fmean(score for score, _ in own), fmean(right for _, right in own)) for own in bins if own]


def calibration_error(scored: Sequence[tuple[float, bool]]) -> float | None:
    """Return by how much scores and shares differ in the mean, in 0..1; None without questions."""
    if not scored:
        return None
    return sum(one.questions * abs(one.score - one.right) for one in reliability(scored)) / len(scored)


def refused_where_kept(answerable: Sequence[float], hopeless: Sequence[float], *, kept: float = KEPT) -> float | None:
    """Return the share of hopeless questions with a first score below that which `kept` of the answerable ones reach.

    None where there are none of either.
    """
    if not answerable or not hopeless:
        return None
    threshold = sorted(answerable)[int((1.0 - kept) * len(answerable))]
    return fmean(score < threshold for score in hopeless)
