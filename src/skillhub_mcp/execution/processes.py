"""Ending a process with its process group.

A process that left the group ends with its sandbox; without a sandbox it goes on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

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
