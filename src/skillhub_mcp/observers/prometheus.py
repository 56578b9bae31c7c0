"""What does Prometheus scrape? The measures, in a registry of their own. Only this module knows its library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from skillhub_mcp.observers.measures import MEASURES, Measure, taken
from skillhub_mcp.observing import Happening


class Prometheus:
    """Counts what happens in one process, or, in files of a `shared` directory, in all that serve together.

    For the latter PROMETHEUS_MULTIPROC_DIR must have named the directory before the library was imported.
    """

    def __init__(self, *, shared: str = "") -> None:
        own = CollectorRegistry()
        self._metrics = {measure: _metric(measure, own) for measure in MEASURES}
        self._registry = own
        if shared:
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, path=shared)  # type: ignore[no-untyped-call]

    def begins(self, happening: Happening) -> Callable[[], None]:
        """Count it when it has ended."""
        return partial(self._count, happening)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return all numbers in the form that a scraper accepts, and what that form is called."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _count(self, ended: Happening) -> None:
        for one in taken(ended):
            metric = self._metrics[one.measure]
            labelled = metric.labels(*one.labels) if one.labels else metric
            if isinstance(labelled, Histogram):
                labelled.observe(one.value)
            elif isinstance(labelled, Gauge):
                labelled.set(one.value)
            else:
                labelled.inc(one.value)


def prometheus_name(measure: Measure) -> str:
    """Return what a measure is called here, without what is added for its kind."""
    return measure.name.replace(".", "_") + ("_seconds" if measure.unit == "s" else "")


def _metric(measure: Measure, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    name, labels = prometheus_name(measure), measure.labels
    if measure.kind == "histogram":
        return Histogram(name, measure.meaning, labels, buckets=measure.buckets, registry=registry)
    if measure.kind == "gauge":
        return Gauge(name, measure.meaning, labels, registry=registry, multiprocess_mode="mostrecent")
    return Counter(name, measure.meaning, labels, registry=registry)
