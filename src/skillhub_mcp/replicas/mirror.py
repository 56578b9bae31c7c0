"""The mirror: a directory with what a replica needs of a publication, laid out as the publication is.

Every object in it has the name of its content, or is checked against its digest when it is read. It is written beside
and renamed when it is whole, so that replicas may share a mirror and each may be killed at any moment: what a killed
one leaves is swept an hour later.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.errors import PublicationDamaged, PublicationMissing
from skillhub_mcp.file_modes import make_private_directory, private_mode
from skillhub_mcp.storage.manifest import MAX_POINTER_BYTES, POINTER, ObjectRef
from skillhub_mcp.storage.object_store import ObjectStore

# Copies of skills, which no publication has.
COPIES = "skills"
_INCOMING = "incoming"
_KINDS = ("snapshots", "shards", "segments", "packs")
# Of one request, so that no object is in memory whole.
CHUNK_BYTES = 8 << 20
# What a killed process left.
_SWEPT_AFTER_SECONDS = 3_600.0
# What nobody has used for so long goes, also where there is room; sooner where there is none, but not at once:
# another replica may be about to read it.
_UNUSED_SECONDS = 24 * 3_600.0
_LEAST_UNUSED_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class MirroredPart:
    """An object of a publication: where it lies there, its digest and its size."""

    path: str
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class _Kept:
    path: str
    size: int
    used: float


class FetchAbandoned(Exception):
    """A part was not fetched, since whoever wanted it no longer does."""


class Mirror:
    """The mirror in a `directory` of its own, of at most about `most_bytes`. Methods raise OSError.

    `pointer` is the name of the file with the commit pointer: who follows another snapshot than others has another.
    Safe to use from several threads and processes.
    """

    def __init__(self, directory: str, *, most_bytes: int, pointer: str = POINTER) -> None:
        self.directory = directory
        self.most_bytes = most_bytes
        self._pointer = pointer
        self._lock = threading.Lock()

    def path(self, part: str) -> str:
        """Return where a part of the publication lies in the mirror."""
        return os.path.join(self.directory, *part.split("/"))

    def has(self, part: MirroredPart) -> bool:
        """Whether a part is there, by its size."""
        try:
            size = os.stat(self.path(part.path)).st_size
        except (FileNotFoundError, NotADirectoryError):
            return False
        return size == part.ref.size

    def read(self, part: MirroredPart) -> bytes | None:
        """Return the content of a part; None where it is not there, or is not what it was, and is then removed."""
        try:
            with open(self.path(part.path), "rb") as file:
                content = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if hashlib.sha256(content).hexdigest() != part.ref.sha256:
            self._drop(part)
            return None
        return content

    def is_whole(self, part: MirroredPart) -> bool:
        """Whether a part is there and is what it was, reading all of it; what is not is removed."""
        try:
            with open(self.path(part.path), "rb") as file:
                found = hashlib.sha256()
                while chunk := file.read(CHUNK_BYTES):
                    found.update(chunk)
        except (FileNotFoundError, NotADirectoryError):
            return False
        if found.hexdigest() == part.ref.sha256:
            return True
        self._drop(part)
        return False

    def _drop(self, part: MirroredPart) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path(part.path))

    def fetch(self, store: ObjectStore, part: MirroredPart, *, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Have a part here, from the storage if it is not; return whether it had to be fetched.

        `goes_on` is asked before each piece of some megabytes; where it says no, FetchAbandoned is raised. Raises
        StorageUnavailable, PublicationDamaged for what is missing there, or is not what was written, and
        PublicationMissing where all is.
        """
        if self.has(part):
            return False
        if part.ref.size > self.most_bytes:
            reason = f"has {part.ref.size:,} bytes, and the mirror may have {self.most_bytes:,}"
            raise PublicationDamaged(store.name, part.path, reason, hint="raise SKILLHUB_MIRROR_MAX_BYTES")
        place = self.path(part.path)
        make_private_directory(os.path.dirname(place))
        with self._incoming() as new:
            with _new_file(new) as file:
                _download(store, part, file, goes_on)
            os.replace(new, place)
        return True

    def pointer(self) -> bytes | None:
        """Return the commit pointer as it was when it was last followed, or None."""
        try:
            with open(self.path(self._pointer), "rb") as file:
                return file.read(MAX_POINTER_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def checked_at(self) -> float:
        """Return when the pointer was last found as it is here, in seconds since 1970; 0 where it never was."""
        try:
            return os.stat(self.path(self._pointer)).st_mtime
        except OSError:
            return 0.0

    def note_checked(self) -> None:
        """Note that the pointer is as it is here."""
        os.utime(self.path(self._pointer))

    def keep_pointer(self, content: bytes) -> None:
        """Keep the commit pointer that was followed."""
        make_private_directory(self.directory)
        if self.pointer() == content:
            os.utime(self.path(self._pointer))
        else:
            atomic_write(self.path(self._pointer), content, mode=private_mode(self.directory), follow=False)

    # Copies of skills

    def has_copy(self, name: str) -> bool:
        """Whether there is a copy of that name; it is noted as used."""
        path = self.path(f"{COPIES}/{name}")
        try:
            if time.time() - os.stat(path).st_mtime > _LEAST_UNUSED_SECONDS / 2:
                os.utime(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def keep_copy(self, name: str, write: Callable[[str], None]) -> None:
        """Have `write` fill a new directory, which becomes the copy of that name unless another was faster."""
        make_private_directory(self.path(COPIES))
        with self._incoming() as new:
            make_private_directory(new)
            write(new)
            try:
                os.rename(new, self.path(f"{COPIES}/{name}"))
            except OSError:
                if not self.has_copy(name):
                    raise

    def drop_copy(self, name: str) -> None:
        """Remove a copy that is not what it was: first from its name, so that nobody finds half of it."""
        make_private_directory(self.path(_INCOMING))
        with self._incoming() as gone, contextlib.suppress(FileNotFoundError):
            os.rename(self.path(f"{COPIES}/{name}"), gone)

    # Its size

    def note_used(self, parts: Collection[MirroredPart]) -> None:
        """Note that parts are in use, for whoever trims."""
        for part in parts:
            with contextlib.suppress(FileNotFoundError):
                os.utime(self.path(part.path))

    def size(self) -> int:
        """Return the bytes of all that is here."""
        return sum(one.size for one in self._kept())

    def trim(self, used: Collection[MirroredPart]) -> int:
        """Remove what nobody has used for a day, or for ten minutes where there is no room; return how many bytes.

        What is in `used` stays.
        """
        with self._lock:
            self._sweep()
            own = {self.path(part.path) for part in used}
            now, removed = time.time(), 0
            kept = sorted(self._kept(), key=lambda one: one.used)
            size = sum(one.size for one in kept)
            for one in kept:
                unused = now - one.used
                over = size - removed > self.most_bytes and unused > _LEAST_UNUSED_SECONDS
                if one.path in own or not (over or unused > _UNUSED_SECONDS):
                    continue
                if os.path.dirname(one.path) == self.path(COPIES):
                    self.drop_copy(os.path.basename(one.path))
                else:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(one.path)
                removed += one.size
            return removed

    def _kept(self) -> Iterator[_Kept]:
        for kind in (*_KINDS, COPIES):
            with contextlib.suppress(FileNotFoundError), os.scandir(self.path(kind)) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        size = _bytes_of_copy(entry.name) if kind == COPIES else status.st_size
                        yield _Kept(entry.path, size, status.st_mtime)

    def _sweep(self) -> None:
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path(_INCOMING)) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _SWEPT_AFTER_SECONDS:
                        _remove(entry.path)

    @contextlib.contextmanager
    def _incoming(self) -> Iterator[str]:
        """Yield a path for something new, which is gone afterwards if it was not renamed."""
        make_private_directory(self.path(_INCOMING))
        new = self.path(f"{_INCOMING}/{os.getpid()}-{secrets.token_hex(8)}")
        try:
            yield new
        finally:
            _remove(new)


def pointer_name(pinned: str) -> str:
    """Return the name of the file with the pointer that led to the `pinned` snapshot, or to the current one."""
    return f"pinned-{pinned}.json" if pinned else POINTER


def copy_name(version: str, size: int) -> str:
    """Return the name of the copy of a skill's version: its bytes are in it, so that nobody has to look for them."""
    return f"{version}-{size}"


def absence(store: ObjectStore, path: str) -> PublicationDamaged | PublicationMissing:
    """Return the error for an object that is not in the storage: damage, unless the publication is not there at all.

    Raises StorageUnavailable.
    """
    if store.get(POINTER, most=MAX_POINTER_BYTES) is None:
        return PublicationMissing(store.name)
    return PublicationDamaged(store.name, path, "is missing")


def _bytes_of_copy(name: str) -> int:
    size = name.rpartition("-")[2]
    return int(size) if size.isdecimal() else 0


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def _new_file(path: str) -> Iterator[BinaryIO]:
    """Yield a new private file, which is on the disk when the block ends."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _download(store: ObjectStore, part: MirroredPart, file: BinaryIO, goes_on: Callable[[], bool]) -> None:
    """Write a part as it lies in the storage. Raises what `Mirror.fetch` raises."""
    digest, at = hashlib.sha256(), 0
    while at < part.ref.size:
        if not goes_on():
            raise FetchAbandoned(part.path)
        wanted = min(CHUNK_BYTES, part.ref.size - at)
        chunk = store.get_range(part.path, at, wanted)
        if chunk is None:
            raise absence(store, part.path)
        digest.update(chunk)
        file.write(chunk)
        at += len(chunk)
        if len(chunk) < wanted:
            break
    if at != part.ref.size:
        raise PublicationDamaged(store.name, part.path, f"has {at:,} bytes instead of {part.ref.size:,}")
    if digest.hexdigest() != part.ref.sha256:
        raise PublicationDamaged(store.name, part.path, "is not what was written: its digest differs")
