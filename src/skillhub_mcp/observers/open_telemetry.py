"""What does OpenTelemetry hear? Spans, and the measures. For a program with an SDK; only this module knows the API.

No span says which skill or file: spans go to others, and the audit's line, which does say so, has the trace's id.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry import context, trace
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from skillhub_mcp.events import (
    OK,
    REQUEST_CONTEXT,
    Event,
    LibraryEvent,
    RequestEvent,
    SearchEvent,
    SearchStepEvent,
    SyncEvent,
    UseEvent,
)
from skillhub_mcp.observers.metrics import METRICS, Metric, samples
from skillhub_mcp.version import version

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter, MeterProvider

_SCOPE = "skillhub_mcp"

Attributes = Mapping[str, str | int | bool]


class OpenTelemetry:
    """Makes a span of each happening, within the one that is open, and counts it when it has ended.

    Without providers it takes those that the program has set.
    """

    def __init__(self, *, tracers: TracerProvider | None = None, meters: MeterProvider | None = None) -> None:
        from opentelemetry import metrics

        self._tracer = trace.get_tracer(_SCOPE, version(), tracer_provider=tracers)
        meter = metrics.get_meter(_SCOPE, version(), meter_provider=meters)
        self._recorders = {measure: _recorder(meter, measure) for measure in METRICS}

    def begins(self, happening: Event) -> Callable[[], None]:
        """Open a span; what happens inside has it as its parent."""
        if isinstance(happening, LibraryEvent):
            return partial(self._count, happening)
        kind = SpanKind.SERVER if isinstance(happening, RequestEvent) else SpanKind.INTERNAL
        span = self._tracer.start_span(_name(happening), kind=kind)
        token = context.attach(trace.set_span_in_context(span))

        def ended() -> None:
            # Counted while the span is open: an SDK may note it as the example of a bucket.
            self._count(happening)
            span.set_attributes(_attributes(happening))
            if happening.outcome != OK:
                span.set_attribute("error.type", happening.outcome)
                span.set_status(Status(StatusCode.ERROR, happening.outcome))
            context.detach(token)
            span.end()

        return ended

    def _count(self, ended: Event) -> None:
        for one in samples(ended):
            labels = {f"skillhub.{label}": value for label, value in zip(one.measure.labels, one.labels, strict=True)}
            self._recorders[one.measure](one.value, labels)


def is_set_up() -> bool:
    """Whether this program has set up an SDK, or whatever else takes spans or numbers."""
    providers: list[object] = [trace.get_tracer_provider()]
    # FastMCP brings along what spans are made with. What numbers are kept with is loaded by who wants some.
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is not None:
        providers.append(metrics.get_meter_provider())
    # Until one is set, the API answers with stand-ins of its own.
    return any(
        not type(one).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics")) for one in providers
    )


def _recorder(meter: Meter, measure: Metric) -> Callable[[float, Attributes], None]:
    unit = measure.unit or "1"
    if measure.kind == "gauge":
        return meter.create_gauge(measure.name, unit, measure.meaning).set
    made: Counter | Histogram
    if measure.kind == "counter":
        made = meter.create_counter(measure.name, unit, measure.meaning)
        return made.add
    made = meter.create_histogram(
        measure.name, unit, measure.meaning, explicit_bucket_boundaries_advisory=measure.buckets
    )
    return made.record


def _name(happening: Event) -> str:
    match happening:
        case RequestEvent(method=method, tool=tool):
            return f"{method} {tool}" if tool else method
        case SearchStepEvent(name=name):
            return f"skillhub.search.{name}"
        case UseEvent(act=act):
            return f"skillhub.{act}"
        case SyncEvent():
            return "skillhub.index.sync"
        case _:
            return "skillhub.search"


def _attributes(ended: Event) -> Attributes:
    found: dict[str, str | int | bool | None] = {}
    match ended:
        case RequestEvent():
            asking = REQUEST_CONTEXT.get()
            found = {"mcp.method.name": ended.method, "gen_ai.tool.name": ended.tool or None}
            if asking is not None:
                # The person at this machine is nobody's business but the audit's.
                who = asking.who if asking.transport == "http" else None
                found |= {"skillhub.transport": asking.transport, "enduser.id": who}
        case SearchEvent():
            found = {
                "skillhub.search.mode": ended.mode,
                "skillhub.search.searched": ended.searched,
                "skillhub.search.candidates": ended.candidates,
                "skillhub.search.hits": ended.hits,
                "skillhub.search.confident": ended.confident,
            }
        case UseEvent():
            found = {
                "skillhub.source": ended.source,
                "skillhub.part": ended.part,
                "skillhub.size": ended.size,
                "skillhub.exit_code": ended.exit_code,
            }
        case SyncEvent():
            found = {
                "skillhub.index.written": ended.written,
                "skillhub.index.removed": ended.removed,
                "skillhub.index.rebuilt": ended.rebuilt,
            }
        case _:
            pass
    return {key: value for key, value in found.items() if value is not None}
