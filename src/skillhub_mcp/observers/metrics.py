"""The metrics for OpenTelemetry and Prometheus. No label has a value that a client or a skill's author chooses.

The names of tokens are a label only where that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.events import (
    OK,
    EmbeddingEvent,
    Event,
    LibraryEvent,
    PublicationEvent,
    RequestEvent,
    SearchEvent,
    SearchStepEvent,
    SyncEvent,
    UseEvent,
)

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SYNC_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_HITS = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric and its labels. `unit` is `s` for seconds, or empty for a count."""

    name: str
    kind: Literal["counter", "histogram", "gauge"]
    description: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()


REQUESTS = Metric("skillhub.requests", "counter", "Requests answered", ("method", "tool", "outcome"))
# Only in Prometheus, and only if it is asked for.
TOKEN_REQUESTS = Metric("skillhub.token.requests", "counter", "Requests answered, by token", ("token", "outcome"))
REQUEST_SECONDS = Metric(
    "skillhub.request.duration", "histogram", "Duration of a request", ("method", "tool"), "s", _SECONDS
)
SEARCH_SECONDS = Metric(
    "skillhub.search.duration", "histogram", "Duration of a search", ("mode", "outcome"), "s", _SECONDS
)
SEARCH_HITS = Metric("skillhub.search.hits", "histogram", "Skills found by a search", ("confident",), "", _HITS)
LOADS = Metric("skillhub.loads", "counter", "Requests to load a skill's instructions", ("outcome",))
READS = Metric("skillhub.reads", "counter", "Requests to read a skill's file", ("outcome",))
RUNS = Metric("skillhub.runs", "counter", "Requests to run a command in a skill", ("outcome",))
SKILLS = Metric("skillhub.index.skills", "gauge", "Skills found, served or not")
SYNCS = Metric("skillhub.index.syncs", "counter", "Syncs of the index with the files", ("outcome",))
SYNC_SECONDS = Metric(
    "skillhub.index.sync.duration", "histogram", "Duration of a sync of the index", (), "s", _SYNC_SECONDS
)
EMBEDDING_FAILURES = Metric(
    "skillhub.embedding.failures", "counter", "Failures of the embedding provider", ("purpose",)
)
PUBLICATION_CHECKS = Metric(
    "skillhub.publication.checks", "counter", "Times a replica asked for the newest publication", ("outcome",)
)
PUBLICATION_SNAPSHOT = Metric(
    "skillhub.publication.snapshot", "gauge", "Number of the publication that a replica serves"
)

METRICS = (
    *(REQUESTS, REQUEST_SECONDS, SEARCH_SECONDS, SEARCH_HITS, LOADS, READS, RUNS, SKILLS, SYNCS, SYNC_SECONDS),
    *(EMBEDDING_FAILURES, PUBLICATION_CHECKS, PUBLICATION_SNAPSHOT),
)

_USE_METRICS = {"load": LOADS, "read": READS, "run": RUNS}


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of a metric, with the values of its labels in the metric's order."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


def samples_of(event: Event) -> Iterator[Sample]:
    """Yield the measurements of an event that has ended."""
    match event:
        case RequestEvent():
            yield Sample(REQUESTS, 1, (event.method, event.tool, event.outcome))
            yield Sample(REQUEST_SECONDS, event.seconds, (event.method, event.tool))
        case SearchEvent():
            yield Sample(SEARCH_SECONDS, event.seconds, (event.mode, event.outcome))
            if event.outcome == OK:
                yield Sample(SEARCH_HITS, event.hits, ("true" if event.confident else "false",))
        case SearchStepEvent(outcome=EmbeddingError.code):
            yield Sample(EMBEDDING_FAILURES, 1, ("query",))
        case UseEvent():
            yield Sample(_USE_METRICS[event.action], 1, (event.outcome,))
        case SyncEvent():
            yield from _of_sync(event)
        case EmbeddingEvent(failed=True):
            yield Sample(EMBEDDING_FAILURES, 1, ("document",))
        case LibraryEvent():
            yield Sample(SKILLS, event.skills)
        case PublicationEvent():
            yield Sample(PUBLICATION_CHECKS, 1, (event.outcome,))
            yield Sample(PUBLICATION_SNAPSHOT, event.snapshot)


def _of_sync(event: SyncEvent) -> Iterator[Sample]:
    yield Sample(SYNCS, 1, (event.outcome,))
    yield Sample(SYNC_SECONDS, event.seconds)
    if event.embedding_failed:
        yield Sample(EMBEDDING_FAILURES, 1, ("document",))
