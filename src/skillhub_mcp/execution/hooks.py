"""What of a person's own runs before and after each tool call? Shell commands from one file of theirs (seed 004).

The file has the form that agents already use: events, matchers, commands. It is the person's own code: it runs with
their rights and their environment, outside every sandbox, and is looked for nowhere but where a setting says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from skillhub_mcp.errors import InvalidSetting

SETTING = "SKILLHUB_HOOKS"
DEFAULT_TIMEOUT_SECONDS = 30.0

_MAX_TIMEOUT_SECONDS = 3_600.0
_MAX_FILE_BYTES = 1024 * 1024
_MAX_REASON_CHARACTERS = 2_000


class HookEvent(str, Enum):
    """When a hook runs."""

    BEFORE = "PreToolUse"
    AFTER = "PostToolUse"


@dataclass(frozen=True, slots=True)
class Hook:
    """One shell command, and the tools that it runs for: those whose whole name `matcher` matches, or all."""

    event: HookEvent
    matcher: str
    command: str
    timeout_seconds: float

    def matches(self, tool: str) -> bool:
        """Whether the hook runs for `tool`."""
        return self.matcher in ("", "*") or re.fullmatch(self.matcher, tool) is not None


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """How a hook ended: `failure` is None where it ended with exit code 0, else what it said, or what befell it."""

    failure: str | None


def read_hooks(path: str) -> tuple[Hook, ...]:
    """Return the hooks of a file `{"hooks": {"PreToolUse": [{"matcher", "hooks": [{"type", "command"}]}]}}`.

    Raises InvalidSetting for a file that cannot be read or means something else: a hook that was meant to stop calls
    must not be lost in silence.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            written = json.loads(file.read(_MAX_FILE_BYTES))
    except OSError as error:
        raise InvalidSetting(SETTING, path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidSetting(SETTING, path, f"is not JSON: {error}") from error
    try:
        return tuple(_hooks(written))
    except _Unclear as unclear:
        raise InvalidSetting(SETTING, path, str(unclear), hint="docs/guides/hooks.md shows such a file") from unclear


def run_hook(hook: Hook, payload: Mapping[str, object]) -> HookOutcome:
    """Run a hook in a shell, with `payload` as JSON on its stdin, and return how it ended. Blocks until then.

    One that runs longer than it may is killed with all that it started.
    """
    try:
        # A file takes any amount of output without a thread to read it, and a child left behind holds no pipe open.
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                ["/bin/sh", "-c", hook.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            try:
                process.communicate(json.dumps(payload, ensure_ascii=False).encode(), timeout=hook.timeout_seconds)
            except subprocess.TimeoutExpired:
                return HookOutcome(f"it ran longer than {hook.timeout_seconds:g} seconds")
            finally:
                _end(process)
            if process.returncode == 0:
                return HookOutcome(None)
            said.seek(0)
            reason = said.read(4 * _MAX_REASON_CHARACTERS).decode("utf-8", "replace").strip()
    except OSError as error:
        return HookOutcome(f"it cannot be run: {error.strerror or error}")
    return HookOutcome(reason[:_MAX_REASON_CHARACTERS] or f"it ended with exit code {process.returncode}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a hook: its process group, which holds whatever it started and did not send away."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()


class _Unclear(ValueError):
    pass


def _hooks(written: Any) -> list[Hook]:
    events = written.get("hooks") if isinstance(written, dict) else None
    if not isinstance(events, dict):
        raise _Unclear('must hold an object with the key "hooks"')
    hooks: list[Hook] = []
    for name, groups in events.items():
        if name not in (HookEvent.BEFORE.value, HookEvent.AFTER.value):
            raise _Unclear(f"names the event {name!r}; the hub knows PreToolUse and PostToolUse")
        if not isinstance(groups, list):
            raise _Unclear(f"hooks.{name} must be a list")
        for number, group in enumerate(groups):
            hooks += _group(HookEvent(name), f"hooks.{name}[{number}]", group)
    return hooks


def _group(event: HookEvent, place: str, group: Any) -> list[Hook]:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list) or set(group) - {"matcher", "hooks"}:
        raise _Unclear(f'{place} must have a list "hooks", and may have a "matcher"')
    matcher = group.get("matcher", "")
    try:
        re.compile(matcher)
    except (re.error, TypeError) as error:
        if matcher != "*":
            raise _Unclear(f"{place}.matcher is not a regular expression: {error}") from error
    return [_hook(event, f"{place}.hooks[{number}]", matcher, one) for number, one in enumerate(group["hooks"])]


def _hook(event: HookEvent, place: str, matcher: str, written: Any) -> Hook:
    if not isinstance(written, dict) or written.get("type", "command") != "command":
        raise _Unclear(f'{place} must be of the type "command"')
    if set(written) - {"type", "command", "timeout"}:
        raise _Unclear(f"{place} may have type, command and timeout only")
    command, timeout = written.get("command"), written.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    if not isinstance(command, str) or not command.strip():
        raise _Unclear(f"{place}.command must be a shell command")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_TIMEOUT_SECONDS:
        raise _Unclear(f"{place}.timeout must be a number of seconds up to {_MAX_TIMEOUT_SECONDS:g}")
    return Hook(event, matcher, command, float(timeout))
