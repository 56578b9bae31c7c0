"""What the operating system lets other processes of the same user see of this one."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """Close this process's memory, environment and open files to other processes of its user, on Linux.

    Otherwise any program of the same user reads keys in `/proc/PID/environ`. No core is dumped either.
    """
    if sys.platform == "linux":
        # Imported only where there is something to hide.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
