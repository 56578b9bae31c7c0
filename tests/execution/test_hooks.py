"""Hooks: an invalid file is refused, and commands are bounded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.execution.conftest import assert_ended

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.execution.hooks import Hook, read_hooks, run_hook

pytestmark = pytest.mark.slow


def hook(command: str, *, timeout: float = 30.0) -> Hook:
    return Hook("PreToolUse", re.compile(".*"), command, timeout)


def file_of(tmp_path: Path, written: Any) -> str:
    path = tmp_path / "hooks.json"
    path.write_text(written if isinstance(written, str) else json.dumps(written), encoding="utf-8")
    return str(path)


def groups(*hooks: Any, **more: Any) -> Any:
    return {"hooks": {"PreToolUse": [{"hooks": list(hooks), **more}]}}


@pytest.mark.acceptance("S4-16")
def test_hooks_are_read_in_the_format_of_claude_code(tmp_path: Path) -> None:
    written = {
        "hooks": {
            "PreToolUse": [{"matcher": "Skill", "hooks": [{"type": "command", "command": "a"}, {"command": "b"}]}],
            "PostToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "c", "timeout": 5}]}],
        }
    }
    assert read_hooks(file_of(tmp_path, written)) == (
        Hook("PreToolUse", re.compile("Skill"), "a", 30.0),
        Hook("PreToolUse", re.compile("Skill"), "b", 30.0),
        Hook("PostToolUse", re.compile(".*"), "c", 5.0),
    )


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("{", "is not valid JSON"),
        ([], "is invalid at the file"),
        ({"hooks": {"SessionStart": []}}, "is invalid at hooks.SessionStart"),
        ({"hooks": {"PreToolUse": {}}}, "hooks.PreToolUse: Input should be a valid list"),
        (groups({"command": "a"}, match="x"), "hooks.PreToolUse.0.match: Extra inputs are not permitted"),
        (groups({"command": "a"}, matcher="("), "matcher: Input should be a valid regular expression"),
        (groups({"type": "prompt", "command": "a"}), "hooks.0.type: Input should be 'command'"),
        (groups({"command": " "}), "hooks.PreToolUse.0.hooks.0.command"),
        (groups({"command": "a", "timeout": 0}), "timeout: Input should be greater than 0"),
        (groups({"command": "a", "async": True}), "hooks.0.async: Extra inputs are not permitted"),
    ],
)
def test_an_invalid_hooks_file_is_refused(tmp_path: Path, written: Any, reason: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_hooks(file_of(tmp_path, written))
    assert reason in caught.value.message
    assert caught.value.setting == "SKILLHUB_HOOKS"


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
def test_a_matcher_matches_whole_tool_names(tmp_path: Path, matcher: str, tool: str, fits: bool) -> None:
    (read,) = read_hooks(file_of(tmp_path, groups({"command": "true"}, matcher=matcher)))
    assert bool(read.matcher.fullmatch(tool)) is fits


@pytest.mark.acceptance("S4-16")
def test_a_hook_gets_json_and_its_stderr_is_the_failure(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_hook(hook(f"cat > '{out}'"), {"tool_name": "日本語"}) is None
    assert json.loads(out.read_text(encoding="utf-8")) == {"tool_name": "日本語"}
    assert run_hook(hook("echo no >&2; exit 2"), {}) == "no"
    assert run_hook(hook("exit 7"), {}) == "it ended with exit code 7"
    assert run_hook(hook("echo printed; true"), {}) is None


@pytest.mark.acceptance("S4-16")
def test_a_hook_over_its_timeout_is_killed_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    outcome = run_hook(hook(f"sleep 600 & echo $! > '{mark}'; wait", timeout=1.0), {})
    assert outcome == "it ran longer than 1 seconds"
    assert_ended(int(mark.read_text(encoding="utf-8")))


def test_hooks_may_ignore_stdin_and_write_much() -> None:
    big = {"tool_input": "x" * 1_000_000}
    assert run_hook(hook("true"), big) is None
    reason = run_hook(hook("head -c 5000000 /dev/zero | tr '\\0' a >&2; exit 1"), big)
    assert reason is not None
    assert len(reason) == 2_000


def test_a_hooks_file_writable_by_others_is_refused(tmp_path: Path) -> None:
    path = Path(file_of(tmp_path, groups({"type": "command", "command": "true"})))
    assert len(read_hooks(str(path))) == 1
    path.chmod(0o666)
    with pytest.raises(InvalidSetting, match=r"others may write it \(mode 0666\)") as refused:
        read_hooks(str(path))
    assert refused.value.hint == f"run chmod go-w {path}"


@pytest.mark.parametrize("written", ["[" * 100_000, '{"hooks": ' + "9" * 5_000 + "}"])
def test_a_hooks_file_beyond_the_limits_of_json_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "hooks.json").write_text(written, encoding="utf-8")
    with pytest.raises(InvalidSetting, match=r"too deep|too long"):
        read_hooks(str(tmp_path / "hooks.json"))
