"""A program that the hub itself needs: what it gets from it, and how it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.execution.processes import assert_ended

from skillhub_mcp.errors import CommandUnavailable
from skillhub_mcp.execution import program
from skillhub_mcp.execution.program import Outcome, Program, ProgramEnded

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs of this test are POSIX shells")

ENVIRONMENT = {"PATH": os.defpath}


def shell(
    script: str,
    tmp_path: Path,
    *,
    limit_seconds: float = 30.0,
    excess: Callable[[], str] | None = None,
) -> Program:
    return Program(
        ("/bin/sh", "-c", script),
        cwd=str(tmp_path),
        environment=ENVIRONMENT,
        limit_seconds=limit_seconds,
        excess=excess,
    )


def test_its_output_its_exit_code_and_the_end_of_its_messages_are_had(tmp_path: Path) -> None:
    running = shell("echo out; echo why >&2; exit 3", tmp_path)
    assert running.wait(max_output_bytes=100) == (b"out\n", Outcome(3, "why\n"))


def test_when_its_time_is_up_it_is_ended_with_its_children(tmp_path: Path) -> None:
    running = shell("sleep 60 & echo $! > child; wait", tmp_path, limit_seconds=1.0)
    with pytest.raises(ProgramEnded, match="time was up"):
        running.wait()
    assert_ended(int((tmp_path / "child").read_text()))


def test_what_uses_too_much_is_ended_with_its_children_and_the_reason(tmp_path: Path) -> None:
    written = tmp_path / "written"
    running = shell(
        "sleep 60 & echo $! > child; echo x > written; wait",
        tmp_path,
        excess=lambda: "too much" if written.exists() else "",
    )
    with pytest.raises(ProgramEnded, match="too much") as ended:
        running.wait()
    assert ended.value.excess == "too much"
    assert_ended(int((tmp_path / "child").read_text()))


def test_output_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    with pytest.raises(ProgramEnded, match="more than 1,000 bytes"):
        shell("while :; do echo yes yes yes yes yes yes; done", tmp_path).wait(max_output_bytes=1_000)


def test_messages_without_an_end_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_MOST_MESSAGE_BYTES", 1_000)
    with pytest.raises(ProgramEnded, match="more than 1,000 bytes of messages"):
        shell("while :; do echo yes yes yes yes >&2; done", tmp_path).wait()


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandUnavailable):
        Program((str(tmp_path / "none"),), cwd=str(tmp_path), environment=dict(os.environ), limit_seconds=1.0)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells which processes were started")
def test_what_was_just_started_ends_with_whoever_is_told_to_end_in_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shell("sleep 600 & exec sleep 600", tmp_path)
    (process,) = started
    with process:
        assert process.wait(30) == -signal.SIGKILL
