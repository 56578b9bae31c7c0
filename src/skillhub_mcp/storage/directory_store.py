"""A publication in a directory: files that are replaced in one step, and conditional writes under a lock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from filelock import FileLock, Timeout

from skillhub_mcp.atomic_write import atomic_write, replacing
from skillhub_mcp.errors import StorageRefused, StorageUnavailable
from skillhub_mcp.storage.object_store import PutConflict, StoredEntry, StoredObject

_LOCK = ".lock"
# A conditional write takes milliseconds; a lock that is held longer is one of a file system that lost it.
_LOCK_SECONDS = 10.0
_TO_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class DirectoryStore:
    """An ObjectStore in the directory `path`, which is made with the first object."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)

    @property
    def name(self) -> str:
        """The directory."""
        return self._path

    def get(self, path: str, *, most: int) -> StoredObject | None:
        with self._errors():
            try:
                with self._open(path) as file:
                    content, modified = file.read(most + 1), os.fstat(file.fileno()).st_mtime
            except (FileNotFoundError, NotADirectoryError):
                return None
        if len(content) > most:
            raise StorageUnavailable(self.name, f"{path} has more than {most:,} bytes")
        return StoredObject(content, _etag(content), modified)

    def get_if_changed(self, path: str, etag: str, *, most: int) -> StoredObject | None:
        found = self.get(path, most=most) or StoredObject(b"", "")
        return None if found.etag == etag else found

    def get_range(self, path: str, offset: int, length: int) -> bytes | None:
        with self._errors():
            try:
                with self._open(path) as file:
                    file.seek(offset)
                    return file.read(length)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def download(self, path: str, to: str) -> bool:
        with self._errors():
            try:
                source = self._open(path)
            except (FileNotFoundError, NotADirectoryError):
                return False
        with source, open(to, "wb") as file:
            shutil.copyfileobj(source, file)
        return True

    def put(self, path: str, content: bytes) -> None:
        with self._errors():
            atomic_write(self._made(path), content)

    def upload(self, path: str, source: str) -> None:
        with open(source, "rb") as content, self._errors(), replacing(self._made(path)) as file:
            shutil.copyfileobj(content, file)

    def replace(self, path: str, content: bytes, etag: str | None) -> str:
        with self._errors():
            place = self._made(path)
            lock = FileLock(os.path.join(self._path, _LOCK), timeout=_LOCK_SECONDS)
            try:
                with lock:
                    before = self.get(path, most=max(os.path.getsize(place), 1)) if os.path.lexists(place) else None
                    if (None if before is None else before.etag) != etag:
                        raise PutConflict(path)
                    atomic_write(place, content)
            except Timeout:
                reason = f"its lock is held for more than {_LOCK_SECONDS:g} seconds"
                raise StorageUnavailable(self.name, reason) from None
        return _etag(content)

    def list(self, prefix: str) -> Iterator[StoredEntry]:
        top = os.path.join(self._path, *prefix.split("/"))
        with self._errors():
            for place, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(place, name)
                    with contextlib.suppress(FileNotFoundError):
                        status = os.stat(path)
                        relative = os.path.relpath(path, self._path).replace(os.sep, "/")
                        yield StoredEntry(relative, status.st_size, status.st_mtime)

    def delete(self, paths: Iterable[str]) -> None:
        with self._errors():
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self._path, *path.split("/")))

    def _open(self, path: str) -> BinaryIO:
        # What is no regular file is not waited for.
        descriptor = os.open(os.path.join(self._path, *path.split("/")), _TO_READ)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise StorageUnavailable(self.name, f"{path} is not a file")
        return open(descriptor, "rb")

    def _made(self, path: str) -> str:
        """Return where an object lies, in a directory that exists. Raises OSError."""
        place = os.path.join(self._path, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        return place

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except PermissionError as error:
            raise StorageRefused(self.name, f"{error.filename or 'it'}: {error.strerror}") from error
        except OSError as error:
            raise StorageUnavailable(self.name, error.strerror or type(error).__name__) from error


def _etag(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
