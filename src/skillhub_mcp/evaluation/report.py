"""The report of each engine: means, confidence intervals and rejection rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from skillhub_mcp.evaluation.baselines import EngineAnswer
from skillhub_mcp.evaluation.measures import (
    MEASURES,
    Quality,
    bootstrap_interval,
    mean_quality,
    measure_quality,
    refused_where_kept,
)
from skillhub_mcp.evaluation.queries import JudgedQuery

_WORST = 10


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One query, an engine's answer, and its quality, which is None for a query without relevant skills."""

    query: JudgedQuery
    found: Sequence[str]
    confident: bool
    quality: Quality | None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one engine for all queries; `seconds` has their times in the same order."""

    engine: str
    judged: Sequence[JudgedAnswer]
    seconds: Sequence[float]

    @property
    def mean(self) -> Quality | None:
        """The means over the queries with relevant skills, or None without such queries."""
        return _mean(self.judged)

    @property
    def kinds(self) -> dict[str, Quality]:
        """The means for each kind of query."""
        kinds = dict.fromkeys(one.query.kind for one in self.judged)
        found = {kind: _mean([one for one in self.judged if one.query.kind == kind]) for kind in kinds}
        return {kind: mean for kind, mean in found.items() if mean is not None}

    @property
    def rejection_rate(self) -> float | None:
        """The share of queries without relevant skills that the engine rejects."""
        return _share([not one.confident for one in self.judged if one.quality is None])

    @property
    def false_rejection_rate(self) -> float | None:
        """The share of queries with relevant skills that the engine rejects."""
        return _share([not one.confident for one in self.judged if one.quality is not None])

    @property
    def scored(self) -> list[tuple[float, bool]]:
        """The score of each first hit, and whether it is right."""
        return [
            (one.score, one.quality is not None and one.quality.hit_at_1 == 1.0)
            for one in self.judged
            if one.score is not None
        ]

    @property
    def refused_where_kept(self) -> float | None:
        """The share of hopeless queries that a threshold refuses that keeps 95 % of the others."""
        scored = [one for one in self.judged if one.score is not None]
        answerable = [one.score or 0.0 for one in scored if one.quality is not None]
        return refused_where_kept(answerable, [one.score or 0.0 for one in scored if one.quality is None])

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % confidence interval of each mean."""
        qualities = [one.quality for one in self.judged if one.quality is not None]
        names = MEASURES if qualities else ()
        return {name: bootstrap_interval([getattr(one, name) for one in qualities]) for name in names}

    @property
    def worst(self) -> list[JudgedAnswer]:
        """The queries with the worst answers."""
        answered = [one for one in self.judged if one.quality is not None and one.quality.ndcg_at_10 < 1.0]
        return sorted(answered, key=lambda one: (one.quality.ndcg_at_10 if one.quality else 0.0, one.query.id))[:_WORST]

    @property
    def median_milliseconds(self) -> float:
        """The median time of a query."""
        return 1_000.0 * median(self.seconds)

    def gain_over(self, other: Report) -> tuple[float, float, float] | None:
        """Return the mean gain in nDCG over another engine for the same queries, and its confidence interval."""
        own, others = ([one.quality for one in report.judged if one.quality is not None] for report in (self, other))
        gains = [a.ndcg_at_10 - b.ndcg_at_10 for a, b in zip(own, others, strict=True)]
        return (fmean(gains), *bootstrap_interval(gains)) if gains else None


def build_report(
    engine: str,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[frozenset[str]],
    answers: Sequence[tuple[EngineAnswer, float]],
) -> Report:
    """Return the report on an engine's answers, each with its seconds; `relevant` are the relevant directories."""
    judged = [
        JudgedAnswer(query, found, confident, measure_quality(found, wanted) if wanted else None, score)
        for query, wanted, ((found, confident, score), _) in zip(queries, relevant, answers, strict=True)
    ]
    return Report(engine, judged, [seconds for _, seconds in answers])


def _mean(judged: Sequence[JudgedAnswer]) -> Quality | None:
    qualities = [one.quality for one in judged if one.quality is not None]
    return mean_quality(qualities) if qualities else None


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
