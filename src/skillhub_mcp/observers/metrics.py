"""Which numbers are kept of what happens? One table for OpenTelemetry and Prometheus. Pure.

No label takes a value that a client or a skill's author chooses: a hundred thousand skills would be as many series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.events import OK, Event, LibraryEvent, RequestEvent, SearchEvent, SearchStepEvent, SyncEvent, UseEvent

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SYNC_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_HITS = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that is kept, with its labels. `unit` is `s` for seconds, or empty for a count.

    A histogram has `buckets`; all but the gauge, which is what it was last, only grow.
    """

    name: str
    kind: Literal["counter", "histogram", "gauge"]
    meaning: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()


REQUESTS = Metric("skillhub.requests", "counter", "Requests answered", ("method", "tool", "outcome"))
REQUEST_SECONDS = Metric(
    "skillhub.request.duration", "histogram", "How long a request took", ("method", "tool"), "s", _SECONDS
)
SEARCH_SECONDS = Metric(
    "skillhub.search.duration", "histogram", "How long a search took", ("mode", "outcome"), "s", _SECONDS
)
SEARCH_HITS = Metric("skillhub.search.hits", "histogram", "Skills that a search found", ("confident",), "", _HITS)
LOADS = Metric("skillhub.loads", "counter", "Times a skill's instructions were asked for", ("outcome",))
READS = Metric("skillhub.reads", "counter", "Times a skill's file was asked for", ("outcome",))
RUNS = Metric("skillhub.runs", "counter", "Times a skill's command was asked for", ("outcome",))
SKILLS = Metric("skillhub.index.skills", "gauge", "Skills that were found, served or not")
SYNCS = Metric("skillhub.index.syncs", "counter", "Times the index was brought in step", ("outcome",))
SYNC_SECONDS = Metric(
    "skillhub.index.sync.duration", "histogram", "How long bringing the index in step took", (), "s", _SYNC_SECONDS
)
EMBEDDING_FAILURES = Metric(
    "skillhub.embedding.failures", "counter", "Times the embedding provider failed", ("purpose",)
)

METRICS = (
    REQUESTS,
    REQUEST_SECONDS,
    SEARCH_SECONDS,
    SEARCH_HITS,
    LOADS,
    READS,
    RUNS,
    SKILLS,
    SYNCS,
    SYNC_SECONDS,
    EMBEDDING_FAILURES,
)

_USES = {"load": LOADS, "read": READS, "run": RUNS}


@dataclass(frozen=True, slots=True)
class Sample:
    """One number that was taken, with its labels' values in the order of the measure's labels."""

    measure: Metric
    value: float
    labels: tuple[str, ...] = ()


def samples(ended: Event) -> Iterator[Sample]:
    """Yield the numbers that what has ended adds."""
    match ended:
        case RequestEvent():
            yield Sample(REQUESTS, 1, (ended.method, ended.tool, ended.outcome))
            yield Sample(REQUEST_SECONDS, ended.seconds, (ended.method, ended.tool))
        case SearchEvent():
            yield Sample(SEARCH_SECONDS, ended.seconds, (ended.mode, ended.outcome))
            if ended.outcome == OK:
                yield Sample(SEARCH_HITS, ended.hits, ("true" if ended.confident else "false",))
        case SearchStepEvent():
            if ended.outcome == EmbeddingError.code:
                yield Sample(EMBEDDING_FAILURES, 1, ("query",))
        case UseEvent():
            yield Sample(_USES[ended.act], 1, (ended.outcome,))
        case SyncEvent():
            yield Sample(SYNCS, 1, (ended.outcome,))
            yield Sample(SYNC_SECONDS, ended.seconds)
            if ended.embedding_failed:
                yield Sample(EMBEDDING_FAILURES, 1, ("document",))
        case LibraryEvent():
            yield Sample(SKILLS, ended.skills)
        case _:
            return
