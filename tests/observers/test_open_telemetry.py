"""Spans and metrics for a program with an OpenTelemetry SDK."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.trace import StatusCode
from tests.conftest import SkillWriter
from tests.observers.recording import Telemetry
from tests.search.builders import WordEmbedder

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import read_settings

# Prints the observers of a server, and whether the OpenTelemetry API was imported.
PROBE = """
import os, sys
if sys.argv[1] == "sdk":
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    trace.set_tracer_provider(TracerProvider())
elif sys.argv[1] == "numbers alone":
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    metrics.set_meter_provider(MeterProvider())
elif sys.argv[1] == "api":
    import opentelemetry.trace
from skillhub_mcp.bootstrap.hub import make_observer
from skillhub_mcp.settings import read_settings
observer = make_observer(read_settings(os.environ)[0], serving=True)
print([type(one).__name__ for one in observer.observers], "opentelemetry" in sys.modules)
"""


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.close()


@pytest.fixture
def hub(telemetry: Telemetry, write_skill: SkillWriter, hub_environment: dict[str, str]) -> Iterator[SkillHub]:
    write_skill("pdf", "Reads and fills PDF forms.", files={"a.md": "12345"})
    write_skill("docx", "Writes letters.")
    settings, _ = read_settings(hub_environment)
    made = make_hub(settings, background=False, observer=telemetry.observer)
    yield made
    made.close()


def test_a_search_has_a_span_for_each_step(hub: SkillHub, telemetry: Telemetry) -> None:
    hub.search("fill a form")
    spans = {span.name: span for span in telemetry.spans()}
    search = spans["skillhub.search"]
    for step in ("candidates", "score"):
        parent = spans[f"skillhub.search.{step}"].parent
        assert parent is not None
        assert parent.span_id == search.context.span_id
    assert search.attributes == {
        "skillhub.search.mode": "fts",
        "skillhub.search.searched": 2,
        "skillhub.search.candidates": 1,
        "skillhub.search.hits": 1,
        "skillhub.search.confident": True,
    }


def test_spans_of_uses_do_not_name_the_skill(hub: SkillHub, telemetry: Telemetry) -> None:
    size = len(hub.load("pdf").instructions)
    hub.read_file("pdf", "a.md", offset=1)
    hub.run_command("pdf", "python", ["-c", "raise SystemExit(3)"])
    assert [(span.name, dict(span.attributes or {})) for span in telemetry.spans()] == [
        ("skillhub.load", {"skillhub.source": "hub", "skillhub.size": size}),
        ("skillhub.read", {"skillhub.source": "hub", "skillhub.size": 4}),
        ("skillhub.run", {"skillhub.source": "hub", "skillhub.exit_code": 3}),
    ]


def test_spans_have_the_code_of_an_error_but_not_its_message(hub: SkillHub, telemetry: Telemetry) -> None:
    with pytest.raises(SkillHubError):
        hub.load("nothing-of-the-kind")
    (span,) = telemetry.spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "SKILL_NOT_FOUND")
    assert span.attributes == {"error.type": "SKILL_NOT_FOUND"}
    assert span.events == ()


def test_failures_of_a_provider_are_counted_by_purpose(
    telemetry: Telemetry,
    write_skill: SkillWriter,
    hub_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = WordEmbedder(dimension=64)
    monkeypatch.setattr("skillhub_mcp.bootstrap.hub.choose_embedder", lambda _: embedder)
    settings, _ = read_settings(hub_environment)
    write_skill("pdf", "Reads and fills PDF forms.")
    hub = make_hub(settings, background=False, observer=telemetry.observer)
    hub.refresh()
    assert ("skillhub.embedding.failures", "query") not in telemetry.numbers()
    embedder.fails = True
    hub.search("fill a form")
    write_skill("docx", "Writes letters.")
    hub.refresh()
    hub.close()
    numbers = telemetry.numbers()
    assert numbers["skillhub.embedding.failures", "query"] == 1
    assert numbers["skillhub.embedding.failures", "document"] == 1
    (embedding,) = (span for span in telemetry.spans() if span.name == "skillhub.search.embed")
    assert embedding.status.description == "EMBEDDING_FAILED"


@pytest.mark.parametrize(
    ("present", "answer"),
    [
        ("sdk", "['OpenTelemetry', 'AccessLog', 'Audit'] True"),
        ("numbers alone", "['OpenTelemetry', 'AccessLog', 'Audit'] True"),
        ("api", "['AccessLog', 'Audit'] True"),
        ("nothing", "['AccessLog', 'Audit'] False"),
    ],
)
def test_spans_exist_only_with_an_sdk(present: str, answer: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, present], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout.strip() == answer
