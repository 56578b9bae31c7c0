"""Reading small files of a root, which may be anybody's: regular files alone, within a bound, and without waiting.

A root may come with a repository, and a link in it may lead to a pipe, to a device, or to a file without an end.
"""

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


def read_plain(path: str, *, follow: bool = False, max_bytes: int | None = None) -> bytes | None:
    """Return the bytes of a regular file; None where nothing is. Raises OSError, also for anything else at `path`, and
    for a file of more than `max_bytes`, or `MAX_BYTES`.

    A link counts as something else, unless it is to `follow`.
    """
    most = MAX_BYTES if max_bytes is None else max_bytes
    try:
        descriptor = os.open(path, _TO_READ if follow else _TO_READ | _NO_LINK)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        content = file.read(most + 1)
        if len(content) > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", path)
        return content


def read_lock_text(path: str) -> str | None:
    """Return the text of the lock at `path`, or where a link there leads; None where none is. Raises LockUnreadable."""
    try:
        content = read_plain(path, follow=True)
        return None if content is None else content.decode("utf-8")
    except OSError as error:
        raise LockUnreadable(path, error.strerror or type(error).__name__, hint="make it readable") from error
    except UnicodeDecodeError as error:
        raise LockUnreadable(path, "it is not UTF-8", hint="make it readable") from error


def read_lock(path: str) -> Lock | None:
    """Return the lock at `path`, or None where there is none. Raises LockUnreadable."""
    text = read_lock_text(path)
    return None if text is None else parse_lock(text, path)
