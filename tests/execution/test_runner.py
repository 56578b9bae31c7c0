"""One command from its start to its end, with real processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.execution.processes import PLENTY_OF_SECONDS, assert_ended

from skillhub_mcp.errors import CommandUnavailable, InvalidArgument, SkillFileNotFound
from skillhub_mcp.execution.command_policy import CommandPolicy
from skillhub_mcp.execution.processes import RUN_ID_VARIABLE
from skillhub_mcp.execution.runner import (
    CommandResult,
    RunLimits,
    reduced_environment,
    run_command,
)

RunPython = Callable[..., CommandResult]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are run on POSIX systems only")
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")

LIMITS = RunLimits(timeout_seconds=30.0, max_output_bytes=65_536)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PLENTY_OF_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.01)


# Each prints the number of a process that would outlive its parent by a minute.
SAME_GROUP = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid)\n"
OWN_SESSION = "import subprocess; print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid)\n"
OWN_SESSION_AND_ENVIRONMENT = (
    "import subprocess; print(subprocess.Popen(['sleep', '60'], start_new_session=True, env={}).pid)\n"
)
ORPHAN_IN_OWN_SESSION = (
    "import subprocess; subprocess.run(['sh', '-c', 'sleep 60 & echo $!'], start_new_session=True)\n"
)
WAIT = "import time; time.sleep(60)\n"


@pytest.mark.acceptance("S2-40")
def test_a_result_holds_both_streams_and_the_exit_code(run_python: RunPython) -> None:
    result = run_python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert result == CommandResult(
        stdout="out\n",
        stderr="err\n",
        exit_code=3,
        timeout=False,
        stdout_truncated=False,
        stderr_truncated=False,
    )


@pytest.mark.acceptance("S2-39")
def test_the_working_directory_is_the_skills(run_python: RunPython, skill: Path) -> None:
    assert run_python("import os; print(os.getcwd())").stdout == f"{skill.resolve()}\n"


@pytest.mark.acceptance("S2-39")
def test_metacharacters_are_plain_text(run_python: RunPython, skill: Path) -> None:
    args = [
        "; touch a",
        "$(touch b)",
        "`touch c`",
        "&& touch d",
        "> e",
        "| tee f",
        "*",
        "$HOME",
        "~",
        "a b",
        "",
        "'\"\n",
    ]
    result = run_python("import json, sys; print(json.dumps(sys.argv[1:]))", *args)
    assert json.loads(result.stdout) == args
    assert list(skill.iterdir()) == []


def test_stdin_is_empty(run_python: RunPython) -> None:
    assert run_python("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_output_of_a_command_that_ended_before_anyone_looked_is_kept(skill: Path) -> None:
    # A busy thread holds the interpreter while the command starts, prints and ends.
    enough = threading.Event()

    def hold_the_interpreter() -> None:
        while not enough.is_set():
            pass

    echo = shutil.which("echo", path=os.defpath)
    assert echo is not None
    busy = threading.Thread(target=hold_the_interpreter)
    busy.start()
    try:
        result = run_command((echo, "early"), cwd=skill, limits=LIMITS, environment={})
    finally:
        enough.set()
        busy.join()
    assert (result.stdout, result.exit_code) == ("early\n", 0)


@pytest.mark.acceptance("S2-41")
def test_a_flood_on_both_streams_is_cut_without_being_held(run_python: RunPython) -> None:
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
def test_each_stream_is_cut_and_flagged_on_its_own(run_python: RunPython) -> None:
    result = run_python("import sys; print('12345', end=''); print('123456', end='', file=sys.stderr)", limit=5)
    assert (result.stdout, result.stdout_truncated) == ("12345", False)
    assert (result.stderr, result.stderr_truncated) == ("12345", True)


@pytest.mark.acceptance("S2-41")
@pytest.mark.parametrize("limit", range(12))
def test_a_cut_never_splits_a_character(limit: int, run_python: RunPython) -> None:
    text = "aé日🙂é"
    result = run_python(f"print({text!r}, end='')", limit=limit)
    assert text.startswith(result.stdout)
    assert limit - 4 < len(result.stdout.encode()) <= limit
    assert result.stdout_truncated


def test_bytes_that_are_not_text_are_shown_as_replaced(run_python: RunPython) -> None:
    result = run_python(r"import os; os.write(1, b'a\xff\xfeb\xe6')")
    assert result.stdout == "a��b�"
    assert not result.stdout_truncated


@pytest.mark.slow
@pytest.mark.acceptance("S2-42")
def test_a_command_over_time_is_killed_and_keeps_what_it_printed(run_python: RunPython) -> None:
    result = run_python("print('begun')\n" + WAIT, timeout=1.0)
    assert result.timeout
    assert result.exit_code == -signal.SIGKILL
    assert result.stdout == "begun\n"


@pytest.mark.slow
@pytest.mark.acceptance("S2-42")
def test_a_command_that_ignores_every_polite_signal_is_killed(run_python: RunPython) -> None:
    deaf = """
import os, signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print(os.getpid())
"""
    result = run_python(deaf + WAIT, timeout=1.0)
    assert result.timeout
    assert_ended(int(result.stdout))


@pytest.mark.slow
@pytest.mark.acceptance("S2-42")
@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(SAME_GROUP, id="child"),
        pytest.param(OWN_SESSION, id="child in its own session", marks=needs_proc),
        pytest.param(OWN_SESSION_AND_ENVIRONMENT, id="child that dropped the mark", marks=needs_proc),
        pytest.param(ORPHAN_IN_OWN_SESSION, id="orphan in its own session", marks=needs_proc),
    ],
)
def test_a_timeout_takes_every_descendant_along(beginning: str, run_python: RunPython) -> None:
    result = run_python(beginning + WAIT, timeout=1.5)
    assert result.timeout
    assert_ended(int(result.stdout))


@pytest.mark.slow
@needs_proc
@pytest.mark.acceptance("S2-42")
def test_a_whole_tree_of_sessions_is_killed(run_python: RunPython) -> None:
    tree = """
import os, subprocess, sys, time
depth = int(sys.argv[2])
os.write(1, b"%d\\n" % os.getpid())  # in one piece, beside the others
if depth:
    command = [sys.executable, "-c", sys.argv[1], sys.argv[1], str(depth - 1)]
    for _ in range(2):
        subprocess.Popen(command, start_new_session=True)
time.sleep(60)
"""
    result = run_python(tree, tree, "2", timeout=3.0)
    assert result.timeout
    numbers = [int(line) for line in result.stdout.split()]
    assert len(numbers) == 7
    for pid in numbers:
        assert_ended(pid)


@pytest.mark.slow
@needs_proc
@pytest.mark.acceptance("S2-42")
def test_every_generation_that_dropped_the_mark_and_the_session_is_killed(run_python: RunPython) -> None:
    """Only its parent tells whose such a process is, and only its parent's parent whose that one is."""
    line = """
import os, subprocess, sys, time
depth = int(sys.argv[2])
os.write(1, b"%d\\n" % os.getpid())
if depth:
    command = [sys.executable, "-c", sys.argv[1], sys.argv[1], str(depth - 1)]
    subprocess.Popen(command, start_new_session=True, env={})
time.sleep(60)
"""
    result = run_python(line, line, "3", timeout=3.0)
    assert result.timeout
    numbers = [int(number) for number in result.stdout.split()]
    assert len(numbers) == 4
    for pid in numbers:
        assert_ended(pid)


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(SAME_GROUP, id="child"),
        pytest.param(OWN_SESSION, id="child in its own session", marks=needs_proc),
        pytest.param(ORPHAN_IN_OWN_SESSION, id="orphan in its own session", marks=needs_proc),
    ],
)
def test_what_a_finished_command_left_behind_is_killed_and_not_waited_for(
    beginning: str, run_python: RunPython
) -> None:
    # The child left behind holds both streams open for a minute.
    begun = time.monotonic()
    result = run_python(beginning, timeout=50.0)
    assert time.monotonic() - begun < PLENTY_OF_SECONDS
    assert (result.exit_code, result.timeout) == (0, False)
    assert_ended(int(result.stdout))


def test_a_command_that_closes_its_streams_early_is_waited_for(run_python: RunPython, skill: Path) -> None:
    result = run_python(
        "import os, time; os.close(1); os.close(2); time.sleep(0.3); open('late', 'w').close(); os._exit(4)"
    )
    assert result.exit_code == 4
    assert (skill / "late").exists()


def test_an_interrupted_call_kills_its_command(run_python: RunPython, skill: Path) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    number = skill / "number"

    def interrupt_once_begun() -> None:
        wait_for(number)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    watcher = threading.Thread(target=interrupt_once_begun)
    watcher.start()
    try:
        with pytest.raises(Interrupted):
            run_python("import os; open('draft', 'w').write(str(os.getpid())); os.rename('draft', 'number')\n" + WAIT)
    finally:
        watcher.join()
        signal.signal(signal.SIGUSR1, before)
    assert_ended(int(number.read_text(encoding="utf-8")))


def test_a_cancelled_command_is_killed_with_all_that_it_started(skill: Path) -> None:
    stop, environment, told = threading.Event(), reduced_environment(os.environ), skill / "pid"
    source = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "open('pid.part', 'w').write(f'{os.getpid()} {child.pid}'); os.replace('pid.part', 'pid')\n" + WAIT
    )

    def go() -> CommandResult:
        return run_command((sys.executable, "-c", source), cwd=skill, limits=LIMITS, environment=environment, stop=stop)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(go)
        wait_for(told)
        stop.set()
        result = running.result(PLENTY_OF_SECONDS)
    assert (result.exit_code, result.timeout) == (-signal.SIGKILL, False)
    for pid in told.read_text(encoding="utf-8").split():
        assert_ended(int(pid))


@pytest.mark.slow
def test_ending_one_run_leaves_another_alone(run_python: RunPython, skill: Path) -> None:
    patient = """
import pathlib, time
pathlib.Path("waiting").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.01)
print("went")
"""
    environment = {**reduced_environment(os.environ), RUN_ID_VARIABLE: "the same for both"}
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(run_python, patient, environment=environment)
        try:
            wait_for(skill / "waiting")
            assert run_python(WAIT, timeout=0.5, environment=environment).timeout
        finally:
            (skill / "go").touch()
        result = other.result(PLENTY_OF_SECONDS)
    assert (result.stdout, result.exit_code) == ("went\n", 0)


def test_a_signals_number_is_the_negative_exit_code(run_python: RunPython) -> None:
    result = run_python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert (result.exit_code, result.timeout) == (-signal.SIGTERM, False)


def test_no_descriptor_is_left_open(run_python: RunPython) -> None:
    descriptors = Path("/dev/fd")
    run_python("pass")
    before = len(list(descriptors.iterdir()))
    for _ in range(3):
        run_python("pass")
    assert len(list(descriptors.iterdir())) == before


@pytest.mark.acceptance("S2-37")
def test_a_file_named_cat_in_the_skill_is_not_run(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("cat", path=os.defpath)
    assert real is not None
    (skill / "cat").write_text("#!/bin/sh\necho the skill's own\n", encoding="utf-8")
    (skill / "cat").chmod(0o755)
    (skill / "notes.txt").write_text("read\n", encoding="utf-8")
    monkeypatch.chdir(skill)
    environment = reduced_environment({"PATH": f":.:{Path(real).parent}"})
    argv = CommandPolicy(("cat",)).build_argv("cat", ["notes.txt"], cwd=skill, search_path=environment["PATH"])
    assert run_command(argv, cwd=skill, limits=LIMITS, environment=environment).stdout == "read\n"


@pytest.mark.parametrize("search_path", ["", ".", ":/usr/bin:/bin"])
def test_nor_does_a_script_run_it_by_name(search_path: str, run_python: RunPython, skill: Path) -> None:
    (skill / "cat").write_text("#!/bin/sh\necho the skill's own\n", encoding="utf-8")
    (skill / "cat").chmod(0o755)
    (skill / "notes.txt").write_text("read\n", encoding="utf-8")
    source = "import subprocess; subprocess.run(['cat', 'notes.txt'])"
    assert run_python(source, environment=reduced_environment({"PATH": search_path})).stdout == "read\n"


def test_no_key_reaches_a_command(run_python: RunPython) -> None:
    secrets = dict.fromkeys(
        (
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "UV_INDEX_URL",
            "UV_PUBLISH_TOKEN",
            "LC_TOKEN",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "SKILLHUB_HTTP_TOKEN",
            "path",
        ),
        "secret-value",
    )
    environment = reduced_environment({**os.environ, **secrets})
    result = run_python("import json, os; print(json.dumps(dict(os.environ)))", environment=environment)
    seen = json.loads(result.stdout)
    assert seen.keys().isdisjoint(secrets)
    assert "secret-value" not in result.stdout
    # LC_CTYPE: Python sets it for itself under the C locale.
    assert seen.keys() - {"LC_CTYPE"} <= environment.keys() | {RUN_ID_VARIABLE}


def test_what_finds_programs_caches_and_language_is_passed_on() -> None:
    source = {
        "PATH": "/usr/bin:relative",
        "HOME": "/home/someone",
        "LANG": "ja_JP.eucJP",
        "UV_CACHE_DIR": "/c",
    }
    environment = reduced_environment(source)
    assert {name: environment[name] for name in source} == {**source, "PATH": "/usr/bin"}
    assert reduced_environment({})["LANG"] == "C.UTF-8"


def test_python_writes_utf_8_whatever_the_language_is(run_python: RunPython) -> None:
    environment = reduced_environment({**os.environ, "LC_ALL": "C", "LANG": "ja_JP.eucJP"})
    assert run_python("print('日本語')", environment=environment).stdout == "日本語\n"


def test_running_a_script_leaves_no_bytecode_in_the_skill(skill: Path) -> None:
    (skill / "main.py").write_text("import part\nprint(part.NAME)\n", encoding="utf-8")
    (skill / "part.py").write_text("NAME = 'part'\n", encoding="utf-8")
    environment = reduced_environment({"PATH": os.environ["PATH"]})
    result = run_command((sys.executable, "main.py"), cwd=skill, limits=LIMITS, environment=environment)
    assert result.stdout == "part\n"
    assert sorted(path.name for path in skill.iterdir()) == ["main.py", "part.py"]


@pytest.mark.parametrize("kind", ["missing", "file", "closed"])
def test_a_directory_that_cannot_be_entered_is_an_expected_error(kind: str, skill: Path) -> None:
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


@pytest.mark.parametrize("mode", [None, 0o644, 0o755])
def test_a_program_that_cannot_be_started_is_unavailable(mode: int | None, skill: Path) -> None:
    program = skill / "program"
    if mode is not None:
        program.write_bytes(b"\x00 not a program")
        program.chmod(mode)
    with pytest.raises(CommandUnavailable) as unavailable:
        run_command((str(program),), cwd=skill, limits=LIMITS, environment={})
    assert unavailable.value.subject == "program"


def test_arguments_too_long_for_the_system_are_refused(run_python: RunPython) -> None:
    with pytest.raises(InvalidArgument):
        run_python("pass", *["x" * 100_000] * 200)
