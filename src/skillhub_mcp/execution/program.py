"""A program that the hub itself needs, such as git: its output is read while it runs, and it ends with its children.

Unlike a skill's command it has the user's own rights and environment.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.errors import CommandUnavailable
from skillhub_mcp.execution.processes import RUN_ID_VARIABLE, has_exited, kill_all

_LOOK_SECONDS = 0.05
_PIECE_BYTES = 64 * 1024
# The last message says why the program failed.
_MESSAGE_BYTES = 16 * 1024
_MOST_MESSAGE_BYTES = 16 * 1024 * 1024


class ProgramEnded(Exception):
    """A program that was ended: its time was up, or `excess` says what it used too much of."""

    def __init__(self, excess: str = "") -> None:
        super().__init__(excess or "its time was up")
        self.excess = excess


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program left: its exit code, and the end of what it wrote to stderr."""

    exit_code: int
    messages: str


class Program:
    """A program that runs, until `wait` or `end`, for `limit_seconds` at most.

    `excess` is called again and again while it runs; if it returns a text, the program is ended for that reason. Raises
    CommandUnavailable if it cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        limit_seconds: float,
        excess: Callable[[], str] | None = None,
    ) -> None:
        self._run_id = uuid.uuid4().hex
        self._deadline = time.monotonic() + limit_seconds
        self._excess = excess
        self._ended: ProgramEnded | None = None
        self._quiet = threading.Event()
        # A file, not a pipe: a child that stays, such as a credential daemon, would keep a pipe open.
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        try:
            self._process = subprocess.Popen(
                tuple(argv),
                cwd=cwd,
                env={**environment, RUN_ID_VARIABLE: self._run_id},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            self._messages.close()
            raise CommandUnavailable(Path(argv[0]).name) from error
        self._watcher = threading.Thread(target=self._watch, name=f"skillhub-{Path(argv[0]).name}", daemon=True)
        try:
            self._watcher.start()
        except BaseException:
            self._kill()
            self._messages.close()
            raise

    def read(self, most: int = _PIECE_BYTES) -> bytes:
        """Return at most `most` bytes of output, empty at its end. Raises ProgramEnded."""
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        piece = self._process.stdout.read(min(most, _PIECE_BYTES))
        if self._ended is not None:
            raise self._ended
        return piece

    def wait(self, *, max_output_bytes: int = 0) -> tuple[bytes, Outcome]:
        """Return all output, and the outcome. Raises ProgramEnded, also for more than `max_output_bytes`."""
        output = bytearray()
        try:
            while piece := self.read():
                output += piece
                if len(output) > max_output_bytes:
                    raise ProgramEnded(f"it wrote more than {max_output_bytes:,} bytes")
            # It may close its output and go on; the watcher ends with it.
            self._watcher.join()
        finally:
            outcome = self.end()
        if self._ended is not None:
            raise self._ended
        return bytes(output), outcome

    def end(self) -> Outcome:
        """End the program with all its children, unless it has ended, and return its outcome."""
        self._quiet.set()
        self._watcher.join()
        if not has_exited(self._process):
            self._kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._messages.closed:
            return Outcome(self._process.returncode, "")
        with self._messages:
            self._messages.seek(max(0, self._messages.seek(0, os.SEEK_END) - _MESSAGE_BYTES))
            return Outcome(self._process.returncode, self._messages.read().decode("utf-8", "replace"))

    def _watch(self) -> None:
        while not self._quiet.wait(_LOOK_SECONDS) and not has_exited(self._process):
            excess = self._excess() if self._excess is not None else ""
            if os.fstat(self._messages.fileno()).st_size > _MOST_MESSAGE_BYTES:
                excess = f"it wrote more than {_MOST_MESSAGE_BYTES:,} bytes of messages"
            if excess or time.monotonic() >= self._deadline:
                self._ended = ProgramEnded(excess)
                self._kill()
                return

    def _kill(self) -> None:
        if os.name == "posix":
            kill_all(self._process, self._run_id)
        else:
            # Its children end when their pipes break.
            self._process.kill()
