"""One command from its start to its end, with real processes."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.execution.conftest import PLENTY_OF_SECONDS, RunPython, assert_ended, wait_until

from skillhub_mcp.errors import SkillFileNotFound
from skillhub_mcp.execution.runner import CommandResult, RunLimits, reduced_environment, run_command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are run on POSIX systems only")

LIMITS = RunLimits(timeout_seconds=30.0, max_output_bytes=65_536)


# Prints the number of a process that would outlive its parent by a minute.
CHILD = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid)\n"
WAIT = "import time; time.sleep(60)\n"


@pytest.mark.acceptance("S2-40")
def test_a_result_holds_both_streams_and_the_exit_code(run_python: RunPython) -> None:
    result = run_python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert result == CommandResult("out\n", "err\n", 3, timeout=False, stdout_truncated=False, stderr_truncated=False)


@pytest.mark.acceptance("S2-39")
def test_the_working_directory_is_that_of_the_skill(run_python: RunPython, skill: Path) -> None:
    assert run_python("import os; print(os.getcwd())").stdout == f"{skill.resolve()}\n"


@pytest.mark.acceptance("S2-39")
def test_shell_metacharacters_are_plain_text(run_python: RunPython, skill: Path) -> None:
    args = ["; touch a", "$(touch b)", "`touch c`", "> e", "| tee f", "*", "$HOME", "~", "a b", "", "'\"\n"]
    result = run_python("import json, sys; print(json.dumps(sys.argv[1:]))", *args)
    assert json.loads(result.stdout) == args
    assert list(skill.iterdir()) == []


@pytest.mark.acceptance("S2-41")
def test_excess_output_is_discarded_without_blocking_or_memory(run_python: RunPython) -> None:
    flood = """
import os, threading
def pour(descriptor):
    for _ in range(50):
        rest = memoryview(b"x" * 1024 * 1024)
        while rest:
            rest = rest[os.write(descriptor, rest):]
threads = [threading.Thread(target=pour, args=(descriptor,)) for descriptor in (1, 2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    tracemalloc.start()
    try:
        result = run_python(flood, limit=65_536)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result.exit_code, result.timeout) == (0, False)  # it was never kept waiting
    assert result.stdout == result.stderr == "x" * 65_536
    assert result.stdout_truncated
    assert result.stderr_truncated
    assert peak < 4 * 1024 * 1024


@pytest.mark.acceptance("S2-41")
@pytest.mark.parametrize("limit", range(12))
def test_a_cut_never_splits_a_character(limit: int, run_python: RunPython) -> None:
    text = "aé日🙂é"
    result = run_python(f"print({text!r}, end='')", limit=limit)
    assert text.startswith(result.stdout)
    assert limit - 4 < len(result.stdout.encode()) <= limit
    assert result.stdout_truncated


@pytest.mark.slow
@pytest.mark.acceptance("S2-42")
def test_a_command_over_time_is_killed_with_its_children_and_keeps_its_output(run_python: RunPython) -> None:
    result = run_python(CHILD + WAIT, timeout=1.5)
    assert (result.timeout, result.exit_code) == (True, -signal.SIGKILL)
    assert_ended(int(result.stdout))


def test_children_of_a_finished_command_are_killed(run_python: RunPython) -> None:
    # The child left behind holds both streams open for a minute.
    begun = time.monotonic()
    result = run_python(CHILD, timeout=50.0)
    assert time.monotonic() - begun < PLENTY_OF_SECONDS
    assert (result.exit_code, result.timeout) == (0, False)
    assert_ended(int(result.stdout))


def test_a_cancelled_command_is_killed_with_its_children(skill: Path) -> None:
    stop, environment, pids = threading.Event(), reduced_environment(os.environ), skill / "pid"
    source = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "open('pid.part', 'w').write(f'{os.getpid()} {child.pid}'); os.replace('pid.part', 'pid')\n" + WAIT
    )

    def go() -> CommandResult:
        return run_command((sys.executable, "-c", source), cwd=skill, limits=LIMITS, environment=environment, stop=stop)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(go)
        wait_until(pids.exists, "the command has not started")
        stop.set()
        result = running.result(PLENTY_OF_SECONDS)
    assert (result.exit_code, result.timeout) == (-signal.SIGKILL, False)
    for pid in pids.read_text(encoding="utf-8").split():
        assert_ended(int(pid))


def test_no_secret_reaches_a_command(run_python: RunPython, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = "OPENAI_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN SSH_AUTH_SOCK HTTPS_PROXY UV_INDEX_URL LC_TOKEN path"
    changes_programs = "PYTHONPATH PYTHONSTARTUP LD_PRELOAD NODE_OPTIONS"
    secrets = dict.fromkeys((*keys.split(), *changes_programs.split()), "secret-value")
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    environment = reduced_environment(os.environ)
    result = run_python("import json, os; print(json.dumps(dict(os.environ)))")
    seen = json.loads(result.stdout)
    assert seen.keys().isdisjoint(secrets)
    assert "secret-value" not in result.stdout
    # LC_CTYPE: Python sets it for itself under the C locale.
    assert seen.keys() - {"LC_CTYPE"} <= environment.keys()


def test_a_script_leaves_no_bytecode_in_the_skill(skill: Path) -> None:
    (skill / "main.py").write_text("import part\nprint(part.NAME)\n", encoding="utf-8")
    (skill / "part.py").write_text("NAME = 'part'\n", encoding="utf-8")
    environment = reduced_environment({"PATH": os.environ["PATH"]})
    result = run_command((sys.executable, "main.py"), cwd=skill, limits=LIMITS, environment=environment)
    assert result.stdout == "part\n"
    assert sorted(path.name for path in skill.iterdir()) == ["main.py", "part.py"]


@pytest.mark.parametrize("kind", ["missing", "file", "closed"])
def test_a_directory_that_cannot_be_entered_is_reported(kind: str, skill: Path) -> None:
    place = skill / kind
    if kind == "file":
        place.touch()
    elif kind == "closed":
        if os.geteuid() == 0:
            pytest.skip("root may enter every directory")
        place.mkdir(mode=0)
    with pytest.raises(SkillFileNotFound) as missing:
        run_command((sys.executable, "-c", ""), cwd=place, limits=LIMITS, environment={})
    assert str(skill) not in missing.value.message  # a path of the server is not for every client
