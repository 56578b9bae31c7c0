"""Read again a file that another program is writing: empty or cut off for a moment, and whole in the next."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

# A file that is not usable this long after its last change is not being written, but broken.
JUST_WRITTEN_SECONDS = 1.0
_WAIT_SECONDS = 0.3
_STEP_SECONDS = 0.02
_NANOSECONDS = 1_000_000_000


def is_just_written(mtime_ns: int, now_ns: int) -> bool:
    """Whether a file of this time may be half written at `now_ns`; its clock may be ahead."""
    return abs(now_ns - mtime_ns) < JUST_WRITTEN_SECONDS * _NANOSECONDS


def read_settled(path: str, read: Callable[[], bytes], is_whole: Callable[[bytes], bool]) -> tuple[bytes, bool]:
    """Return what `read` returns for the file at `path`, and whether it may still be half written.

    If that is not whole and was written just now, it is read again for 0.3 s at most.
    """
    content = read()
    deadline = time.monotonic() + _WAIT_SECONDS
    while not is_whole(content):
        if not _is_being_written(path):
            return content, False
        if time.monotonic() > deadline:
            return content, True
        time.sleep(_STEP_SECONDS)
        content = read()
    return content, False


def _is_being_written(path: str) -> bool:
    try:
        return is_just_written(os.stat(path).st_mtime_ns, time.time_ns())
    except OSError:
        return False
