"""Without a sandbox, by the person's word: a command may do what the server may, within limits, and ends whole."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.execution.sandbox.test_contract import DAEMON, HOLD, LIMITS, UNTIL_HELD, Held, Runs

from skillhub_mcp.execution.sandbox.model import OFF

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are run on POSIX systems only")


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    skill = tmp_path / "one"
    skill.mkdir()
    return Runs(OFF, skill)


def test_a_command_may_do_what_the_server_may(run: Runs) -> None:
    result = run("import os; open('made', 'w').close(); print(os.path.expanduser('~'))")
    assert (result.stdout, result.exit_code) == (f"{os.path.expanduser('~')}\n", 0)
    assert (run.skill / "made").exists()
    ended = run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert (ended.exit_code, ended.timeout) == (-signal.SIGTERM, False)


def test_its_limits_hold(run: Runs) -> None:
    told = run.try_each(
        {
            "memory": "len(bytearray(400 << 20))",
            "file": "open('big', 'wb', buffering=0).write(b'x' * (2 << 20))",
            "descriptors": "[open('/dev/null') for _ in range(200)] and 'many'",
        }
    )
    assert told["file"] in {"OSError", str(1 << 20)}
    assert told["descriptors"] == "OSError"
    if sys.platform == "linux":
        assert told["memory"] == "MemoryError"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the program that watches them")
def test_a_setsid_child_with_an_empty_environment_ends_with_its_call_and_with_the_time_limit(
    run: Runs, tmp_path: Path
) -> None:
    for number, seconds in enumerate((30.0, 1.0)):
        held = Held(tmp_path / f"held{number}", run)
        wait = "time.sleep(60)" if number else ""
        result = run(DAEMON + UNTIL_HELD + wait, HOLD, held.path, limits=replace(LIMITS, timeout_seconds=seconds))
        assert result.timeout is bool(number)
        held.assert_ended()
