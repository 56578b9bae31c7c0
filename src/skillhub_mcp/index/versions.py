"""The versions of a table on disk: which of them nobody reads any more, and what they hold.

LanceDB removes old versions only together with compacting the table, which writes all of it again, and only by when a
version was written. Here a version goes by when the next one took its place: a reader learns of that within seconds,
however old the version is.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

# How long a version stays after another took its place: many times what a reader takes to learn of that.
KEPT_SECONDS = 30.0

# A version is its manifest. Lance's format counts the names of manifests down from 2**64 - 1.
_MANIFEST = re.compile(r"(\d{20})\.manifest")
_LAST_NAME = 2**64 - 1


def manifest_name(version: int) -> str:
    """Return the name of a version's manifest among a table's `_versions`."""
    return f"{_LAST_NAME - version:020}.manifest"


@dataclass(frozen=True, slots=True)
class _Version:
    number: int
    written_at: float
    path: str


class TableVersions:
    """The versions of the table in `directory`. For a caller that holds the writer's lock."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def unread(self, *, published: int | None, newest: int) -> tuple[str, ...]:
        """Return the manifests of versions that nobody reads: unpublished ones, and those replaced long enough ago.

        The versions `published`, which readers open, and `newest`, which is to be published, are not among them.
        Raises OSError.
        """
        now = time.time()
        last = newest if published is None else published
        unread = []
        for version, following in pairwise(sorted(self._versions(), key=lambda version: version.number)):
            replaced = version.number < last and now - following.written_at > KEPT_SECONDS
            if replaced or last < version.number < newest:
                unread.append(version.path)
        return tuple(unread)

    def disk_bytes(self) -> int:
        """Return the bytes of all files of the table. Raises OSError."""
        return sum(
            os.stat(os.path.join(directory, name)).st_size
            for directory, _, names in os.walk(self._directory)
            for name in names
        )

    def seconds_since_merge(self) -> float:
        """Return how long ago rows were last merged into the indexes, or old files removed. Raises OSError."""
        return time.time() - os.stat(os.path.join(self._directory, "_indices")).st_mtime

    def _versions(self) -> Iterator[_Version]:
        with os.scandir(os.path.join(self._directory, "_versions")) as entries:
            for entry in entries:
                name = _MANIFEST.fullmatch(entry.name)
                if name is not None:
                    yield _Version(_LAST_NAME - int(name[1]), entry.stat().st_mtime, entry.path)
