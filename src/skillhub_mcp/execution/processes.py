"""Ending processes: a command's process, and everything that it started.

On Linux all descendants are found by parent, by session, and by a variable in their environment, even when they changed
their session or were orphaned. Three kinds of process escape: an orphan in a session of its own that removed that
variable or forbids reading it; one of another user (setuid); one that another daemon starts on request (cron, a
container daemon). On other systems only the process group is killed. A sandbox leaves none of these ways.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

RUN_ID_VARIABLE = "SKILLHUB_RUN_ID"

# Killing usually takes milliseconds; this bounds a fork bomb and a process stuck in the kernel.
_KILL_SECONDS = 5.0
_PROC = Path("/proc")


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
