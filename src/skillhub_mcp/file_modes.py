"""Who else on this machine may read or write a file: making what is the person's private, and telling what is not.

A directory with the set-group-ID bit is shared with its group on purpose: nothing sets that bit by itself, and what is
made below it inherits it. Everywhere else what is made here is its owner's alone. Where modes say nothing about who may
do what, as on Windows, nothing is changed and nothing told.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable

_HAS_MODES = os.name == "posix"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_mode(directory: str) -> int | None:
    """Return the mode of a new private file in a directory; None, what the umask says, where its group shares it."""
    return None if _is_shared(directory) else 0o600


def make_private_directory(path: str) -> None:
    """Make a directory and those above it that are missing, whatever the umask; one that is there stays.

    Raises OSError.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_private_directory(parent)
    try:
        os.mkdir(path, mode=0o770 if _is_shared(parent or ".") else 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None


def make_private(paths: Iterable[str]) -> None:
    """Take from others what they may do with files and directories of this process's user, as far as that is possible.

    Links are not followed, and what belongs to somebody else is left alone.
    """
    if not _HAS_MODES:
        return
    for path in paths:
        with contextlib.suppress(OSError):
            _make_private(path)


def _make_private(path: str) -> None:
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        shared = bool(status.st_mode & stat.S_ISGID)
    elif stat.S_ISREG(status.st_mode):
        shared = _is_shared(os.path.dirname(path))
    else:
        return
    surplus = status.st_mode & (stat.S_IRWXO if shared else _OTHERS)
    if not surplus or status.st_uid != os.geteuid():
        return
    # Opened first: what the path leads to may be exchanged for a link meanwhile.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.path.samestat(os.fstat(descriptor), status):
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~surplus)
    finally:
        os.close(descriptor)


def _is_shared(directory: str) -> bool:
    try:
        return _HAS_MODES and bool(os.stat(directory or ".").st_mode & stat.S_ISGID)
    except OSError:
        return False
