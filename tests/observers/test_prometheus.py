"""The metrics for Prometheus."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from skillhub_mcp.events import REQUEST_CONTEXT, RequestContext, RequestEvent, observe
from skillhub_mcp.observers.metrics import METRICS
from skillhub_mcp.observers.prometheus import Prometheus, prometheus_name

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "http.md"


@pytest.fixture
def prometheus() -> Prometheus:
    return Prometheus()


def samples(prometheus: Prometheus) -> dict[tuple[str, ...], float]:
    """The value of each sample except buckets and times of creation, by name and values of its labels."""
    text = prometheus.exposition("text/plain")[0].decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_created", "_sum"))
    }


def test_requests_are_counted_by_token_only_on_request() -> None:
    def counted(prometheus: Prometheus) -> float | None:
        token = REQUEST_CONTEXT.set(RequestContext("ann", "http"))
        with observe(prometheus, RequestEvent(method="tools/list")):
            pass
        REQUEST_CONTEXT.reset(token)
        return samples(prometheus).get(("skillhub_token_requests_total", "ok", "ann"))

    assert counted(Prometheus(by_token=True)) == 1
    assert counted(Prometheus()) is None


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ],
)
def test_a_scraper_gets_the_format_that_it_accepts(prometheus: Prometheus, accept: str, form: str) -> None:
    body, reported = prometheus.exposition(accept)
    assert reported.startswith(form)
    assert body.endswith(b"# EOF\n") == reported.startswith("application/openmetrics-text")


@pytest.mark.parametrize("measure", METRICS, ids=lambda measure: measure.name)
def test_every_metric_is_documented(measure: object) -> None:
    (found,) = (one for one in METRICS if one is measure)
    ending = "_total" if found.kind == "counter" else ""
    labels = ", ".join(f"`{label}`" for label in found.labels)
    assert f"| `{prometheus_name(found)}{ending}` | `{found.name}` | {found.kind} | {labels} |" in GUIDE.read_text(
        encoding="utf-8"
    )
