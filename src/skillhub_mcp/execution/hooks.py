"""The user's hooks: shell commands from a settings file that run before and after each tool call.

They run with the user's rights and environment, outside every sandbox, and are read only from the file that a setting
names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skillhub_mcp._util.file_modes import changeable_by_others
from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.errors import CommandUnavailable, InvalidSetting
from skillhub_mcp.execution.program import ProgramEnded, run_program

SETTING = "SKILLHUB_HOOKS"

_EXAMPLE = (
    'such as {"hooks": {"PreToolUse": [{"matcher": "load_skill", '
    '"hooks": [{"type": "command", "command": "~/bin/may-load"}]}]}}'
)
_MAX_FILE_BYTES = 1024 * 1024
_MAX_REASON_CHARACTERS = 2_000
_STRICT = ConfigDict(extra="forbid", strict=True)

HookEvent = Literal["PreToolUse", "PostToolUse"]


@dataclass(frozen=True, slots=True)
class Hook:
    """One shell command, and a regular expression for the whole names of the tools it runs for."""

    event: HookEvent
    matcher: re.Pattern[str]
    command: str
    timeout_seconds: float


def _expanded(matcher: object) -> object:
    return ".*" if matcher in ("", "*") else matcher


class _Command(BaseModel):
    model_config = _STRICT

    type: Literal["command"] = "command"
    command: str = Field(pattern=r"\S")
    timeout: float = Field(30.0, gt=0, le=3_600)


class _Group(BaseModel):
    model_config = _STRICT

    matcher: Annotated[re.Pattern[str], BeforeValidator(_expanded)] = re.compile(".*")
    hooks: list[_Command]


class _HooksFile(BaseModel):
    model_config = ConfigDict(strict=True)

    hooks: dict[HookEvent, list[_Group]]


def read_hooks(path: str) -> tuple[Hook, ...]:
    """Return the hooks of a file. Raises InvalidSetting if it is invalid, or may be written by others."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(_MAX_FILE_BYTES)
        exposure = changeable_by_others(path)
        content = read_json(text)
    except OSError as error:
        raise InvalidSetting(SETTING, path, f"cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, BadJson) as error:
        raise InvalidSetting(SETTING, path, f"is not valid JSON: {error}") from error
    if exposure is not None:
        # Anyone who can write it can run commands as this user.
        raise InvalidSetting(SETTING, path, f"cannot be used: {exposure.reason}", hint=exposure.fix)
    try:
        groups = _HooksFile.model_validate(content).hooks
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidSetting(SETTING, path, f"is invalid at {place}: {first['msg']}", hint=_EXAMPLE) from error
    return tuple(
        Hook(event, group.matcher, one.command, one.timeout)
        for event, listed in groups.items()
        for group in listed
        for one in group.hooks
    )


def run_hook(hook: Hook, payload: Mapping[str, object]) -> str | None:
    """Run a hook in a shell with `payload` as a line of JSON on its stdin, within its timeout.

    Return None for exit code 0, else the end of the hook's stderr or the reason why it failed.
    """
    with tempfile.TemporaryFile() as stdin:
        # With a line end, so that what a hook appends to a file is one call a line.
        stdin.write(json.dumps(payload).encode() + b"\n")
        stdin.seek(0)
        try:
            outcome = run_program(
                ("/bin/sh", "-c", hook.command),
                subprocess.DEVNULL,
                cwd=os.curdir,
                environment=os.environ,
                limit_seconds=hook.timeout_seconds,
                stdin=stdin,
            )
        except ProgramEnded as ended:
            return ended.excess or f"it ran longer than {hook.timeout_seconds:g} seconds"
        except (CommandUnavailable, OSError) as error:
            return f"it cannot be run: {error}"
    if outcome.exit_code == 0:
        return None
    return outcome.messages.strip()[:_MAX_REASON_CHARACTERS] or f"it ended with exit code {outcome.exit_code}"
