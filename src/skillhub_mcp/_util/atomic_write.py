"""Replacing a file in one step: no reader sees a partial file, even after a crash or on a full disk."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import BinaryIO


def atomic_write(
    path: str,
    content: bytes,
    *,
    mode: int | None = None,
    owner: tuple[int, int] | None = None,
    locked: bool = False,
    follow: bool = True,
) -> os.stat_result:
    """Replace the file at `path` by `content`, synced to disk, and return the status of the new file.

    The options are those of `replacing`. Raises OSError; then the old file is untouched.
    """
    with replacing(path, mode=mode, owner=owner, locked=locked, follow=follow) as file:
        file.write(content)
        file.flush()
        return os.fstat(file.fileno())


@contextlib.contextmanager
def replacing(
    path: str,
    *,
    mode: int | None = None,
    owner: tuple[int, int] | None = None,
    locked: bool = False,
    follow: bool = True,
) -> Iterator[BinaryIO]:
    """Yield a new file to write and read, which takes the place of the one at `path` at the end, synced to disk.

    A symbolic link stays one: its target is replaced; without `follow` the link is. `mode` is the new file's
    permissions; without it those of any new file. `owner` is its user and group; without it those of this process.
    Where the caller holds a lock (`locked`), the temporary file has a fixed name, so that killed writers leave one
    behind and not many. Raises OSError; then, and where the body raises, the old file is untouched.
    """
    place = os.path.realpath(path) if follow else path
    new = f"{place}.new" if locked else f"{place}.{os.getpid()}-{threading.get_ident()}.new"
    try:
        with open(new, "w+b", opener=_as_any_file if mode is None else _private) as file:
            if owner is not None:
                _give(file.fileno(), owner)
            if mode is not None:
                # By the file where that is possible: its name may lead elsewhere by now.
                os.chmod(file.fileno() if os.chmod in os.supports_fd else new, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def _give(descriptor: int, owner: tuple[int, int]) -> None:
    """Give a new file to its owner, where it is not theirs by itself: only root may name another user."""
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != owner and hasattr(os, "fchown"):
        os.fchown(descriptor, *owner)


def _private(path: str, flags: int) -> int:
    """Open for the owner alone: the content must not be readable before its permissions are set."""
    return _open_new(path, flags, 0o600)


def _as_any_file(path: str, flags: int) -> int:
    return _open_new(path, flags, 0o666)


def _open_new(path: str, flags: int, mode: int) -> int:
    """Make a file that is not there yet: a link of that name, left by somebody else, leads to a file of the person."""
    flags |= os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        # What a killed writer left.
        os.unlink(path)
        return os.open(path, flags, mode)
