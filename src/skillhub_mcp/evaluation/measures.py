"""Measures of ranked retrieval, their confidence intervals, and calibration.

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
    """Return the measures of one answer, best hit first, given at least one relevant skill."""
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
    """Return the 95 % confidence interval of the mean, by a percentile bootstrap with a fixed seed."""
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
    """The questions with a first score in one tenth of 0..1: number, mean score, share right."""

    questions: int
    score: float
    right: float


def reliability(scored: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Return the bins with questions, from first scores and whether the first hit was right."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for score, right in scored:
        bins[min(int(score * _BINS), _BINS - 1)].append((score, right))
    return [Bin(len(own), fmean(score for score, _ in own), fmean(right for _, right in own)) for own in bins if own]


def calibration_error(scored: Sequence[tuple[float, bool]]) -> float | None:
    """Return the expected calibration error, in 0..1; None without questions."""
    if not scored:
        return None
    return sum(one.questions * abs(one.score - one.right) for one in reliability(scored)) / len(scored)


def refused_where_kept(answerable: Sequence[float], hopeless: Sequence[float], *, kept: float = KEPT) -> float | None:
    """Return the share of hopeless questions that a threshold refuses that keeps `kept` of the answerable ones."""
    if not answerable or not hopeless:
        return None
    threshold = sorted(answerable)[int((1.0 - kept) * len(answerable))]
    return fmean(score < threshold for score in hopeless)
