"""The person's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping

_EDITORS = ("vi", "nano", "emacs") if os.name != "nt" else ("notepad",)


def editor_command(environment: Mapping[str, str], is_installed: Callable[[str], bool]) -> list[str]:
    """Return the editor and its arguments: VISUAL, EDITOR, or the first that is installed; none without one.

    Raises ValueError for a variable that is no command line.
    """
    for name in ("VISUAL", "EDITOR"):
        command = shlex.split(environment.get(name, ""))
        if command:
            return command
    return [name for name in _EDITORS if is_installed(name)][:1]


def run_editor(command: list[str], path: str) -> str:
    """Open a file in the editor, on the process's original streams, and wait. Return why that failed, or nothing."""
    try:
        done = subprocess.run(
            [*command, path], stdin=sys.__stdin__, stdout=sys.__stdout__, stderr=sys.__stderr__, check=False
        )
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    return f"{command[0]} ended with code {done.returncode}" if done.returncode else ""
