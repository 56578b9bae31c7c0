"""Programs that the hub needs, such as git, and hooks: limited in time and output, and killed with their children.

Unlike a skill's command it has the user's own rights and environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from skillhub_mcp.errors import CommandUnavailable

# Killing usually takes milliseconds; this bounds a process stuck in the kernel.
_KILL_SECONDS = 5.0


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started in a session of its own, and its children."""
    # macOS raises PermissionError when only a zombie is left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_SECONDS)


_MAX_PAUSE_SECONDS = 0.05
# The last message says why the program failed.
_MESSAGE_BYTES = 16 * 1024
_MOST_MESSAGE_BYTES = 16 * 1024 * 1024


class ProgramEnded(Exception):
    """A program has to be killed: its time is up, or for another reason, which `excess` names."""

    def __init__(self, excess: str = "") -> None:
        super().__init__(excess or "its time was up")
        self.excess = excess


def wait(process: subprocess.Popen[bytes], limit_seconds: float, excess: Callable[[], str]) -> None:
    """Wait for a process. Raises ProgramEnded if its time is up, or if `excess` returns a reason to end it."""
    deadline, pause = time.monotonic() + limit_seconds, 0.001
    while process.poll() is None:
        if (reported := excess()) or time.monotonic() >= deadline:
            raise ProgramEnded(reported)
        time.sleep(pause)
        pause = min(pause * 2, _MAX_PAUSE_SECONDS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code of a program, and the end of its stderr."""

    exit_code: int
    messages: str


def run_program(
    argv: Sequence[str],
    output: IO[bytes] | int,
    *,
    cwd: str,
    environment: Mapping[str, str],
    limit_seconds: float,
    excess: Callable[[], str] = lambda: "",
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> Outcome:
    """Run a program, by default with an empty stdin, and write its output to `output`.

    `excess` is polled while it runs and kills it by returning a reason. Raises CommandUnavailable if it cannot be
    started, and ProgramEnded.
    """
    # Files, not pipes: a child that stays, such as a credential daemon, would keep a pipe open.
    with tempfile.TemporaryFile() as messages:

        def reason() -> str:
            if os.fstat(messages.fileno()).st_size > _MOST_MESSAGE_BYTES:
                return f"it wrote more than {_MOST_MESSAGE_BYTES:,} bytes of messages"
            return excess()

        try:
            process = subprocess.Popen(
                tuple(argv),
                cwd=cwd,
                env=dict(environment),
                stdin=stdin,
                stdout=output,
                stderr=messages,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            raise CommandUnavailable(Path(argv[0]).name) from error
        try:
            wait(process, limit_seconds, reason)
        finally:
            if process.poll() is None:
                kill_group(process)
        if reported := reason():
            raise ProgramEnded(reported)
        messages.seek(max(0, messages.seek(0, os.SEEK_END) - _MESSAGE_BYTES))
        return Outcome(process.returncode, messages.read().decode("utf-8", "replace"))
