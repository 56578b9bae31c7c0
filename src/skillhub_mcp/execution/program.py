"""A program that the hub itself needs, over its pipes: watched while it runs, and ended with all its children.

Unlike a skill's command it has the person's own rights and settings, and may be asked more than once.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.errors import CommandUnavailable
from skillhub_mcp.execution.processes import RUN_ID_VARIABLE, has_exited, kill_all, kill_marked

_LOOK_SECONDS = 0.05
# What a program says last tells why it failed.
_MESSAGE_BYTES = 16 * 1024
_PIECE_BYTES = 64 * 1024
# A child that stays, such as a daemon that keeps credentials, may hold the pipe of messages.
_MESSAGES_SECONDS = 0.5


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
    """A program that runs, until `wait` or `end`.

    `limit_seconds` is for all of it, or for each answer of one that `asks`; `excess` is asked again and again while it
    runs, and ends it by saying what is too much. Raises CommandUnavailable where it cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        limit_seconds: float,
        excess: Callable[[], str] | None = None,
        asks: bool = False,
    ) -> None:
        self._run_id = uuid.uuid4().hex
        self._limit_seconds = limit_seconds
        self._excess = excess
        self._ended: ProgramEnded | None = None
        self._quiet = threading.Event()
        self._deadline = None if asks else time.monotonic() + limit_seconds
        self._messages = b""
        try:
            self._process = subprocess.Popen(
                tuple(argv),
                cwd=cwd,
                env={**environment, RUN_ID_VARIABLE: self._run_id},
                stdin=subprocess.PIPE if asks else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._threads = [
                threading.Thread(target=work, name=f"skillhub-{Path(argv[0]).name}", daemon=True)
                for work in (self._watch, self._keep_messages)
            ]
            for thread in self._threads:
                thread.start()
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            raise CommandUnavailable(Path(argv[0]).name) from error
        except BaseException:
            # Whoever is told to end in this moment knows of no program that could be ended.
            kill_marked(self._run_id)
            raise

    def ask(self, question: bytes) -> None:
        """Write a question. Its answer must be read within the limit. Raises ProgramEnded."""
        assert self._process.stdin is not None  # noqa: S101 - for the type checker: one that asks has it
        self._deadline = time.monotonic() + self._limit_seconds
        try:
            self._process.stdin.write(question)
            self._process.stdin.flush()
        except OSError as error:  # it is gone: its messages say why
            raise self._ended or ProgramEnded(self.end().messages) from error

    def answered(self) -> None:
        """Say that an answer was read: no limit runs until the next question."""
        self._deadline = None

    def line(self) -> bytes:
        """Return the next line of output, empty at its end. Raises ProgramEnded."""
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        line = self._process.stdout.readline(_PIECE_BYTES)
        if self._ended is not None:
            raise self._ended
        return line

    def read(self, most: int = _PIECE_BYTES) -> bytes:
        """Return at most `most` bytes of output, empty at its end. Raises ProgramEnded."""
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        piece = self._process.stdout.read(min(most, _PIECE_BYTES))
        if self._ended is not None:
            raise self._ended
        return piece

    def wait(self, *, max_output_bytes: int = 0) -> tuple[bytes, Outcome]:
        """Return all output and what it left. Raises ProgramEnded, also for more than `max_output_bytes`."""
        output = bytearray()
        try:
            while piece := self.read():
                output += piece
                if len(output) > max_output_bytes:
                    raise ProgramEnded(f"it wrote more than {max_output_bytes:,} bytes")
            while not has_exited(self._process):
                if self._quiet.wait(0.001) or self._ended is not None:
                    break
        finally:
            outcome = self.end()
        if self._ended is not None:
            raise self._ended
        return bytes(output), outcome

    def end(self) -> Outcome:
        """End the program with all its children, unless it has ended, and return what it left. May be called again."""
        self._quiet.set()
        if threading.current_thread() is not self._threads[0]:
            self._threads[0].join()
        if not has_exited(self._process):
            self._kill()
        self._process.wait()
        self._threads[1].join(_MESSAGES_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was still to be written has no reader
                    pipe.close()
        if not self._threads[1].is_alive() and self._process.stderr is not None:
            self._process.stderr.close()
        return Outcome(self._process.returncode, self._messages.decode("utf-8", "replace"))

    def _watch(self) -> None:
        while not self._quiet.wait(_LOOK_SECONDS) and not has_exited(self._process):
            deadline = self._deadline
            excess = self._excess() if self._excess is not None else ""
            if excess or (deadline is not None and time.monotonic() >= deadline):
                self._ended = ProgramEnded(excess)
                self._kill()
                return

    def _kill(self) -> None:
        if os.name == "posix":
            kill_all(self._process, self._run_id)
        else:
            # Its children end when their pipes break.
            self._process.kill()

    def _keep_messages(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - for the type checker
        while piece := os.read(self._process.stderr.fileno(), _PIECE_BYTES):
            self._messages = (self._messages + piece)[-_MESSAGE_BYTES:]
