"""Read small regular files of a root within a bound: a root may come with a repository, and hold links to devices."""

from __future__ import annotations

import errno
import os
import stat

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.locks.lock_file import Lock, parse_lock

# The lock of 100,000 skills has about 60 MB.
MAX_BYTES = 128 * 1024 * 1024
_TO_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def read_plain(path: str, *, follow: bool = False, max_bytes: int = MAX_BYTES) -> bytes | None:
    """Return the bytes of a regular file, or None if nothing is there. `follow` permits a link.

    Raises OSError, also for anything else than a file and for one of more than `max_bytes`.
    """
    try:
        descriptor = os.open(path, _TO_READ if follow else _TO_READ | _NO_LINK)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise OSError(errno.EFBIG, f"it has more than {max_bytes:,} bytes", path)
        return content


def read_lock_text(path: str) -> str | None:
    """Return the text of the lock at `path`, or None if there is none. Raises LockUnreadable."""
    try:
        content = read_plain(path, follow=True)
        return None if content is None else content.decode("utf-8")
    except OSError as error:
        raise LockUnreadable(path, error.strerror or type(error).__name__, hint="make it readable") from error
    except UnicodeDecodeError as error:
        raise LockUnreadable(path, "it is not UTF-8", hint="make it readable") from error


def read_lock(path: str) -> Lock | None:
    """Return the lock at `path`, or None if there is none. Raises LockUnreadable."""
    text = read_lock_text(path)
    return None if text is None else parse_lock(text, path)
