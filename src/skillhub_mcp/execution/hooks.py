"""The user's hooks: shell commands from a settings file that run before and after each tool call.

The file has the format that agents already use: events, matchers, commands. Hooks are the user's own code: they run
with the user's rights and environment, outside every sandbox, and are read only from the file that a setting names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from skillhub_mcp._util.file_modes import changeable_by_others
from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.execution.processes import RUN_ID_VARIABLE, kill_all

SETTING = "SKILLHUB_HOOKS"
DEFAULT_TIMEOUT_SECONDS = 30.0

_EXAMPLE = (
    'such as {"hooks": {"PreToolUse": [{"matcher": "load_skill", '
    '"hooks": [{"type": "command", "command": "~/bin/may-load"}]}]}}'
)
_MAX_TIMEOUT_SECONDS = 3_600.0
_MAX_FILE_BYTES = 1024 * 1024
_MAX_REASON_CHARACTERS = 2_000


class HookEvent(str, Enum):
    """When a hook runs."""

    BEFORE = "PreToolUse"
    AFTER = "PostToolUse"


@dataclass(frozen=True, slots=True)
class Hook:
    """One shell command, and a regular expression for the whole names of the tools it runs for; empty or `*` is all."""

    event: HookEvent
    matcher: str
    command: str
    timeout_seconds: float

    def matches(self, tool: str) -> bool:
        """Whether the hook runs for `tool`."""
        return self.matcher in ("", "*") or re.fullmatch(self.matcher, tool) is not None


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """The result of a hook: `failure` is None for exit code 0, else the hook's stderr or the reason why it failed."""

    failure: str | None


def read_hooks(path: str) -> tuple[Hook, ...]:
    """Return the hooks of a file `{"hooks": {"PreToolUse": [{"matcher", "hooks": [{"type", "command"}]}]}}`.

    Raises InvalidSetting for a file that cannot be read, is invalid, or may be written by others: a hook that is meant
    to block calls must not be ignored silently.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(_MAX_FILE_BYTES)
        exposure = changeable_by_others(path)
        content = read_json(text)
    except OSError as error:
        raise InvalidSetting(SETTING, path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidSetting(SETTING, path, "is not UTF-8") from error
    except BadJson as error:
        raise InvalidSetting(SETTING, path, f"is not valid JSON: {error}") from error
    if exposure is not None:
        # Whoever writes it runs what they like as this user.
        raise InvalidSetting(SETTING, path, f"cannot be used: {exposure.reason}", hint=exposure.fix)
    try:
        return tuple(_parse_hooks(content))
    except _InvalidHooks as error:
        raise InvalidSetting(SETTING, path, str(error), hint=_EXAMPLE) from error


def run_hook(hook: Hook, payload: Mapping[str, object]) -> HookOutcome:
    """Run a hook in a shell with `payload` as a line of JSON on its stdin, wait for it, and return its outcome.

    A hook that exceeds its timeout is killed with all that it started, in whatever session.
    """
    run_id = uuid.uuid4().hex
    try:
        # A file takes any amount of output without a reader thread, and a leftover child keeps no pipe open.
        with tempfile.TemporaryFile() as stderr:
            process = subprocess.Popen(
                ["/bin/sh", "-c", hook.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
                env={**os.environ, RUN_ID_VARIABLE: run_id},
            )
            try:
                # With a line end, so that what a hook appends to a file is one call a line.
                process.communicate(json.dumps(payload).encode() + b"\n", timeout=hook.timeout_seconds)
            except subprocess.TimeoutExpired:
                return HookOutcome(f"it ran longer than {hook.timeout_seconds:g} seconds")
            finally:
                if process.poll() is None:
                    kill_all(process, run_id)
            if process.returncode == 0:
                return HookOutcome(None)
            stderr.seek(0)
            reason = stderr.read(4 * _MAX_REASON_CHARACTERS).decode("utf-8", "replace").strip()
    except OSError as error:
        return HookOutcome(f"it cannot be run: {error.strerror or error}")
    return HookOutcome(reason[:_MAX_REASON_CHARACTERS] or f"it ended with exit code {process.returncode}")


class _InvalidHooks(ValueError):
    pass


def _parse_hooks(content: Any) -> list[Hook]:
    events = content.get("hooks") if isinstance(content, dict) else None
    if not isinstance(events, dict):
        raise _InvalidHooks('must be an object with the key "hooks"')
    hooks: list[Hook] = []
    for name, groups in events.items():
        if name not in (HookEvent.BEFORE.value, HookEvent.AFTER.value):
            raise _InvalidHooks(f"has the unknown event {name!r}; use PreToolUse or PostToolUse")
        if not isinstance(groups, list):
            raise _InvalidHooks(f"hooks.{name} must be a list")
        for number, group in enumerate(groups):
            hooks += _parse_group(HookEvent(name), f"hooks.{name}[{number}]", group)
    return hooks


def _parse_group(event: HookEvent, place: str, group: Any) -> list[Hook]:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list) or set(group) - {"matcher", "hooks"}:
        raise _InvalidHooks(f'{place} must have a list "hooks", and may have a "matcher"')
    matcher = group.get("matcher", "")
    try:
        re.compile(matcher)
    except (re.error, TypeError) as error:
        if matcher != "*":
            raise _InvalidHooks(f"{place}.matcher is not a regular expression: {error}") from error
    return [_parse_hook(event, f"{place}.hooks[{number}]", matcher, hook) for number, hook in enumerate(group["hooks"])]


def _parse_hook(event: HookEvent, place: str, matcher: str, hook: Any) -> Hook:
    if not isinstance(hook, dict) or hook.get("type", "command") != "command":
        raise _InvalidHooks(f'{place} must have the type "command"')
    if set(hook) - {"type", "command", "timeout"}:
        raise _InvalidHooks(f"{place} may have type, command and timeout only")
    command, timeout = hook.get("command"), hook.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    if not isinstance(command, str) or not command.strip():
        raise _InvalidHooks(f"{place}.command must be a shell command")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_TIMEOUT_SECONDS:
        raise _InvalidHooks(f"{place}.timeout must be a number of seconds up to {_MAX_TIMEOUT_SECONDS:g}")
    return Hook(event, matcher, command, float(timeout))
