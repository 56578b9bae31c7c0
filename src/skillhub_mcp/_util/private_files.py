"""Small files by key in a private directory of their own, with a bound on their number."""

from __future__ import annotations

import contextlib
import hashlib
import os

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private_directory

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
        found = []
        with os.scandir(self._directory) as entries:
            for entry in entries:
                # Another process may remove it first.
                with contextlib.suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, entry.path))
        for _, path in sorted(found, reverse=True)[self._most :]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
