"""Whether a process that a test started is still there."""

from __future__ import annotations

import os
import time
from pathlib import Path

PLENTY_OF_SECONDS = 20.0


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:  # dead, but waiting for an init that takes its time
        return stat.read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def assert_ended(pid: int) -> None:
    deadline = time.monotonic() + PLENTY_OF_SECONDS
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still running"
        time.sleep(0.01)
