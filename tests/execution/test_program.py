"""A program that the hub itself needs: what it leaves, and how it is ended."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.execution.conftest import assert_ended

from skillhub_mcp.errors import CommandUnavailable
from skillhub_mcp.execution.program import Outcome, ProgramEnded, run_program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs of this test are POSIX shells")


def shell(
    script: str, tmp_path: Path, *, limit_seconds: float = 30.0, excess: Callable[[], str] = lambda: ""
) -> tuple[bytes, Outcome]:
    with tempfile.TemporaryFile() as output:
        outcome = run_program(
            ("/bin/sh", "-c", script),
            output,
            cwd=str(tmp_path),
            environment={"PATH": os.defpath},
            limit_seconds=limit_seconds,
            excess=excess,
        )
        output.seek(0)
        return output.read(), outcome


def test_output_exit_code_and_last_messages_are_returned(tmp_path: Path) -> None:
    assert shell("echo out; echo why >&2; exit 3", tmp_path) == (b"out\n", Outcome(3, "why\n"))


def test_a_program_over_time_is_killed_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(ProgramEnded, match="time was up"):
        shell("sleep 60 & echo $! > child; wait", tmp_path, limit_seconds=1.0)
    assert_ended(int((tmp_path / "child").read_text()))


def test_a_program_over_a_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    written = tmp_path / "written"
    with pytest.raises(ProgramEnded, match="too much") as ended:
        shell(
            "sleep 60 & echo $! > child; echo x > written; wait",
            tmp_path,
            excess=lambda: "too much" if written.exists() else "",
        )
    assert ended.value.excess == "too much"
    assert_ended(int((tmp_path / "child").read_text()))


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CommandUnavailable), tempfile.TemporaryFile() as output:
        run_program((str(tmp_path / "none"),), output, cwd=str(tmp_path), environment={}, limit_seconds=1.0)
