"""All observers, with what each recorded, for tests."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.events import NULL_OBSERVER, CompositeObserver, Observer
from skillhub_mcp.observers.audit import Audit
from skillhub_mcp.observers.logs import AccessLog
from skillhub_mcp.observers.open_telemetry import OpenTelemetry
from skillhub_mcp.observers.prometheus import Prometheus


@dataclass(frozen=True, slots=True)
class Recording:
    """An observer, and all its output so far as one text."""

    observer: Observer
    output: Callable[[], str]


class Telemetry:
    """An OpenTelemetry SDK that keeps its spans and metrics in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader])
        self._shutdown = (tracers.shutdown, meters.shutdown)
        self.observer = OpenTelemetry(tracer_provider=tracers, meter_provider=meters)

    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in the order in which they did."""
        return list(self._exporter.get_finished_spans())

    def numbers(self) -> dict[tuple[str, ...], float]:
        """The value of each counter and gauge, and the count of each histogram, by name and values of its labels."""
        data = self._reader.get_metrics_data()
        found: dict[tuple[str, ...], float] = {}
        for resource in [] if data is None else data.resource_metrics:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                for point in metric.data.data_points:
                    value = getattr(point, "value", None)
                    labels = (str(label) for label in (point.attributes or {}).values())
                    found[(metric.name, *labels)] = getattr(point, "count", 0) if value is None else value
        return found

    def output(self) -> str:
        return "\n".join([*(span.to_json() for span in self.spans()), repr(self.numbers())])

    def close(self) -> None:
        for shutdown in self._shutdown:
            shutdown()


def record(directory: Path, caplog: pytest.LogCaptureFixture) -> Recording:
    """Return all observers as one, with their output."""
    caplog.set_level(logging.DEBUG, logger="skillhub_mcp")
    path = directory / "audit.jsonl"
    telemetry, prometheus = Telemetry(), Prometheus()
    audit = Audit(owner="ann", file=JsonLinesLog(str(path), label="The audit log"))

    def output() -> str:
        logged = [repr(vars(record)) for record in caplog.records]
        return "\n".join(
            [*logged, path.read_text(encoding="utf-8"), telemetry.output(), prometheus.exposition("")[0].decode()]
        )

    return Recording(CompositeObserver([NULL_OBSERVER, AccessLog(), audit, telemetry.observer, prometheus]), output)
