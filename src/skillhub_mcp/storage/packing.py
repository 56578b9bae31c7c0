"""Putting files into packs: each content once, small ones many in a pack, packs that are there already not again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from skillhub_mcp.storage.manifest import pack_path
from skillhub_mcp.storage.object_store import ObjectStore

_PACK_BYTES = 4 * 1024 * 1024
# A file of this size or more is a pack by itself.
_ALONE_BYTES = 1024 * 1024
_UPLOADS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class PackPlace:
    """Where the bytes of a file lie."""

    pack: str
    offset: int


@dataclass(slots=True)
class Transfer:
    """What went to the storage: objects and bytes, and how many bytes of files were there already."""

    objects: int = 0
    bytes: int = 0
    known_files: int = 0
    known_bytes: int = 0


class PackWriter:
    """Writes packs with a few uploads at once; `close` waits for them. Used by one thread.

    `known` says where contents lie that earlier snapshots have, by SHA-256. `present` are the sizes of the packs in
    the storage: what a publisher that was killed has uploaded is not sent again. Without a `store` nothing is sent.
    `check` is called before each upload, and ends it by raising.
    """

    def __init__(
        self,
        store: ObjectStore | None,
        *,
        known: Mapping[str, PackPlace],
        present: Mapping[str, int],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._places = dict(known)
        self._present = present
        self._check = check
        self._open: list[tuple[str, bytes]] = []
        self._open_digests: set[str] = set()
        self._open_bytes = 0
        self._uploads: set[Future[None]] = set()
        self._threads = ThreadPoolExecutor(_UPLOADS_AT_ONCE, thread_name_prefix="skillhub-upload")
        self.sizes: dict[str, int] = {}
        self.transfer = Transfer()

    def add(self, content: bytes, digest: str) -> None:
        """Take a file with its SHA-256. Raises what an earlier upload raised."""
        if digest in self._places or digest in self._open_digests:
            self.transfer.known_files += 1
            self.transfer.known_bytes += len(content)
        elif len(content) >= _ALONE_BYTES:
            self._write([(digest, content)])
        else:
            self._open.append((digest, content))
            self._open_digests.add(digest)
            self._open_bytes += len(content)
            if self._open_bytes >= _PACK_BYTES:
                self._flush()

    def close(self) -> None:
        """Write what is left and wait until all is there. Raises StorageUnavailable, and what `check` raises."""
        if self._open:
            self._flush()
        for upload in self._uploads:
            upload.result()
        self._threads.shutdown()

    def abandon(self) -> None:
        """Send nothing more, and wait for what is being sent."""
        self._threads.shutdown(cancel_futures=True)

    def place(self, digest: str) -> PackPlace:
        """Return where a content lies, once the writer is closed."""
        return self._places[digest]

    def _flush(self) -> None:
        self._write(self._open)
        self._open, self._open_digests, self._open_bytes = [], set(), 0

    def _write(self, files: list[tuple[str, bytes]]) -> None:
        content = b"".join(file for _, file in files)
        pack, offset = hashlib.sha256(content).hexdigest(), 0
        for digest, file in files:
            self._places[digest] = PackPlace(pack, offset)
            offset += len(file)
        self.sizes[pack] = len(content)
        if self._present.get(pack) == len(content):
            self.transfer.known_files += len(files)
            self.transfer.known_bytes += len(content)
            return
        self.transfer.objects += 1
        self.transfer.bytes += len(content)
        if self._store is None:
            return
        if len(self._uploads) >= 2 * _UPLOADS_AT_ONCE:
            # So that packs wait in the storage and not in memory.
            done, self._uploads = wait(self._uploads, return_when=FIRST_COMPLETED)
            for upload in done:
                upload.result()
        self._uploads.add(self._threads.submit(self._upload, self._store, pack, content))

    def _upload(self, store: ObjectStore, pack: str, content: bytes) -> None:
        self._check()
        store.put(pack_path(pack), content)
