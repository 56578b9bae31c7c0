"""The measures of ranked retrieval, their confidence intervals, and how far scores are probabilities. Pure.

nDCG: Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques (TOIS 2002), with gains of 0 and 1.
Expected calibration error: Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian
Binning (AAAI 2015), with ten bins of one width.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

DEPTH = 10
_RESAMPLES = 1_000
_SEED = 20
_INTERVAL = 0.95


@dataclass(frozen=True, slots=True)
class Quality:
    """The measures of one answer, or their means over several; each is in 0..1, and 1 is best."""

    hit_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr_at_10: float
    ndcg_at_10: float


MEASURES = tuple(Quality.__dataclass_fields__)


def measure_quality(found: Sequence[str], relevant: frozenset[str]) -> Quality:
    """Return the measures of one answer, best hit first, given the relevant skills, of which there is at least one."""
    gains = [hit in relevant for hit in found[:DEPTH]]
    ideal = _discounted([True] * min(DEPTH, len(relevant)))
    first = next((rank for rank, gain in enumerate(gains, start=1) if gain), None)
    return Quality(
        hit_at_1=float(gains[:1] == [True]),
        recall_at_5=sum(gains[:5]) / len(relevant),
        recall_at_10=sum(gains) / len(relevant),
        mrr_at_10=0.0 if first is None else 1.0 / first,
        ndcg_at_10=_discounted(gains) / ideal,
    )


def mean_quality(qualities: Sequence[Quality]) -> Quality:
    """Return the mean of each measure over at least one answer."""
    return Quality(**{name: fmean(getattr(quality, name) for quality in qualities) for name in MEASURES})


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the mean of `values`, by a percentile bootstrap.

    The same values give the same interval.
    """
    generator = random.Random(_SEED)  # noqa: S311 - resampling, not security
    means = sorted(fmean(generator.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    outside = (1.0 - _INTERVAL) / 2.0
    return means[int(outside * _RESAMPLES)], means[int((1.0 - outside) * _RESAMPLES) - 1]


def _discounted(gains: Sequence[bool]) -> float:
    return sum(1.0 / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1) if gain)


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
