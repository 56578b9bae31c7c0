"""What a publication asks of the place where it lies: a directory and a bucket give the same.

Every method raises StorageUnavailable and StorageRefused. Paths are relative to the publication, with forward slashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol


class PutConflict(Exception):
    """A conditional write found another object than it expected, and changed nothing."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The content of an object, the tag that a conditional write of it names, and when it was written.

    `modified` is in seconds, by the storage's clock.
    """

    content: bytes
    etag: str
    modified: float = 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, how often it is tried again, and how long all of that may take, in seconds."""

    request_seconds: float = 60.0
    retries: int = 4
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An object that was listed: path, size in bytes, and when it was written, in seconds by the storage's clock."""

    path: str
    size: int
    modified: float


PATIENT = Patience()
# Shorter values, such as "true" and "443", are words of every message and nobody's secret.
_SHORTEST_SECRET = 5


def without_options(text: str, options: Mapping[str, str]) -> str:
    """Return a message of a storage library without the values of the storage's options: one of them is a key."""
    # The longest first: a value may be a part of another.
    for value in sorted(options.values(), key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text


class ObjectStore(Protocol):
    """Objects by path. An object appears whole or not at all, and whoever reads after a write finds what was written.

    `name` is the target as a person may be shown it: without credentials.
    """

    @property
    def name(self) -> str: ...

    def get(self, path: str, *, most: int) -> StoredObject | None:
        """Return an object of at most `most` bytes, None where there is none. A larger one is a StorageUnavailable."""

    def get_if_changed(self, path: str, etag: str, *, most: int) -> StoredObject | None:
        """Return an object that has not that tag, as `get` does, None where it has. One that is gone has no content."""

    def get_range(self, path: str, offset: int, length: int) -> bytes | None:
        """Return `length` bytes of an object, fewer where it ends before; None where there is none."""

    def download(self, path: str, to: str) -> bool:
        """Write an object to a new local file, unverified, and return whether there is one. Raises OSError too."""

    def put(self, path: str, content: bytes) -> None:
        """Write an object, whether there is one or not."""

    def upload(self, path: str, source: str) -> None:
        """Write a local file as an object, without having all of it in memory. Raises OSError for the file."""

    def replace(self, path: str, content: bytes, etag: str | None) -> str:
        """Write an object in the place of the one with that `etag`, None for no object, and return the new tag.

        Raises PutConflict where another is there. A PutConflict may also answer a write that was done, if its first
        answer was lost: the caller reads the object to find out.
        """

    def list(self, prefix: str) -> Iterator[StoredEntry]:
        """Yield the objects in the directory `prefix`, and below it."""

    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects; one that is not there is as good as removed."""
