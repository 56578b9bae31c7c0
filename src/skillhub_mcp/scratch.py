"""Directories for what is needed for a moment, below the system's own for temporary files; nobody else may look in.

A process that is killed leaves its directory, and whoever makes the next one removes it. A living process holds the
lock of a file in its own, which the system lets go with the process, however that ends. Windows has no such lock, nor
have some file systems: what is left there stays until the directory for temporary files is emptied.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

if sys.platform != "win32":
    import fcntl

_HELD = ".skillhub-held"
_FILES = "files"
_NAME = re.compile(r"skillhub-[a-z]+-[a-z0-9_]{8}")
# A command has to begin, also where somebody else left a million files, or a hundred were killed.
_MOST_SEEN = 10_000
_MOST_REMOVED = 8
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextlib.contextmanager
def scratch_directory(purpose: str) -> Iterator[str]:
    """Yield an empty directory that is removed at the end, with `purpose`, a word in small letters, in its name.

    Those of this user's processes that were killed are removed before, a few at a time. Raises OSError.
    """
    above = tempfile.gettempdir()
    _remove_left(above)
    place = tempfile.mkdtemp(prefix=f"skillhub-{purpose}-", dir=above)
    descriptor = None
    try:
        descriptor = _hold(place)
        files = os.path.join(place, _FILES)
        os.mkdir(files, 0o700)
        yield files
    finally:
        _remove(place, remove_tree)
        if descriptor is not None:
            os.close(descriptor)


def remove_tree(directory: str) -> None:
    """Remove a directory with all that is in it, as far as that is possible, and follow no link."""

    def writable(function: Callable[[str], object], path: str, _: object) -> None:
        """Git's packs are read-only, which keeps Windows from removing them, and directories may be."""
        with contextlib.suppress(OSError):
            if path != directory:
                os.chmod(os.path.dirname(path), stat.S_IRWXU)
            if not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
            if function in (os.unlink, os.rmdir):
                function(path)

    if os.path.lexists(directory):
        shutil.rmtree(directory, onerror=writable)


def _remove(place: str, remove: Callable[[str], None]) -> None:
    """Remove what `scratch_directory` made. What says whose it is comes last, so that the next finds what is left."""
    files = os.path.join(place, _FILES)
    remove(files)
    if not os.path.lexists(files):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(place, _HELD))
        with contextlib.suppress(OSError):
            os.rmdir(place)


def _hold(place: str) -> int | None:
    """Hold the lock of a directory as long as the descriptor is open; return None where there are no locks."""
    path = os.path.join(place, _HELD)
    descriptor = os.open(f"{path}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
    if not _lock(descriptor):
        os.close(descriptor)
        os.unlink(f"{path}.new")
        return None
    # It gets its name now: nobody ever finds it while it is not held yet.
    os.rename(f"{path}.new", path)
    return descriptor


def _lock(descriptor: int) -> bool:
    """Lock an open file if nobody else has it, and there are locks."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _remove_left(above: str) -> None:
    """Remove some of what this user's killed processes left in a directory."""
    removed = 0
    with contextlib.suppress(OSError), os.scandir(above) as entries:
        for entry in islice(entries, _MOST_SEEN):
            if _NAME.fullmatch(entry.name) and _is_own(entry.path):
                removed += _remove_if_left(entry.path)
                if removed >= _MOST_REMOVED:
                    return


def _is_own(place: str) -> bool:
    """Whether this is a directory of this user that nobody else may look into, and no link to one."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            status = os.lstat(place)
            is_private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            return stat.S_ISDIR(status.st_mode) and is_private and status.st_uid == os.geteuid()
    return False


def _remove_if_left(place: str) -> bool:
    """Remove the directory of a process that is no more, and return whether it was one."""
    try:
        descriptor = os.open(os.path.join(place, _HELD), os.O_RDWR | _NO_LINK | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        is_left = _lock(descriptor)
        if is_left:
            # Not `remove_tree`, which has a second try by the path: a confined command may write a directory of such
            # a name, its own, and a link put into that path in between would lead out of it.
            _remove(place, partial(shutil.rmtree, ignore_errors=True))
        return is_left
    finally:
        os.close(descriptor)
