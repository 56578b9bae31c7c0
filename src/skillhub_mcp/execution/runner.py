"""Run one command within limits of time and output, and leave no process behind.

`execution.command_policy` decides what may run, and `execution.sandbox` what a running program may touch.
"""

from __future__ import annotations

import codecs
import errno
import logging
import os
import selectors
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from skillhub_mcp.errors import CommandUnavailable, InvalidArgument, SandboxFailed, SkillFileNotFound
from skillhub_mcp.execution.command_policy import absolute_path_entries
from skillhub_mcp.execution.processes import RUN_ID_VARIABLE, has_exited, kill_all
from skillhub_mcp.execution.sandbox import OFF, Confinement, Sandbox, launched
from skillhub_mcp.sanitize import in_line

log = logging.getLogger(__name__)

# The variables of the server's environment that a command gets: names, never patterns, so that no secret is passed on.
# Proxies (`HTTPS_PROXY`) and package indexes (`UV_INDEX_URL`) are left out: their URLs often contain a password.
_PASSED_VARIABLES = (
    "HOME",  # has caches and per-user programs
    "USER",
    "LOGNAME",
    "TZ",
    "TMPDIR",
    # Language and encoding. No `LC_*` pattern: people give their own variables that prefix, because ssh passes it on.
    "LANG",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
    # uv's cache, its Python versions, and the user's uv.toml.
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "UV_CACHE_DIR",
    "UV_PYTHON_INSTALL_DIR",
    # Whether the operator lets uv use the network and download Python.
    "UV_OFFLINE",
    "UV_PYTHON_DOWNLOADS",
    # Certificates of a private authority: paths of public files, needed by uv, Python and Node.js.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
)

_FIXED_VARIABLES = {
    # Running a script must not write `__pycache__` into the skill, which would change it.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Output is read as UTF-8, and skills are written in UTF-8, whatever the system's locale is.
    "PYTHONUTF8": "1",
    # Keeps the output from before a timeout; buffered, it would be lost with the process.
    "PYTHONUNBUFFERED": "1",
}

_CHUNK_BYTES = 64 * 1024
_MAX_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one run: `timeout_seconds` of wall-clock time and `max_output_bytes` for each stream."""

    timeout_seconds: float
    max_output_bytes: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    `exit_code` is -N if the hub killed the command with signal N; if another signal N ended a confined command it is
    128 + N, as in a shell. A truncated stream has its beginning, cut between characters; invalid UTF-8 is replaced by
    U+FFFD. `output_dir` is the directory that it was to write to, and `files` are those that it has written there; both
    empty for a command of our own.
    """

    stdout: str
    stderr: str
    exit_code: int
    timeout: bool
    stdout_truncated: bool
    stderr_truncated: bool
    output_dir: str = ""
    files: tuple[str, ...] = ()


def reduced_environment(source: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: a short list of variables, without keys and tokens.

    PATH keeps only its absolute entries. Where no locale is set LANG is C.UTF-8, so that `grep` and `ls` treat names
    and text as UTF-8.
    """
    environment = {name: source[name] for name in _PASSED_VARIABLES if name in source}
    environment["PATH"] = absolute_path_entries(source.get("PATH", ""))
    if not any(source.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        environment["LANG"] = "C.UTF-8"
    return environment | _FIXED_VARIABLES


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    limits: RunLimits,
    environment: Mapping[str, str],
    stop: threading.Event | None = None,
    sandbox: Sandbox = OFF,
    confinement: Confinement | None = None,
) -> CommandResult:
    """Run `argv` in `cwd` without a shell and with an empty stdin, and return the result.

    Returns when the first process has ended, the time is up or `stop` is set; all its descendants are then killed.
    Blocks the calling thread; calls in several threads are independent.

    In a `sandbox` the command may touch what `confinement` says, by default to read `cwd`, and has a home and a
    temporary directory of its own. Without one it may do what the server may. `environment` is passed on, with one more
    variable that marks the processes of this run.

    Raises `SkillFileNotFound` when `cwd` does not exist or cannot be entered, `CommandUnavailable` when the program
    cannot be started or the system is not POSIX, `SandboxFailed` when the sandbox cannot be set up, and
    `InvalidArgument` when the arguments are too long for the system.
    """
    if os.name != "posix":
        # Without process groups there is no guarantee that a command's children end with it.
        raise CommandUnavailable(argv[0])
    marked = {**environment, RUN_ID_VARIABLE: uuid.uuid4().hex}
    if sandbox is OFF:
        return _run(argv, str(cwd), marked, limits, stop)
    if not (cwd.is_dir() and os.access(cwd, os.X_OK)):
        raise _cannot_enter(str(cwd))
    if not os.access(argv[0], os.X_OK):
        raise CommandUnavailable(Path(argv[0]).name)
    with launched(
        argv,
        cwd=str(cwd),
        environment=marked,
        sandbox=sandbox,
        confinement=Confinement(readable=(str(cwd),)) if confinement is None else confinement,
    ) as launch:
        result = _run(launch.argv, "/", launch.environment, limits, stop, launch.descriptors)
        exit_code = launch.exit_code()
    if exit_code is not None:
        return replace(result, exit_code=exit_code)
    # Killed by us, perhaps before it began: a slow machine is not a sandbox that failed.
    if result.exit_code == -signal.SIGKILL:
        return result
    failed = SandboxFailed(Path(argv[0]).name, reason=in_line(result.stderr) or f"exit code {result.exit_code}")
    log.warning("%s: %s", failed.message, failed.reason)
    raise failed


def _run(
    argv: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    limits: RunLimits,
    stop: threading.Event | None,
    descriptors: tuple[int, ...] = (),
) -> CommandResult:
    process = _start(argv, cwd, environment, descriptors)
    # Popen has both pipes, since both were requested.
    assert process.stdout is not None  # noqa: S101 - for the type checker
    assert process.stderr is not None  # noqa: S101 - for the type checker
    with process.stdout, process.stderr:
        stdout = _CapturedStream(process.stdout, limits.max_output_bytes)
        stderr = _CapturedStream(process.stderr, limits.max_output_bytes)
        try:
            timed_out = _read_until_exit(process, (stdout, stderr), limits, stop)
        finally:
            # Also when the calling thread is interrupted: no process outlives its call.
            kill_all(process, environment[RUN_ID_VARIABLE])
        stdout.drain()
        stderr.drain()
    # None: killed, but still stuck in the kernel.
    exit_code = -signal.SIGKILL if process.returncode is None else process.returncode
    return CommandResult(
        stdout=stdout.text(),
        stderr=stderr.text(),
        exit_code=exit_code,
        timeout=timed_out,
        stdout_truncated=stdout.truncated,
        stderr_truncated=stderr.truncated,
    )


def _start(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], descriptors: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=descriptors,
        )
    except OSError as error:
        # Popen names the file of the error: the directory to enter, or the program.
        if error.filename == cwd:
            raise _cannot_enter(cwd) from error
        raise _cannot_start(argv, error) from error


def _cannot_start(argv: Sequence[str], error: OSError) -> Exception:
    """Return the expected error that the system's refusal to start a program stands for, or that refusal itself."""
    if error.errno == errno.E2BIG:
        return InvalidArgument("args", "are longer than this system allows")
    if error.errno in {errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR}:
        return CommandUnavailable(Path(argv[0]).name)
    return error


def _cannot_enter(cwd: str) -> SkillFileNotFound:
    return SkillFileNotFound(
        Path(cwd).name,
        ".",
        "cannot be entered",
        hint="the skill's directory no longer exists, or the server may not enter it",
    )


class _CapturedStream:
    """The beginning of one stream; the rest is read and discarded, so that the writer is never blocked."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self.descriptor = stream.fileno()
        self.truncated = False
        self._limit = limit
        self._content = bytearray()
        os.set_blocking(self.descriptor, False)

    def read(self) -> bool:
        """Read at most one chunk of what is available; return False at the end of the stream."""
        try:
            chunk = os.read(self.descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        room = self._limit - len(self._content)
        self._content += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room
        return bool(chunk)

    def drain(self) -> None:
        """Read what a process that has ended left in the pipe."""
        # Bounded: where a process escaped and still writes, reading stops at the limit.
        while not self.truncated:
            before = len(self._content)
            if not self.read() or (len(self._content) == before and not self.truncated):
                return

    def text(self) -> str:
        # Not final when truncated: an incomplete character is left out instead of replaced.
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        return decoder.decode(bytes(self._content), final=not self.truncated)


def _read_until_exit(
    process: subprocess.Popen[bytes],
    streams: tuple[_CapturedStream, ...],
    limits: RunLimits,
    stop: threading.Event | None,
) -> bool:
    """Read both streams until the process has exited, `stop` is set, or the time is up; return whether it is up."""
    deadline = time.monotonic() + limits.timeout_seconds
    pause = 0.001
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        # The end of the streams is not the exit: a background child may keep them open, and a process may close
        # them and go on.
        while not (has_exited(process) or (stop is not None and stop.is_set())):
            now = time.monotonic()
            if now >= deadline:
                return True
            ready = selector.select(min(pause, deadline - now))
            for key, _ in ready:
                if not key.data.read():
                    selector.unregister(key.fd)
            pause = 0.001 if ready else min(pause * 2, _MAX_PAUSE_SECONDS)
    return False
