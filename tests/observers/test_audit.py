"""The audit log: one line for each load, read and run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.bootstrap.hub import make_observer
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.events import REQUEST_CONTEXT, Observer, RequestContext, SearchEvent, UseEvent, observe
from skillhub_mcp.observers.audit import Audit, process_owner
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.digest import skill_digest

WRITER = """
import sys
from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.observers.audit import Audit
from skillhub_mcp.events import UseEvent, observe
from skillhub_mcp.settings import read_settings
audit = Audit(owner=sys.argv[2], file=JsonLinesLog(sys.argv[1], label="The audit log"))
print("ready", flush=True)
sys.stdin.readline()
for number in range(300):
    with observe(audit, UseEvent(action="read", skill="pdf", file_path=f"{number} " + "ü" * 1_000)):
        pass
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "audit.jsonl"


@pytest.fixture
def audit(path: Path) -> Audit:
    return Audit(owner="ann", file=JsonLinesLog(str(path), label="The audit log"))


def use(observer: Observer, event: UseEvent) -> None:
    with observe(observer, event):
        pass


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def without_moment(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key not in ("at", "pid")} for line in lines]


def test_each_use_is_one_line(write_skill: SkillWriter, hub_environment: dict[str, str], path: Path) -> None:
    skill = write_skill("pdf", files={"a.md": "A.\n"})
    with hub_of({**hub_environment, "SKILLHUB_AUDIT_LOG": str(path), "SKILLHUB_SANDBOX": "off"}) as hub:
        hub.search("pdf")
        hub.load("pdf")
        hub.read_file("pdf", "a.md")
        hub.run_command("pdf", "python", ["-c", "raise SystemExit(3)"])
        for refused in (
            lambda: hub.load("pfd"),
            lambda: hub.read_file("pdf", "../../etc/passwd"),
            lambda: hub.run_command("pdf", "rm", ["-rf", "."]),
        ):
            with pytest.raises(SkillHubError):
                refused()
    who = {"who": process_owner(), "transport": "local"}
    pdf = {"skill": "pdf", "source": "hub"}
    # The sandbox of a command, and the digest of its files.
    confined = {"sandbox": "off", "digest": skill_digest(str(skill))}
    assert without_moment(written(path)) == [
        {"act": "load", **pdf, "outcome": "ok", **who},
        {"act": "read", **pdf, "file": "a.md", "outcome": "ok", **who},
        {
            "act": "run",
            **pdf,
            "command": "python",
            "exit_code": 3,
            "network": False,
            **confined,
            "outcome": "ok",
            **who,
        },
        {"act": "load", "skill": "pfd", "outcome": "SKILL_NOT_FOUND", **who},
        {"act": "read", **pdf, "file": "../../etc/passwd", "outcome": "PATH_NOT_ALLOWED", **who},
        {"act": "run", **pdf, "command": "rm", **confined, "outcome": "COMMAND_NOT_ALLOWED", **who},
    ]


def test_a_line_names_the_caller(audit: Audit, path: Path) -> None:
    token = REQUEST_CONTEXT.set(RequestContext("build-agent", "http", session="0123456789ab", trace_id="f" * 32))
    try:
        use(audit, UseEvent(action="load", skill="pdf"))
    finally:
        REQUEST_CONTEXT.reset(token)
    (line,) = without_moment(written(path))
    assert line == {
        "act": "load",
        "skill": "pdf",
        "outcome": "ok",
        "who": "build-agent",
        "transport": "http",
        "session": "0123456789ab",
        "trace_id": "f" * 32,
    }


def test_names_cannot_forge_a_line(audit: Audit, path: Path) -> None:
    forged = '\n{"act": "load", "skill": "forged"}\r\x85\u2028{"act": "load", "skill": "forged"}'
    use(audit, UseEvent(action="read", skill=forged, file_path=forged))
    with observe(audit, SearchEvent()):
        pass
    (line,) = written(path)
    assert (line["skill"], line["file"]) == (forged, forged)
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_concurrent_processes_write_whole_lines(path: Path) -> None:
    names = ("first", "second", "third")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in names
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.communicate("go\n", timeout=60)
    finally:
        for process in processes:
            process.kill()
    lines = written(path)
    assert sorted(line["who"] for line in lines) == sorted(name for name in names for _ in range(300))


def test_an_unwritable_audit_log_is_reported_at_start(
    hub_environment: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings, _ = read_settings({**hub_environment, "SKILLHUB_AUDIT_LOG": str(tmp_path)})
    with caplog.at_level("WARNING"):
        make_observer(settings, serving=True)
    assert [record.getMessage() for record in caplog.records] == [
        f"The audit log {tmp_path} cannot be written: Is a directory"
    ]
