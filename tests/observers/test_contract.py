"""The contract of observers: they raise nothing, and disclose no content."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.observers.recording import Recording, record

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.errors import SkillHubError, SkillNotFound
from skillhub_mcp.events import (
    EmbeddingEvent,
    Event,
    LibraryEvent,
    RequestEvent,
    SearchEvent,
    SearchStepEvent,
    SyncEvent,
    UseEvent,
    observe,
)
from skillhub_mcp.settings import read_settings

HOSTILE = "a\nINFO skillhub_mcp.audit: load\r\x1b[2J\u2028\ud800\0" + "ü" * 100_000

QUERY, BODY, FILE, ARGUMENT = "qwertzuery", "bodyofaskill", "textofafile", "argumentofacommand"


@pytest.fixture
def recording(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Recording:
    return record(tmp_path, caplog)


def events() -> list[Event]:
    return [
        RequestEvent(method="tools/call", tool="load_skill"),
        RequestEvent(method="tools/list"),
        SearchEvent(),
        SearchEvent(mode="hybrid", searched=3, candidates=2, hits=1, confident=False),
        SearchStepEvent(name="embed"),
        SearchStepEvent(name="candidates"),
        SearchStepEvent(name="score"),
        UseEvent(action="load", skill=HOSTILE),
        UseEvent(action="read", skill=HOSTILE, source="hub", file_path=HOSTILE, part=2),
        UseEvent(action="run", skill=HOSTILE, command=HOSTILE, exit_code=-9, size=0),
        SyncEvent(written=1, removed=2, rebuilt=True, embedding_failed=True),
        EmbeddingEvent(written=3, failed=True),
        LibraryEvent(skills=100_000),
    ]


def test_every_event_is_observed_with_its_error_code(recording: Recording) -> None:
    for event in events():
        with observe(recording.observer, event):
            pass
        assert event.outcome == "ok"
    for event in events():
        with pytest.raises(SkillNotFound), observe(recording.observer, event):
            raise SkillNotFound(HOSTILE)
        assert event.outcome == "SKILL_NOT_FOUND"


def test_events_contain_no_text_of_requests_or_results(
    recording: Recording, write_skill: SkillWriter, hub_environment: dict[str, str]
) -> None:
    write_skill("pdf", body=f"# {BODY}\n", files={"a.md": f"{FILE}\n"})
    settings, _ = read_settings(hub_environment)
    hub = make_hub(settings, background=False, observer=recording.observer)
    try:
        hub.search(f"pdf {QUERY}")
        assert BODY in hub.load("pdf").instructions
        assert FILE in hub.read_file("pdf", "a.md").content
        assert ARGUMENT in hub.run_command("pdf", "python", ["-c", f"print('{ARGUMENT}')"]).stdout
        with pytest.raises(SkillHubError):
            # A model may pass a whole shell line as the command.
            hub.run_command("pdf", f"python -c {ARGUMENT}")
        with pytest.raises(SkillHubError):
            hub.search(QUERY, limit=0)
    finally:
        hub.close()
    output = recording.output()
    for content in (QUERY, BODY, FILE, ARGUMENT):
        assert content not in output
