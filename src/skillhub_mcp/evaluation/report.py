"""What does an evaluation come to? One value for each engine, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from skillhub_mcp.evaluation.baselines import EngineAnswer
from skillhub_mcp.evaluation.metrics import MEASURES, Quality, bootstrap_interval, mean_quality, measure_quality
from skillhub_mcp.evaluation.queries import JudgedQuery

_WORST = 10


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One query, what an engine answered and how good that was; None where nothing fits the query."""

    query: JudgedQuery
    found: Sequence[str]
    confident: bool
    quality: Quality | None


@dataclass(frozen=True, slots=True)
class Report:
    """What one engine came to over all queries. `seconds` are those of each query, in their order."""

    engine: str
    judged: Sequence[JudgedAnswer]
    seconds: Sequence[float]

    @property
    def mean(self) -> Quality | None:
        """The means over the queries that something fits, or None where there are none."""
        return _mean(self.judged)

    @property
    def kinds(self) -> dict[str, Quality]:
        """The same for each kind of query."""
        kinds = dict.fromkeys(one.query.kind for one in self.judged if one.quality is not None)
        found = {kind: _mean([one for one in self.judged if one.query.kind == kind]) for kind in kinds}
        return {kind: mean for kind, mean in found.items() if mean is not None}

    @property
    def refused(self) -> float | None:
        """The share of the queries that nothing fits of which the engine said so."""
        return _share([not one.confident for one in self.judged if one.quality is None])

    @property
    def refused_wrongly(self) -> float | None:
        """The share of the other queries of which it said so too."""
        return _share([not one.confident for one in self.judged if one.quality is not None])

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Between which bounds each mean lies, 19 times of 20."""
        qualities = [one.quality for one in self.judged if one.quality is not None]
        return (
            {name: bootstrap_interval([getattr(one, name) for one in qualities]) for name in MEASURES}
            if qualities
            else {}
        )

    @property
    def worst(self) -> list[JudgedAnswer]:
        """The queries that were answered worst."""
        answered = [one for one in self.judged if one.quality is not None and one.quality.ndcg_at_10 < 1.0]
        return sorted(answered, key=lambda one: (one.quality.ndcg_at_10 if one.quality else 0.0, one.query.id))[:_WORST]

    @property
    def median_milliseconds(self) -> float:
        """How long a query took, in the middle."""
        return 1_000.0 * median(self.seconds)

    def gain_over(self, other: Report) -> tuple[float, float, float] | None:
        """Return by how much this engine's nDCG is above another's over the same queries, and between which bounds.

        None where nothing fits any of them. Raises ValueError where the other answered more or fewer queries.
        """
        mine, theirs = ([one.quality for one in report.judged if one.quality is not None] for report in (self, other))
        gains = [a.ndcg_at_10 - b.ndcg_at_10 for a, b in zip(mine, theirs, strict=True)]
        return (fmean(gains), *bootstrap_interval(gains)) if gains else None


def build_report(
    engine: str,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[frozenset[str]],
    answers: Sequence[tuple[EngineAnswer, float]],
) -> Report:
    """Return what an engine's answers, each with its seconds, come to; `relevant` are the directories that answer."""
    judged = [
        JudgedAnswer(query, found, confident, measure_quality(found, wanted) if wanted else None)
        for query, wanted, ((found, confident), _) in zip(queries, relevant, answers, strict=True)
    ]
    return Report(engine, judged, [seconds for _, seconds in answers])


def _mean(judged: Sequence[JudgedAnswer]) -> Quality | None:
    qualities = [one.quality for one in judged if one.quality is not None]
    return mean_quality(qualities) if qualities else None


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
