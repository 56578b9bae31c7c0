"""Copies of clients' files from before they were changed: the last ten, for the owner only."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from datetime import datetime, timezone

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private, make_private_directory

_MOST = 10
_PLACE = "PLACE"


@dataclass(frozen=True, slots=True)
class Backup:
    """One copy: the path of the file that it was made of, where the copy is, and when it was made."""

    path: str
    copy: str
    made: str

    def content(self) -> bytes:
        """Return the bytes of the copy. Raises OSError."""
        with open(self.copy, "rb") as file:
            return file.read()


class Backups:
    """The copies in `directory`: each in a directory named by its time, under its own name, with its path beside it."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def keep(self, path: str, content: bytes) -> None:
        """Keep a copy, and remove the oldest beyond ten. Raises OSError."""
        make_private_directory(self._directory)
        make_private([self._directory])
        made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H%M%S.%fZ")
        directory = os.path.join(self._directory, made)
        os.mkdir(directory, mode=0o700)
        atomic_write(os.path.join(directory, os.path.basename(path)), content, mode=0o600)
        # Last: a copy without its place counts as none.
        atomic_write(os.path.join(directory, _PLACE), os.fsencode(path), mode=0o600)
        for old in self._directories()[:-_MOST]:
            shutil.rmtree(os.path.join(self._directory, old), ignore_errors=True)

    def newest(self, path: str) -> Backup | None:
        """Return the newest copy of the file at `path`; None where there is none."""
        return next((backup for backup in reversed(self.all()) if backup.path == path), None)

    def all(self) -> list[Backup]:
        """Return every copy, the oldest first."""
        found = []
        for made in self._directories():
            directory = os.path.join(self._directory, made)
            with contextlib.suppress(OSError), open(os.path.join(directory, _PLACE), "rb") as file:
                path = os.fsdecode(file.read())
                found.append(Backup(path, os.path.join(directory, os.path.basename(path)), made))
        return found

    def _directories(self) -> list[str]:
        try:
            return sorted(os.listdir(self._directory))
        except FileNotFoundError:
            return []
