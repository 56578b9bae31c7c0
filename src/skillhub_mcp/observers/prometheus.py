"""What does Prometheus scrape? The measures, in a registry of their own. Only this module knows its library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from skillhub_mcp.events import Event
from skillhub_mcp.observers.metrics import METRICS, Metric, samples


class Prometheus:
    """Counts what happens in one process, or, in files of a `shared` directory, in all that serve together.

    For the latter PROMETHEUS_MULTIPROC_DIR must have named the directory before the library was imported.
    """

    def __init__(self, *, shared: str = "") -> None:
        own = CollectorRegistry()
        self._metrics = {measure: _metric(measure, own) for measure in METRICS}
        self._registry = own
        if shared:
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, path=shared)  # type: ignore[no-untyped-call]

    def begins(self, happening: Event) -> Callable[[], None]:
        """Count it when it has ended."""
        return partial(self._count, happening)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return all numbers in the form that a scraper accepts, and what that form is called."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _count(self, ended: Event) -> None:
        for one in samples(ended):
            metric = self._metrics[one.measure]
            labelled = metric.labels(*one.labels) if one.labels else metric
            if isinstance(labelled, Histogram):
                labelled.observe(one.value)
            elif isinstance(labelled, Gauge):
                labelled.set(one.value)
            else:
                labelled.inc(one.value)


def prometheus_name(measure: Metric) -> str:
    """Return what a measure is called here, without what is added for its kind."""
    return measure.name.replace(".", "_") + ("_seconds" if measure.unit == "s" else "")


def _metric(measure: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    name, labels = prometheus_name(measure), measure.labels
    if measure.kind == "histogram":
        return Histogram(name, measure.meaning, labels, buckets=measure.buckets, registry=registry)
    if measure.kind == "gauge":
        return Gauge(name, measure.meaning, labels, registry=registry, multiprocess_mode="mostrecent")
    return Counter(name, measure.meaning, labels, registry=registry)
