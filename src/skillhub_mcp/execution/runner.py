"""Runs one command within limits of time and output, and leaves no process behind.

What may run is decided by `execution.command_policy`, and what a running program may access by the sandbox.

In a sandbox nothing outlives its command, nor the server. Without one, on Linux all descendants are killed: they are
found by parent, by session, and by a variable in their environment, even when they changed their session or were
orphaned. Three kinds of process escape: an orphan in a session of its own that removed or overwrote that variable or
forbids reading it; one of another user (setuid); one that another daemon starts on request (cron, a container daemon).
On other systems only the process group is killed.
"""

from __future__ import annotations

import codecs
import contextlib
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
from skillhub_mcp.execution.process_tree import consumption_of
from skillhub_mcp.execution.sandbox.model import Confinement, Launch, ResourceLimits, Sandbox
from skillhub_mcp.harmless import in_line

log = logging.getLogger(__name__)

RUN_ID_VARIABLE = "SKILLHUB_RUN_ID"

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
# Killing usually takes milliseconds; this bounds a fork bomb and a process stuck in the kernel.
_KILL_SECONDS = 5.0
_NO_PROCESS = -1

_PROC = Path("/proc")

# Those that confine the command: bwrap outside and inside, or our program twice.
_OWN_PROCESSES = 3
_NOTE = "\nThe command was killed: it used more than {:,} {} ({}).\n"


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one run: `timeout_seconds` of wall-clock time and `max_output_bytes` for each stream.

    `resources` are what a command of a sandbox may use up, or None for as much as the server may.
    """

    timeout_seconds: float
    max_output_bytes: int
    resources: ResourceLimits | None = None


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    `exit_code` is the negative signal number of a process that a signal ended. A truncated stream has its beginning,
    cut between characters; invalid UTF-8 is replaced by U+FFFD. `output_dir` is the directory that it was to write to,
    and `files` are those that it has written there; both empty for a command of our own.
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
    sandbox: Sandbox | None = None,
    confinement: Confinement | None = None,
) -> CommandResult:
    """Run `argv` in `cwd` without a shell and with an empty stdin, and return the result.

    Returns when the first process has ended, the time is up or `stop` is set; all its descendants are then killed.
    Blocks the calling thread; calls in several threads are independent.

    In a `sandbox` the command may touch what `confinement` says, by default to read `cwd`, and has a home and a
    temporary directory of its own. Without one, for a command of our own, it may do what the server may.
    `environment` is passed on, with one more variable that marks the processes of this run.

    Raises `SkillFileNotFound` when `cwd` does not exist or cannot be entered, `CommandUnavailable` when the program
    cannot be started or the system is not POSIX, `SandboxFailed` when its sandbox did not come about,
    and `InvalidArgument` when the arguments are too long for the system.
    """
    if os.name != "posix":
        # Without process groups there is no guarantee that a command's children end with it.
        raise CommandUnavailable(argv[0])
    run_id = uuid.uuid4().hex
    marked = {**environment, RUN_ID_VARIABLE: run_id}
    if sandbox is None:
        return _run(Launch(tuple(argv), marked, str(cwd)), run_id, limits, stop)
    if not (cwd.is_dir() and os.access(cwd, os.X_OK)):
        raise _cannot_enter(str(cwd))
    from skillhub_mcp.execution.sandbox.launch import launched  # only servers that run commands pay for it

    with launched(
        argv,
        cwd=str(cwd),
        environment=marked,
        sandbox=sandbox,
        confinement=Confinement(readable=(str(cwd),)) if confinement is None else confinement,
        resources=limits.resources,
    ) as begun:
        result = _run(begun.launch, run_id, limits, stop)
        ended = begun.ended()
    if ended.error is not None:
        raise _cannot_start(argv, OSError(ended.error, os.strerror(ended.error)))
    if ended.exit_code is not None:
        return replace(result, exit_code=ended.exit_code)
    # Ended by us before it began: a slow machine is not a sandbox that failed.
    was_ended = result.timeout or (stop is not None and stop.is_set())
    if ended.begun or was_ended or result.exit_code == -signal.SIGKILL:
        return replace(result, exit_code=-signal.SIGKILL)
    failed = SandboxFailed(Path(argv[0]).name, reason=in_line(result.stderr) or f"exit code {result.exit_code}")
    log.warning("%s: %s", failed.message, failed.reason)
    raise failed


def _run(launch: Launch, run_id: str, limits: RunLimits, stop: threading.Event | None) -> CommandResult:
    process = _start(launch)
    # Popen has both pipes, since both were requested.
    assert process.stdout is not None  # noqa: S101 - for the type checker
    assert process.stderr is not None  # noqa: S101 - for the type checker
    with process.stdout, process.stderr:
        stdout = _CapturedStream(process.stdout, limits.max_output_bytes)
        stderr = _CapturedStream(process.stderr, limits.max_output_bytes)
        try:
            end = _read_until_exit(process, (stdout, stderr), limits, stop)
        finally:
            # Also when the calling thread is interrupted: no process outlives its call.
            _end(launch, process, run_id)
        stdout.drain()
        stderr.drain()
    # None: killed, but still stuck in the kernel.
    exit_code = -signal.SIGKILL if process.returncode is None else process.returncode
    return CommandResult(
        stdout=stdout.text(),
        stderr=stderr.text() + end.note,
        exit_code=exit_code,
        timeout=end.timed_out,
        stdout_truncated=stdout.truncated,
        stderr_truncated=stderr.truncated,
    )


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            launch.argv,
            cwd=launch.cwd,
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=launch.descriptors,
        )
    except OSError as error:
        # Popen names the file of the error: the directory to enter, or the program.
        if error.filename == launch.cwd:
            raise _cannot_enter(launch.cwd) from error
        raise _cannot_start(launch.argv, error) from error


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


@dataclass(frozen=True, slots=True)
class _End:
    """Why a command is no longer waited for; `note` tells its reader of a limit that it went beyond."""

    timed_out: bool = False
    note: str = ""


def _read_until_exit(
    process: subprocess.Popen[bytes],
    streams: tuple[_CapturedStream, ...],
    limits: RunLimits,
    stop: threading.Event | None,
) -> _End:
    """Read both streams until the process has exited or `stop` is set, the time is up, or it uses up too much."""
    deadline = time.monotonic() + limits.timeout_seconds
    look_again = time.monotonic() + _MAX_PAUSE_SECONDS
    pause = 0.001
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        # The end of the streams is not the exit: a background child may keep them open, and a process may close
        # them and go on.
        while not (has_exited(process) or (stop is not None and stop.is_set())):
            now = time.monotonic()
            if now >= deadline:
                return _End(timed_out=True)
            if limits.resources is not None and now >= look_again:
                if note := _excess(process.pid, limits.resources):
                    return _End(note=note)
                look_again = time.monotonic() + _MAX_PAUSE_SECONDS
            ready = selector.select(min(pause, deadline - now))
            for key, _ in ready:
                if not key.data.read():
                    selector.unregister(key.fd)
            pause = 0.001 if ready else min(pause * 2, _MAX_PAUSE_SECONDS)
    return _End()


def _excess(root: int, limits: ResourceLimits) -> str:
    """Return what a run uses too much of, as a line of its stderr, or nothing."""
    most = limits.processes + _OWN_PROCESSES
    used = consumption_of(root, process_limit=most, memory_limit=limits.memory_bytes)
    if used.processes > most:
        return _NOTE.format(limits.processes, "processes", "EXEC_MAX_PROCESSES")
    if used.memory_bytes > limits.memory_bytes:
        return _NOTE.format(limits.memory_bytes, "bytes of memory", "EXEC_MAX_MEMORY_BYTES")
    return ""


def has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; its number stays its own until somebody waits for it."""
    # Checked without reaping the process: until then no other gets its pid, so that a kill by pid hits this one.
    # macOS has no waitid before Python 3.13.
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # already reaped, as in a program that ignores SIGCHLD
        return True


def _end(launch: Launch, process: subprocess.Popen[bytes], run_id: str) -> None:
    if launch.release is not None:
        launch.release()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_KILL_SECONDS)
            return
    if launch.takes_all_along:
        # To stop one process after another is slower than a fork bomb. Not `process.kill`, which may reap.
        _send(process.pid, signal.SIGKILL)
    kill_all(process, run_id)


def kill_all(process: subprocess.Popen[bytes], run_id: str) -> None:
    """Kill a process that was started in a session of its own, and all its descendants, as the module's text says.

    They have `run_id` in the variable RUN_ID_VARIABLE.
    """
    if _PROC.joinpath("self", "stat").exists():
        _kill_members(process.pid, f"{RUN_ID_VARIABLE}={run_id}".encode())
    # macOS raises PermissionError when only a zombie is left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_SECONDS)


def kill_marked(run_id: str) -> None:
    """Kill all processes that have `run_id` in the variable RUN_ID_VARIABLE, where the system tells which do."""
    if _PROC.joinpath("self", "stat").exists():
        _kill_members(_NO_PROCESS, f"{RUN_ID_VARIABLE}={run_id}".encode())


def _kill_members(root: int, marker: bytes) -> None:
    """Kill every process of the run; all are stopped first, so that none can start another meanwhile."""
    deadline = time.monotonic() + _KILL_SECONDS
    stopped: set[int] = set()
    not_permitted: set[int] = set()
    while time.monotonic() < deadline:
        members = _members(root, marker) - not_permitted
        if not members:
            return
        fresh = members - stopped
        stopped |= fresh
        not_permitted |= {pid for pid in fresh if not _send(pid, signal.SIGSTOP)}
        if not fresh:
            for pid in members:
                _send(pid, signal.SIGKILL)
            time.sleep(0.001)  # a kill takes a moment; the loop checks again
    for pid in _members(root, marker):
        _send(pid, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> bool:
    """Signal a process; return False if it belongs to another user."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    session: int


def _members(root: int, marker: bytes) -> set[int]:
    """Return the pids of the live processes of the run that `root` started."""
    living = [process for process in map(_read_process, _pids()) if process is not None]
    members = {
        process.pid for process in living if root in (process.pid, process.session) or _has_marker(process.pid, marker)
    }
    # A child that cleared its environment and changed its session still has its parent.
    while True:
        children = {process.pid for process in living if process.parent in members} - members
        if not children:
            return members
        members |= children


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def _read_process(pid: int) -> _Process | None:
    try:
        stat = _PROC.joinpath(str(pid), "stat").read_bytes()
    except OSError:  # ended since it was listed
        return None
    # proc(5): the name in brackets may hold anything; after the last one: state, ppid, pgrp, session.
    state, parent, _, session = stat.rpartition(b")")[2].split()[:4]
    if state in {b"Z", b"X"}:
        return None
    return _Process(pid, int(parent), int(session))


def _has_marker(pid: int, marker: bytes) -> bool:
    try:
        return marker in _PROC.joinpath(str(pid), "environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or ended
        return False
