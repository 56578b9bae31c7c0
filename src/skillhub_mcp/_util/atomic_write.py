"""Replacing a file in one step: no reader sees a partial file, even after a crash or on a full disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from skillhub_mcp._util.file_modes import make_private_directory


def atomic_write(
    path: str,
    content: bytes,
    *,
    mode: int | None = None,
    owner: tuple[int, int] | None = None,
    locked: bool = False,
    follow: bool = True,
) -> os.stat_result:
    """Replace the file at `path` by `content`, synced to disk, and return its status; see `replacing`."""
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
    """Yield a new file that replaces the one at `path`, synced to disk. Raises OSError; then the old file stays."""
    place = os.path.realpath(path) if follow else path
    # Fixed under a lock, so that killed writers leave only one.
    new = f"{place}.new" if locked else f"{place}.{os.getpid()}-{threading.get_ident()}.new"
    try:
        with contextlib.suppress(FileNotFoundError):
            # What a killed writer left.
            os.unlink(new)
        # Never through a link; no other user can read it until its permissions are set.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(new, flags, 0o666 if mode is None else 0o600), "w+b") as file:
            if owner is not None and hasattr(os, "fchown"):
                os.fchown(file.fileno(), *owner)
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


_MAX_BYTES = 4 * 1024 * 1024


class PrivateFiles:
    """Files in `directory`, named by a hash of their unguessable keys; beyond `most`, the oldest are removed."""

    def __init__(self, directory: str, *, most: int) -> None:
        self._directory = directory
        self._most = most

    def write(self, key: tuple[str, ...], content: bytes) -> None:
        """Write the file of a key in place of its earlier one. Raises OSError."""
        make_private_directory(self._directory)
        path = self._path(key)
        is_new = not os.path.exists(path)
        atomic_write(path, content, mode=0o600)
        if is_new:
            self._remove_oldest()

    def read(self, key: tuple[str, ...]) -> bytes | None:
        """Return the content of a key's file, at most 4 MiB; None if there is none or it cannot be read."""
        try:
            with open(self._path(key), "rb") as file:
                return file.read(_MAX_BYTES)
        except OSError:
            return None

    def remove(self, key: tuple[str, ...]) -> None:
        """Remove the file of a key, if there is one. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(key))

    def _path(self, key: tuple[str, ...]) -> str:
        name = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(self._directory, name)

    def _remove_oldest(self) -> None:
        # Another process may remove one first.
        with contextlib.suppress(FileNotFoundError):
            files = sorted(Path(self._directory).iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
            for path in files[self._most :]:
                path.unlink()
