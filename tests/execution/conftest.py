from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.runner import CommandResult, RunLimits, reduced_environment, run_command
from skillhub_mcp.execution.sandbox import Sandbox, find_sandbox

RunPython = Callable[..., CommandResult]
PLENTY_OF_SECONDS = 20.0


def sandbox_here() -> Sandbox:
    """Return the sandbox of this machine, or skip the test with the system's own words."""
    try:
        return find_sandbox("bubblewrap")
    except SandboxUnavailable as error:
        pytest.skip(error.message)


def wait_until(condition: Callable[[], object], failure: str) -> None:
    deadline = time.monotonic() + PLENTY_OF_SECONDS
    while not condition():
        assert time.monotonic() < deadline, failure
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # dead, but waiting for an init that takes its time
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def assert_ended(pid: int) -> None:
    wait_until(lambda: not is_running(pid), f"process {pid} is still running")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    directory = tmp_path / "skills" / "runner-skill"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def run_python(skill: Path) -> RunPython:
    """Run Python source in the skill's directory, with this interpreter and a reduced environment."""

    def run_source(source: str, *args: str, timeout: float = 30.0, limit: int = 65_536) -> CommandResult:
        return run_command(
            (sys.executable, "-c", source, *args),
            cwd=skill,
            limits=RunLimits(timeout, limit),
            environment=reduced_environment(os.environ),
        )

    return run_source
