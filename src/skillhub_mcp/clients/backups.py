"""Backups of changed client files, from which disconnecting restores them byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.clients.model import ClientEntry

_MAX_BACKUPS = 100
_RECORD = "change.json"


@dataclass(frozen=True, slots=True)
class Backup:
    """One change of the file at `path`, which `existed` before, and the `place` of the record.

    `after` is the digest of the new content, and `entry` our entry in it.
    """

    path: str
    existed: bool
    name: str = ""
    entry: ClientEntry | None = None
    after: str = ""
    place: str = ""

    def content(self) -> bytes | None:
        """Return the bytes of the file before, None if it did not exist. Raises OSError."""
        if not self.existed:
            return None
        with open(os.path.join(self.place, os.path.basename(self.path)), "rb") as file:
            return file.read()


class Backups:
    """The last hundred changes in `directory`, each in a directory named by its time, readable by the owner only."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def keep(self, change: Backup, before: bytes | None) -> None:
        """Record a change and a copy of the file before it. Raises OSError."""
        make_private_directory(self._directory)
        directory = os.path.join(self._directory, datetime.now(timezone.utc).strftime("%Y-%m-%dT%H%M%S.%fZ"))
        os.mkdir(directory, mode=0o700)
        if before is not None:
            atomic_write(os.path.join(directory, os.path.basename(change.path)), before, mode=0o600)
        # Last: a directory without it is ignored. An entry in TOML may have dates.
        record = json.dumps(asdict(change), default=str).encode("ascii")
        atomic_write(os.path.join(directory, _RECORD), record, mode=0o600)
        for old in self._directories()[:-_MAX_BACKUPS]:
            shutil.rmtree(os.path.join(self._directory, old), ignore_errors=True)

    def of(self, path: str) -> list[Backup]:
        """Return the recorded changes of a file, the newest first."""
        found = map(self._read, reversed(self._directories()))
        return [backup for backup in found if backup is not None and backup.path == path]

    def original(self, path: str, name: str, content: bytes | None) -> Backup | None:
        """Return the first of our changes that led to this content without changes by others in between."""
        first = None
        for backup in self.of(path):
            if content is not None and (backup.name, backup.after) == (name, digest_of(content)):
                first, content = backup, backup.content()
        return first

    def _read(self, made: str) -> Backup | None:
        directory = os.path.join(self._directory, made)
        try:
            with open(os.path.join(directory, _RECORD), "rb") as file:
                record = json.load(file)
        except (OSError, ValueError):
            return None
        names = ("path", "existed", "name", "entry", "after")
        return Backup(**{name: record[name] for name in names}, place=directory)

    def _directories(self) -> list[str]:
        return sorted(os.listdir(self._directory)) if os.path.isdir(self._directory) else []


def digest_of(content: bytes) -> str:
    """Return the digest of a file's bytes, as in a record."""
    return hashlib.sha256(content).hexdigest()
