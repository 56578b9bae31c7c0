"""OpenTelemetry spans and metrics, for a program with an SDK. Spans leave the machine: they name no skill or file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opentelemetry import context, trace
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from skillhub_mcp.events import (
    OK,
    REQUEST_CONTEXT,
    EmbeddingEvent,
    Event,
    LibraryEvent,
    Observer,
    PublicationEvent,
    RequestEvent,
    SearchEvent,
    SearchStepEvent,
    SyncEvent,
    UseEvent,
)
from skillhub_mcp.observers.metrics import METRICS, Metric, samples_of
from skillhub_mcp.version import version

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter, MeterProvider

_SCOPE = "skillhub_mcp"

Attributes = Mapping[str, str | int | bool]

# The name of each span, with the prefix and the fields of its attributes.
_SPANS: Mapping[type, tuple[str, str, tuple[str, ...]]] = {
    SearchEvent: ("skillhub.search", "skillhub.search", ("mode", "searched", "candidates", "hits", "confident")),
    SearchStepEvent: ("skillhub.search.{0.name}", "", ()),
    UseEvent: ("skillhub.{0.action}", "skillhub", ("source", "part", "size", "exit_code")),
    SyncEvent: ("skillhub.index.sync", "skillhub.index", ("written", "removed", "rebuilt")),
    EmbeddingEvent: ("skillhub.index.embed", "skillhub.index", ("written",)),
    PublicationEvent: ("skillhub.publication.check", "skillhub.publication", ("snapshot", "changed")),
    RequestEvent: ("{0.method} {0.tool}", "", ()),
}


class OpenTelemetry(Observer):
    """Makes a span of each event and measures it; without providers, with those of the program."""

    def __init__(
        self, *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        from opentelemetry import metrics

        self._tracer = trace.get_tracer(_SCOPE, version(), tracer_provider=tracer_provider)
        meter = metrics.get_meter(_SCOPE, version(), meter_provider=meter_provider)
        self._recorders = {metric: _recorder(meter, metric) for metric in METRICS}

    def start(self, event: Event) -> Callable[[], None]:
        """Start a span; events within it become its children."""
        if isinstance(event, LibraryEvent):
            return super().start(event)
        kind = SpanKind.SERVER if isinstance(event, RequestEvent) else SpanKind.INTERNAL
        span = self._tracer.start_span(_SPANS[type(event)][0].format(event).rstrip(), kind=kind)
        token = context.attach(trace.set_span_in_context(span))

        def finish() -> None:
            # While the span is current: an SDK may record it as an exemplar.
            self.record(event)
            span.set_attributes(_attributes(event))
            if event.outcome != OK:
                span.set_attribute("error.type", event.outcome)
                span.set_status(Status(StatusCode.ERROR, event.outcome))
            context.detach(token)
            span.end()

        return finish

    def record(self, event: Event) -> None:
        """Measure an event."""
        for sample in samples_of(event):
            names = sample.metric.labels
            labels = {f"skillhub.{name}": value for name, value in zip(names, sample.labels, strict=True)}
            self._recorders[sample.metric](sample.value, labels)


def is_configured() -> bool:
    """Whether this program has set a tracer or meter provider, as an SDK does."""
    metrics = sys.modules.get("opentelemetry.metrics")
    providers = [trace.get_tracer_provider(), *([metrics.get_meter_provider()] if metrics else [])]
    # Until a provider is set, the API returns placeholders of its own.
    return any(
        not type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))
        for provider in providers
    )


def _recorder(meter: Meter, metric: Metric) -> Callable[[float, Attributes], None]:
    unit = metric.unit or "1"
    if metric.kind == "gauge":
        return meter.create_gauge(metric.name, unit, metric.description).set
    instrument: Counter | Histogram
    if metric.kind == "counter":
        instrument = meter.create_counter(metric.name, unit, metric.description)
        return instrument.add
    instrument = meter.create_histogram(
        metric.name, unit, metric.description, explicit_bucket_boundaries_advisory=metric.buckets
    )
    return instrument.record


def _attributes(event: Event) -> Attributes:
    _, prefix, fields = _SPANS[type(event)]
    attributes: dict[str, str | int | bool | None] = {f"{prefix}.{field}": getattr(event, field) for field in fields}
    if isinstance(event, RequestEvent):
        attributes = {"mcp.method.name": event.method, "gen_ai.tool.name": event.tool or None}
        if (request := REQUEST_CONTEXT.get()) is not None:
            # The name of the local user is for the audit log only.
            caller = request.caller if request.transport == "http" else None
            attributes |= {"skillhub.transport": request.transport, "enduser.id": caller}
    return {key: value for key, value in attributes.items() if value is not None}
