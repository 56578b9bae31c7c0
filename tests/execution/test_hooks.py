"""Hooks: an invalid file is refused, and commands are bounded."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.execution.processes import assert_ended

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.execution.hooks import Hook, HookEvent, read_hooks, run_hook

pytestmark = pytest.mark.slow


def hook(command: str, *, matcher: str = "", timeout: float = 30.0) -> Hook:
    return Hook(HookEvent.BEFORE, matcher, command, timeout)


def file_of(tmp_path: Path, written: Any) -> str:
    path = tmp_path / "hooks.json"
    path.write_text(written if isinstance(written, str) else json.dumps(written), encoding="utf-8")
    return str(path)


def groups(*hooks: Any, **more: Any) -> Any:
    return {"hooks": {"PreToolUse": [{"hooks": list(hooks), **more}]}}


@pytest.mark.acceptance("S4-16")
def test_a_file_in_the_form_that_agents_use_is_read(tmp_path: Path) -> None:
    written = {
        "hooks": {
            "PreToolUse": [{"matcher": "Skill", "hooks": [{"type": "command", "command": "a"}, {"command": "b"}]}],
            "PostToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "c", "timeout": 5}]}],
        }
    }
    assert read_hooks(file_of(tmp_path, written)) == (
        Hook(HookEvent.BEFORE, "Skill", "a", 30.0),
        Hook(HookEvent.BEFORE, "Skill", "b", 30.0),
        Hook(HookEvent.AFTER, "*", "c", 5.0),
    )


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("{", "is not valid JSON"),
        ([], 'must be an object with the key "hooks"'),
        ({"hooks": {"SessionStart": []}}, "has the unknown event 'SessionStart'"),
        ({"hooks": {"PreToolUse": {}}}, "hooks.PreToolUse must be a list"),
        ({"hooks": {"PreToolUse": [{}]}}, 'must have a list "hooks"'),
        (groups({"command": "a"}, match="x"), 'must have a list "hooks"'),
        (groups({"command": "a"}, matcher="("), "is not a regular expression"),
        (groups({"command": "a"}, matcher=3), "is not a regular expression"),
        (groups("a"), 'must have the type "command"'),
        (groups({"type": "prompt", "command": "a"}), 'must have the type "command"'),
        (groups({"command": " "}), "must be a shell command"),
        (groups({"command": "a", "timeout": 0}), "must be a number of seconds"),
        (groups({"command": "a", "timeout": True}), "must be a number of seconds"),
        (groups({"command": "a", "async": True}), "may have type, command and timeout only"),
    ],
)
def test_a_hook_that_is_not_understood_stops_the_start(tmp_path: Path, written: Any, reason: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_hooks(file_of(tmp_path, written))
    assert reason in caught.value.message
    assert caught.value.setting == "SKILLHUB_HOOKS"


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read_hooks(str(tmp_path / "none.json"))


def test_what_a_hook_appends_to_a_file_is_a_call_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for tool in ("first", "second"):
        assert run_hook(hook(f"cat >> {shlex.quote(str(log))}"), {"tool_name": tool}).failure is None
    lines = log.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["tool_name"] for line in lines] == ["first", "second"]


@pytest.mark.parametrize(
    ("matcher", "tool", "fits"),
    [
        ("", "x", True),
        ("*", "x", True),
        ("a|b", "b", True),
        ("load", "load_skill", False),
        ("load.*", "load_skill", True),
    ],
)
def test_a_matcher_matches_a_whole_name(matcher: str, tool: str, fits: bool) -> None:
    assert hook("true", matcher=matcher).matches(tool) is fits


@pytest.mark.acceptance("S4-16")
def test_a_hook_gets_the_call_as_json_and_its_failure_is_what_it_said(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_hook(hook(f"cat > '{out}'"), {"tool_name": "日本語"}).failure is None
    assert json.loads(out.read_text(encoding="utf-8")) == {"tool_name": "日本語"}
    assert run_hook(hook("echo no >&2; exit 2"), {}).failure == "no"
    assert run_hook(hook("exit 7"), {}).failure == "it ended with exit code 7"
    assert run_hook(hook("echo printed; true"), {}).failure is None


@pytest.mark.acceptance("S4-16")
def test_a_hook_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    outcome = run_hook(hook(f"sleep 600 & echo $! > '{mark}'; wait", timeout=1.0), {})
    assert outcome.failure == "it ran longer than 1 seconds"
    assert_ended(int(mark.read_text(encoding="utf-8")))


def test_a_hook_that_does_not_read_or_says_a_great_deal_is_no_trouble() -> None:
    big = {"tool_input": "x" * 1_000_000}
    assert run_hook(hook("true"), big).failure is None
    said = run_hook(hook("head -c 5000000 /dev/zero | tr '\\0' a >&2; exit 1"), big).failure
    assert said is not None
    assert len(said) == 2_000


def test_hooks_that_somebody_else_may_write_stop_the_start(tmp_path: Path) -> None:
    path = Path(file_of(tmp_path, groups({"type": "command", "command": "true"})))
    assert len(read_hooks(str(path))) == 1
    path.chmod(0o666)
    with pytest.raises(InvalidSetting, match=r"others may write it \(mode 0666\)") as refused:
        read_hooks(str(path))
    assert refused.value.hint == f"run chmod go-w {path}"


@pytest.mark.parametrize("written", ["[" * 100_000, '{"hooks": ' + "9" * 5_000 + "}"])
def test_hooks_that_python_cannot_hold_stop_the_start(tmp_path: Path, written: str) -> None:
    (tmp_path / "hooks.json").write_text(written, encoding="utf-8")
    with pytest.raises(InvalidSetting, match=r"too deep|too long"):
        read_hooks(str(tmp_path / "hooks.json"))


def test_what_no_encoding_has_reaches_a_hook_as_an_escape(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    assert run_hook(hook(f"cat > {seen}"), {"tool_input": {"query": "\ud800 é"}}).failure is None
    assert json.loads(seen.read_bytes()) == {"tool_input": {"query": "\ud800 é"}}


LEAVES = """
import os, sys, time
if len(sys.argv) == 2 or os.fork() == 0:
    os.setsid()
    print(os.getpid(), file=open(sys.argv[1], "a"), flush=True)
    time.sleep(600)
"""


def test_children_in_sessions_of_their_own_end_with_the_time_limit(tmp_path: Path) -> None:
    mark = shlex.quote(str(tmp_path / "pids"))
    start = f"{shlex.quote(sys.executable)} -c {shlex.quote(LEAVES)} {mark}"
    # One that is still the hook's child, and one that was orphaned before the limit.
    started = f"while [ $(cat {mark} 2>/dev/null | wc -l) -lt 2 ]; do sleep 0.1; done"
    outcome = run_hook(hook(f"{start} &\n{start} orphan\n{started}\nsleep 600", timeout=5.0), {})
    assert outcome.failure == "it ran longer than 5 seconds"
    pids = (tmp_path / "pids").read_text(encoding="utf-8").split()
    assert len(pids) == 2
    for pid in pids:
        assert_ended(int(pid))
