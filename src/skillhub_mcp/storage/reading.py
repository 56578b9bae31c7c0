"""Reading a publication: whatever is returned is what was written, by size and SHA-256, or an error says which part.

A part that is wrong or does not come is asked for again, a few times: storage behind a network gives half an object now
and then.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from skillhub_mcp.errors import PublicationDamaged, PublicationMissing, StorageRefused, StorageUnavailable
from skillhub_mcp.storage import manifest as written
from skillhub_mcp.storage.manifest import (
    BadManifest,
    CommitPointer,
    ListedSnapshot,
    NewerFormat,
    ObjectRef,
    SnapshotManifest,
    StoredFile,
    StoredShard,
    StoredSkill,
    WebPage,
    pack_path,
    segment_path,
    shard_path,
    snapshot_path,
)
from skillhub_mcp.storage.object_store import ObjectStore

_TRIES = 3
_PAUSE_SECONDS = 0.2
_LONG_SECONDS = 30.0
_CHUNK_BYTES = 1024 * 1024

_Read = TypeVar("_Read")


class PublicationReader:
    """The publication in a store; what fails is tried again. Safe to use from several threads.

    Methods raise PublicationDamaged for what is not as it was written, or is gone, and StorageUnavailable.
    """

    def __init__(self, store: ObjectStore, *, pause: Callable[[float], None] = time.sleep) -> None:
        self.store = store
        self._pause = pause

    def pointer(self) -> tuple[CommitPointer, str]:
        """Return the commit pointer, and its tag for a conditional write. Raises PublicationMissing."""
        found = self.pointer_if_any()
        if found is None:
            raise PublicationMissing(self.store.name)
        return found

    def pointer_if_any(self) -> tuple[CommitPointer, str] | None:
        """Return the commit pointer and its tag, or None where nothing was published."""

        def read() -> tuple[CommitPointer, str] | None:
            found = self.store.get(written.POINTER, most=written.MAX_POINTER_BYTES)
            if found is None:
                return None
            return self._parsed(written.POINTER, found.content, written.read_pointer), found.etag

        return self._again(read)

    def snapshot(self, listed: ListedSnapshot) -> SnapshotManifest:
        """Return the manifest of a snapshot that the pointer lists."""
        path = snapshot_path(listed.id)
        return self._parsed(path, self.read(path, listed.ref, most=written.MAX_SNAPSHOT_BYTES), written.read_manifest)

    def shard(self, shard: StoredShard) -> tuple[StoredSkill, ...]:
        """Return the skills of a shard."""
        path = shard_path(shard.ref.sha256)
        return self._parsed(path, self.read(path, shard.ref, most=written.MAX_SHARD_BYTES), written.read_shard)

    def segment(self, ref: ObjectRef, *, most: int) -> bytes:
        """Return the bytes of a file of the index."""
        return self.read(segment_path(ref.sha256), ref, most=most)

    def read_file(self, file: StoredFile) -> bytes:
        """Return the bytes of a skill's file."""
        path = pack_path(file.pack)

        def read() -> bytes:
            found = self.store.get_range(path, file.offset, file.size) if file.size else b""
            if found is None:
                raise self._damaged(path, "is gone")
            if len(found) != file.size or hashlib.sha256(found).hexdigest() != file.sha256:
                raise self._damaged(path, f"has not the bytes of {file.path!r} that were written")
            return found

        return self._again(read)

    def read(self, path: str, ref: ObjectRef, *, most: int) -> bytes:
        """Return the bytes of a whole object, which has at most `most`."""

        def read() -> bytes:
            if ref.size > most:
                raise self._damaged(path, f"is said to have more than {most:,} bytes")
            found = self.store.get(path, most=most)
            if found is None:
                raise self._damaged(path, "is gone")
            if len(found.content) != ref.size or hashlib.sha256(found.content).hexdigest() != ref.sha256:
                raise self._damaged(path, "is not what was written")
            return found.content

        return self._again(read)

    def fetch(self, path: str, ref: ObjectRef, to: str) -> None:
        """Write a whole object to the local file `to`, which appears when all of it is right. Raises OSError too."""
        unverified = f"{to}.{os.getpid()}-{threading.get_ident()}.new"

        def fetch() -> None:
            if not self.store.download(path, unverified):
                raise self._damaged(path, "is gone")
            found, size = hashlib.sha256(), 0
            with open(unverified, "rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    found.update(chunk)
                    size += len(chunk)
            if size != ref.size or found.hexdigest() != ref.sha256:
                raise self._damaged(path, "is not what was written")

        try:
            self._again(fetch)
            os.replace(unverified, to)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unverified)

    def skills(self, snapshot: SnapshotManifest) -> Iterator[StoredSkill]:
        """Yield all skills of a snapshot, shard by shard."""
        for shard in snapshot.shards:
            yield from self.shard(shard)

    def _parsed(self, path: str, content: bytes, read: Callable[[bytes], _Read]) -> _Read:
        try:
            return read(content)
        except NewerFormat as error:
            raise PublicationDamaged(self.store.name, path, str(error), hint="update SkillHub here") from error
        except WebPage as error:
            hint = "remove nothing: have it let this machine through, or name the storage's own address"
            raise PublicationDamaged(self.store.name, path, str(error), hint=hint) from error
        except BadManifest as error:
            raise self._damaged(path, str(error)) from error

    def _damaged(self, path: str, reason: str) -> PublicationDamaged:
        # It says what snapshots there are, so no other of them is to be had without it.
        hint = "put back a copy of it, or remove it and publish: that begins anew" if path == written.POINTER else None
        return PublicationDamaged(self.store.name, path, reason, hint=hint)

    def _again(self, read: Callable[[], _Read]) -> _Read:
        for wait in range(1, _TRIES):
            began = time.monotonic()
            try:
                return read()
            except StorageRefused:
                raise
            except (StorageUnavailable, PublicationDamaged):
                if time.monotonic() - began > _LONG_SECONDS:
                    # The store has tried it again itself, as long as whoever opened it is patient.
                    raise
                self._pause(_PAUSE_SECONDS * wait)
        return read()
