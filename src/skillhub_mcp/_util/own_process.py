"""What the operating system lets other processes of the same user see of this one."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """Hide this process's memory and environment (`/proc/PID/environ`) from its user's others, on Linux."""
    if sys.platform == "linux":
        # Imported only where there is something to hide.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
