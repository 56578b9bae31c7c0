"""Reading small files of a root, which may be anybody's: regular files alone, and never waiting for one."""

from __future__ import annotations

import errno
import os
import stat

from skillhub_mcp.errors import LockUnreadable

_TO_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def read_plain(path: str, *, follow: bool = False) -> bytes | None:
    """Return the bytes of a regular file; None where nothing is. Raises OSError, also for anything else at `path`.

    A link counts as something else, unless it is to `follow`.
    """
    try:
        descriptor = os.open(path, _TO_READ if follow else _TO_READ | _NO_LINK)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        return file.read()


def read_lock_text(path: str) -> str | None:
    """Return the text of the lock at `path`, or where a link there leads; None where none is. Raises LockUnreadable."""
    try:
        content = read_plain(path, follow=True)
        return None if content is None else content.decode("utf-8")
    except OSError as error:
        raise LockUnreadable(path, error.strerror or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise LockUnreadable(path, "it is not UTF-8") from error
