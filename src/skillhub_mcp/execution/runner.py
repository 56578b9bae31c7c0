"""Runs one argument list to its end, within bounds of time and output, and leaves no process behind.

It does not know what may run (`execution.commands`) nor what a running program may touch (the sandbox).

On Linux the end is thorough: children, their children, what changed its session and what was orphaned are
found by parent, by session and by a variable in their environment. Three kinds of process still get away:
an orphan in a session of its own that dropped or overwrote that variable or forbids reading it; one of
another user (setuid); one that a server outside starts on request (cron, a container daemon). Elsewhere
only the process group is ended.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import selectors
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from skillhub_mcp.errors import CommandUnavailable, InvalidArgument, SkillFileNotFound
from skillhub_mcp.execution.command_policy import absolute_path_entries

RUN_ID_VARIABLE = "SKILLHUB_RUN_ID"

# What a command gets of the server's environment: names, never patterns, so that nothing secret comes
# along. Left out with regret: proxies (`HTTPS_PROXY`) and package indexes (`UV_INDEX_URL`), whose addresses
# often hold a password.
_PASSED_ON = (
    "HOME",  # caches and per-user programs live below it
    "USER",
    "LOGNAME",
    "TZ",
    "TMPDIR",
    # Language and encoding. Each name in full: `LC_*` is a prefix that people put their own variables behind,
    # because ssh passes it on.
    "LANG",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
    # Where uv keeps what it downloaded, its Pythons, and the user's own uv.toml.
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "UV_CACHE_DIR",
    "UV_PYTHON_INSTALL_DIR",
    # The operator's word on whether uv may use the network, and fetch a Python.
    "UV_OFFLINE",
    "UV_PYTHON_DOWNLOADS",
    # Certificates of a company's own authority: paths of public files, needed by uv, Python and node.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
)

_SET = {
    # Running a script must not leave `__pycache__` in the skill, which would change the skill.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Output is read as UTF-8, and skills are written in UTF-8, whatever the machine's language is.
    "PYTHONUTF8": "1",
    # What was printed before a timeout is worth having; buffered, it would die with the process.
    "PYTHONUNBUFFERED": "1",
}

_CHUNK_BYTES = 64 * 1024
_LONGEST_PAUSE_SECONDS = 0.05
# Killing takes milliseconds. This bounds what cannot be helped: a fork bomb, a process stuck in the kernel.
_ENDING_SECONDS = 5.0

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The bounds of one run: `timeout_seconds` of wall clock, `max_output_bytes` of each stream."""

    timeout_seconds: float
    max_output_bytes: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended (seed 002 §3.5).

    `exit_code` is the negative signal number of a process that a signal ended. A truncated stream holds its
    beginning, cut between characters; bytes that are not UTF-8 are shown as U+FFFD.
    """

    stdout: str
    stderr: str
    exit_code: int
    timeout: bool
    stdout_truncated: bool
    stderr_truncated: bool


def reduced_environment(source: Mapping[str, str]) -> dict[str, str]:
    """Return the environment a command may see: a short list of names, and no key or token among them.

    PATH keeps its absolute entries only. Without any language setting it is C.UTF-8, so that `grep` and `ls`
    treat names and text as UTF-8.
    """
    environment = {name: source[name] for name in _PASSED_ON if name in source}
    environment["PATH"] = absolute_path_entries(source.get("PATH", ""))
    if not any(source.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        environment["LANG"] = "C.UTF-8"
    return environment | _SET


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    limits: RunLimits,
    environment: Mapping[str, str],
    stop: threading.Event | None = None,
) -> CommandResult:
    """Run `argv` in `cwd` without a shell and with an empty stdin, and return how it ended.

    Returns when the first process has ended, the time is up or `stop` is set; whatever it started is killed then.
    Blocks the calling thread; calls in several threads do not touch each other. `environment` is passed on whole,
    plus one variable that marks the processes of this run.

    Raises `SkillFileNotFound` when `cwd` is missing or may not be entered, `CommandUnavailable` when the
    program cannot be started or the system is not POSIX, `InvalidArgument` when the arguments are too long
    for it.
    """
    if os.name != "posix":
        # Without process groups nothing here could promise that a command's children end with it.
        raise CommandUnavailable(argv[0])
    run_id = uuid.uuid4().hex
    process = _start(argv, cwd=cwd, environment={**environment, RUN_ID_VARIABLE: run_id})
    # Popen gave both pipes, since both were asked for.
    assert process.stdout is not None  # noqa: S101 - for the type checker
    assert process.stderr is not None  # noqa: S101 - for the type checker
    with process.stdout, process.stderr:
        stdout = _Captured(process.stdout, limits.max_output_bytes)
        stderr = _Captured(process.stderr, limits.max_output_bytes)
        try:
            timed_out = not _read_until_exit(process, (stdout, stderr), limits.timeout_seconds, stop)
        finally:
            # Also when the calling thread is interrupted: nothing outlives its call.
            _end_all(process, run_id)
        stdout.take_rest()
        stderr.take_rest()
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


def _start(argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=str(cwd),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise InvalidArgument("args", "are longer than this system allows") from error
        # Popen names what failed: the directory to enter, or the program.
        if error.filename == str(cwd):
            raise SkillFileNotFound(
                cwd.name,
                ".",
                "cannot be entered",
                hint="the skill's directory is gone, or the server may not enter it",
            ) from error
        if error.errno in {errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR}:
            raise CommandUnavailable(Path(argv[0]).name) from error
        raise


class _Captured:
    """The beginning of one stream; the rest is read and dropped, so that the writer never has to wait."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self.descriptor = stream.fileno()
        self.truncated = False
        self._limit = limit
        self._kept = bytearray()
        os.set_blocking(self.descriptor, False)

    def take(self) -> bool:
        """Read what is there, at most one chunk; False once nothing more will come."""
        try:
            chunk = os.read(self.descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        room = self._limit - len(self._kept)
        self._kept += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room
        return bool(chunk)

    def take_rest(self) -> None:
        """Read what a process that has ended left in the pipe."""
        # Bounded: a writer that got away fills what may be kept, and is not listened to any longer.
        while not self.truncated:
            before = len(self._kept)
            if not self.take() or (len(self._kept) == before and not self.truncated):
                return

    def text(self) -> str:
        # Not final when cut: a character that is not whole is left out instead of shown as damaged.
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        return decoder.decode(bytes(self._kept), final=not self.truncated)


def _read_until_exit(
    process: subprocess.Popen[bytes],
    streams: tuple[_Captured, ...],
    timeout_seconds: float,
    stop: threading.Event | None,
) -> bool:
    """Read both streams until the process has exited or `stop` is set (True), or the time is up (False)."""
    deadline = time.monotonic() + timeout_seconds
    pause = 0.001
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        # The exit is asked for, not told by the end of the streams: a child in the background may hold them
        # open, and a process may close them and go on.
        while not (_has_exited(process) or (stop is not None and stop.is_set())):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            ready = selector.select(min(pause, remaining))
            for key, _ in ready:
                if not key.data.take():
                    selector.unregister(key.fd)
            pause = 0.001 if ready else min(pause * 2, _LONGEST_PAUSE_SECONDS)
    return True


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    # Asked without collecting the process: until it is collected no other can get its number, so that what is
    # killed by that number is ours. macOS has no waitid before Python 3.13.
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # collected already, as in a program that ignores SIGCHLD
        return True


def _end_all(process: subprocess.Popen[bytes], run_id: str) -> None:
    if _PROC.joinpath("self", "stat").exists():
        _kill_members(process.pid, f"{RUN_ID_VARIABLE}={run_id}".encode())
    # macOS says "permission" when only a zombie is left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_SECONDS)


def _kill_members(root: int, marker: bytes) -> None:
    """Kill every process of the run, frozen first so that none can start another meanwhile."""
    deadline = time.monotonic() + _ENDING_SECONDS
    frozen: set[int] = set()
    out_of_reach: set[int] = set()
    while time.monotonic() < deadline:
        members = _members(root, marker) - out_of_reach
        if not members:
            return
        fresh = members - frozen
        frozen |= fresh
        out_of_reach |= {pid for pid in fresh if not _send(pid, signal.SIGSTOP)}
        if not fresh:
            for pid in members:
                _send(pid, signal.SIGKILL)
            time.sleep(0.001)  # dying takes a moment; the next look tells
    for pid in _members(root, marker):
        _send(pid, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> bool:
    """Signal a process; False if it is another user's."""
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
    """Return the living processes of the run that `root` began."""
    living = [process for process in map(_look_at, _process_numbers()) if process is not None]
    members = {
        process.pid for process in living if root in (process.pid, process.session) or _carries(process.pid, marker)
    }
    # A child that cleared its environment and changed its session is still somebody's child.
    while True:
        children = {process.pid for process in living if process.parent in members} - members
        if not children:
            return members
        members |= children


def _process_numbers() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def _look_at(pid: int) -> _Process | None:
    try:
        stat = _PROC.joinpath(str(pid), "stat").read_bytes()
    except OSError:  # ended since it was listed
        return None
    # proc(5): the name in brackets may hold anything; after the last one: state, ppid, pgrp, session.
    state, parent, _, session = stat.rpartition(b")")[2].split()[:4]
    if state in {b"Z", b"X"}:
        return None
    return _Process(pid, int(parent), int(session))


def _carries(pid: int, marker: bytes) -> bool:
    try:
        return marker in _PROC.joinpath(str(pid), "environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or ended
        return False
