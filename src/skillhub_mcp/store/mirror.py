"""The objects of one publication on this machine, from which a replica answers whether its storage is there or not.

LanceDB's objects never change, so that only new ones are fetched. Each is checked by its size and SHA-256 when it is
fetched, and when a mirror is opened. Several processes may share a mirror: objects are put in place whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import replace

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.errors import PublicationDamaged
from skillhub_mcp.store.records import Publication, StoredObject, publication_of, row_of
from skillhub_mcp.store.targets import Target

_KEPT = "publication.json"
_FETCHES_AT_ONCE = 8
_CHUNK_BYTES = 1024 * 1024


class Mirror:
    """The mirror in a directory. Methods raise OSError for what this machine's disk refuses."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def publication(self) -> Publication | None:
        """Return the publication that was mirrored whole, None if there is none, or one of its objects is damaged."""
        try:
            with open(self._kept, "rb") as file:
                found = publication_of(json.load(file))
        except (OSError, ValueError, LookupError, TypeError):
            return None
        whole = all(self._is_whole(path, one) for path, one in found.objects.items())
        return found if whole and not found.is_newer else None

    def fetch(
        self, target: Target, publication: Publication, *, check: bool, progress: Callable[[int, int], None]
    ) -> Publication:
        """Have the objects of a publication here, and return it with those; with `check`, those that are here are read.

        What is not in the storage is left out: a clean-up removes objects of earlier versions. Raises
        StorageUnavailable and PublicationDamaged.
        """
        missing = [
            (path, one)
            for path, one in publication.objects.items()
            if not (self._is_whole(path, one) if check else self._has(path, one))
        ]
        absent: list[str] = []
        left, taking = iter(missing), threading.Lock()
        failed = threading.Event()

        def fetch() -> None:
            while not failed.is_set():
                with taking:
                    path, one = next(left, ("", None))
                if one is None:
                    return
                try:
                    if not self._fetch(target, path, one):
                        absent.append(path)
                except BaseException:
                    failed.set()
                    raise
                progress(len(publication.objects) - len(missing) + len(absent), len(publication.objects))

        # Threads that keep nobody: a storage that stands still must not hold up the end of the process.
        several = range(min(_FETCHES_AT_ONCE, len(missing)))
        workers: list[Future[None]] = [start_abandonable(fetch, name="skillhub-fetch") for _ in several]
        for worker in workers:
            worker.result()
        return replace(
            publication, objects={path: one for path, one in publication.objects.items() if path not in absent}
        )

    def keep(self, publication: Publication) -> None:
        """Note that the mirror has a publication whole."""
        atomic_write(self._kept, json.dumps(row_of(publication)).encode())

    @property
    def checked_at(self) -> float:
        """When the storage was last asked by anybody who uses this mirror, in seconds since 1970; 0 for never."""
        try:
            return os.stat(self._kept).st_mtime
        except OSError:
            return 0.0

    def note_checked(self) -> None:
        """Note that the storage was asked, and has nothing newer."""
        with contextlib.suppress(OSError):
            os.utime(self._kept, (time.time(), time.time()))

    def trim(self, used: Collection[str]) -> None:
        """Remove what is below the tables' directories and not used."""
        for place, _, names in os.walk(self.directory):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), self.directory).replace(os.sep, "/")
                if ".lance/" in path and path not in used:
                    os.unlink(os.path.join(place, name))

    def path(self, path: str) -> str:
        """Return where an object lies here."""
        return os.path.join(self.directory, *path.split("/"))

    def _has(self, path: str, one: StoredObject) -> bool:
        try:
            return os.stat(self.path(path)).st_size == one.size
        except OSError:
            return False

    def _is_whole(self, path: str, one: StoredObject) -> bool:
        if not self._has(path, one):
            return False
        with open(self.path(path), "rb") as file:
            return _digest(iter(lambda: file.read(_CHUNK_BYTES), b"")) == one.sha256

    def _fetch(self, target: Target, path: str, one: StoredObject) -> bool:
        """Fetch an object; return whether there is one. Raises StorageUnavailable and PublicationDamaged."""
        place = self.path(path)
        make_private_directory(os.path.dirname(place))
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(place), prefix=".fetched-")
        try:
            with open(descriptor, "wb") as file:
                found = _digest(_written(target.objects.chunks(path), file.write))
                size = file.tell()
            if not size and one.size:
                return False
            if found != one.sha256:
                raise PublicationDamaged(target.name, path, "is not what was published")
            os.replace(temporary, place)
            return True
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)

    @property
    def _kept(self) -> str:
        return os.path.join(self.directory, _KEPT)


def _written(chunks: Iterator[bytes], write: Callable[[bytes], object]) -> Iterator[bytes]:
    for chunk in chunks:
        write(chunk)
        yield chunk


def _digest(chunks: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()
