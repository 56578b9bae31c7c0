"""The metrics for Prometheus, in a registry of their own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from skillhub_mcp.events import REQUEST_CONTEXT, Event, Observer, RequestEvent
from skillhub_mcp.observers.metrics import METRICS, TOKEN_REQUESTS, Metric, samples_of


class Prometheus(Observer):
    """Measures one process, or all workers through `shared`, which PROMETHEUS_MULTIPROC_DIR must name."""

    def __init__(self, *, shared: str = "", by_token: bool = False) -> None:
        self._by_token = by_token
        own = CollectorRegistry()
        self._collectors = {metric: _collector(metric, own) for metric in METRICS}
        if by_token:
            self._by_caller = Counter(
                prometheus_name(TOKEN_REQUESTS), TOKEN_REQUESTS.description, TOKEN_REQUESTS.labels, registry=own
            )
        self._registry = own
        if shared:
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, path=shared)  # type: ignore[no-untyped-call]

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in a format that a scraper accepts, and the format's content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def record(self, event: Event) -> None:
        """Measure an event."""
        request = REQUEST_CONTEXT.get() if self._by_token and isinstance(event, RequestEvent) else None
        if request is not None:
            self._by_caller.labels(request.caller, event.outcome).inc()
        for sample in samples_of(event):
            collector = self._collectors[sample.metric]
            labelled = collector.labels(*sample.labels) if sample.labels else collector
            if isinstance(labelled, Histogram):
                labelled.observe(sample.value)
            elif isinstance(labelled, Gauge):
                labelled.set(sample.value)
            else:
                labelled.inc(sample.value)


def prometheus_name(metric: Metric) -> str:
    """Return the Prometheus name of a metric, without the suffix of its kind."""
    return metric.name.replace(".", "_") + ("_seconds" if metric.unit == "s" else "")


def _collector(metric: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    name, labels = prometheus_name(metric), metric.labels
    if metric.kind == "histogram":
        return Histogram(name, metric.description, labels, buckets=metric.buckets, registry=registry)
    if metric.kind == "gauge":
        return Gauge(name, metric.description, labels, registry=registry, multiprocess_mode="mostrecent")
    return Counter(name, metric.description, labels, registry=registry)
