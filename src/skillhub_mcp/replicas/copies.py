"""The files of a skill as a directory, for whoever reads them: made in the mirror at the first load or read.

A copy is of one version of a skill, which its name says, and never changes. It is compared with the digests of its
files before a process uses it first, so that nothing is synced to the disk to survive a loss of power.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as NotInTime

from skillhub_mcp.circuit_breaker import CircuitBreaker
from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.errors import PublicationDamaged, PublicationMissing, SkillFilesUnavailable, StorageUnavailable
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.replicas.generation import HeldSkill
from skillhub_mcp.replicas.health import in_short
from skillhub_mcp.replicas.mirror import CHUNK_BYTES, COPIES, Mirror, absence, copy_name
from skillhub_mcp.storage.manifest import StoredFile, pack_path
from skillhub_mcp.storage.object_store import ObjectStore

log = logging.getLogger(__name__)

# A client waits for it.
_ANSWER_SECONDS = 15.0
_REST_SECONDS = 5.0
_REMEMBERED = 20_000
_TO_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# As published: a digest of a skill has its bits for executing. Nobody else gets into the mirror.
_MODE, _EXECUTABLE_MODE, _DIRECTORY_MODE = 0o644, 0o755, 0o755


class SkillCopies:
    """The copies of skills in a mirror. `files_of` returns the files of a skill. Safe to use from several threads."""

    def __init__(
        self, mirror: Mirror, store: ObjectStore, files_of: Callable[[HeldSkill], Sequence[StoredFile]]
    ) -> None:
        self._mirror = mirror
        self._store = store
        self._files_of = files_of
        self._lock = threading.Lock()
        self._compared: LRUCache[str, bool] = LRUCache(_REMEMBERED)
        self._breaker = CircuitBreaker(_REST_SECONDS)

    def directory(self, held: HeldSkill) -> str:
        """Return the directory with the files of a skill. Raises SkillFilesUnavailable."""
        name = copy_name(held.version, held.size)
        # Named as it was published: some rules compare a skill's name with its directory's.
        path = self._mirror.path(f"{COPIES}/{name}/{held.skill.directory.rpartition('/')[2]}")
        with self._lock:
            compared = self._compared.get(f"{name}/{path}") is not None
        try:
            if not (compared and self._mirror.has_copy(name) and os.path.isdir(path)):
                self._make(held, name, path)
        except (PublicationDamaged, PublicationMissing, StorageUnavailable) as error:
            raise SkillFilesUnavailable(held.skill.name, in_short(error)) from error
        except OSError as error:
            raise SkillFilesUnavailable(held.skill.name, f"the mirror: {error.strerror or error}") from error
        return path

    def _make(self, held: HeldSkill, name: str, path: str) -> None:
        files = self._files_of(held)
        if not (self._mirror.has_copy(name) and _is_whole(path, files)):
            if self._mirror.has_copy(name):
                log.warning("The copy of %s is not what was published, and is made again", held.skill.name)
                self._mirror.drop_copy(name)
            base = os.path.basename(path)
            if all(os.path.lexists(self._mirror.path(pack_path(file.pack))) for file in files):
                self._write(name, base, files)
            else:
                self._write_from_storage(name, base, files)
        with self._lock:
            self._compared.put(f"{name}/{path}", True)

    def _write_from_storage(self, name: str, base: str, files: Sequence[StoredFile]) -> None:
        """Write a copy as `_write` does; a caller who has waited for long is told, and finds it the next time."""
        if self._breaker.is_open:
            raise StorageUnavailable(self._store.name, "the storage has just failed")
        try:
            start_abandonable(lambda: self._write(name, base, files), name="skillhub-copy").result(_ANSWER_SECONDS)
        except NotInTime:
            self._breaker.record_failure()
            reason = f"the storage did not give them within {_ANSWER_SECONDS:g} seconds"
            raise StorageUnavailable(self._store.name, reason) from None
        except (PublicationDamaged, PublicationMissing, StorageUnavailable):
            self._breaker.record_failure()
            raise
        self._breaker.record_success()

    def _write(self, name: str, base: str, files: Sequence[StoredFile]) -> None:
        if sum(file.size for file in files) > self._mirror.most_bytes:
            raise PublicationDamaged(self._store.name, name, "is larger than the mirror may be")

        def write(directory: str) -> None:
            top = os.path.join(directory, base)
            _make_directory(top)
            for file in files:
                place = os.path.join(top, *file.path.split("/"))
                _make_directories(top, file.path)
                self._write_file(file, place)

        self._mirror.keep_copy(name, write)

    def _write_file(self, file: StoredFile, place: str) -> None:
        if not (_copied(self._mirrored(file), file, place) or _copied(self._stored(file), file, place)):
            path = pack_path(file.pack)
            raise PublicationDamaged(self._store.name, path, f"has not the bytes of {file.path!r} that were written")
        os.chmod(place, _EXECUTABLE_MODE if file.executable else _MODE)

    def _mirrored(self, file: StoredFile) -> Iterator[bytes]:
        with contextlib.suppress(FileNotFoundError), open(self._mirror.path(pack_path(file.pack)), "rb") as pack:
            pack.seek(file.offset)
            left = file.size
            while left and (chunk := pack.read(min(left, CHUNK_BYTES))):
                left -= len(chunk)
                yield chunk

    def _stored(self, file: StoredFile) -> Iterator[bytes]:
        for at in range(0, file.size, CHUNK_BYTES):
            wanted = min(CHUNK_BYTES, file.size - at)
            chunk = self._store.get_range(pack_path(file.pack), file.offset + at, wanted)
            if chunk is None:
                raise absence(self._store, pack_path(file.pack))
            yield chunk


def _copied(chunks: Iterator[bytes], file: StoredFile, place: str) -> bool:
    """Write the bytes of a file, and return whether they are the ones that were published."""
    found, size = hashlib.sha256(), 0
    with open(place, "wb") as copy:
        for chunk in chunks:
            found.update(chunk)
            size += len(chunk)
            copy.write(chunk)
    return size == file.size and found.hexdigest() == file.sha256


def _is_whole(path: str, files: Sequence[StoredFile]) -> bool:
    """Whether there is each of the files, with the bytes that were published, and nothing else."""
    wanted = {os.path.join(path, *file.path.split("/")): file for file in files}
    there = {os.path.join(place, name) for place, _, names in os.walk(path) for name in names}
    return there == wanted.keys() and all(_is_as_published(place, file) for place, file in wanted.items())


def _is_as_published(place: str, file: StoredFile) -> bool:
    found = hashlib.sha256()
    try:
        with open(os.open(place, _TO_READ), "rb") as copy:
            while chunk := copy.read(CHUNK_BYTES):
                found.update(chunk)
    except OSError:
        return False
    return found.hexdigest() == file.sha256


def _make_directories(top: str, path: str) -> None:
    here = top
    for name in path.split("/")[:-1]:
        here = os.path.join(here, name)
        _make_directory(here)


def _make_directory(path: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, _DIRECTORY_MODE)
