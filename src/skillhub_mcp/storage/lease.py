"""The writer's lease: one publisher at a time, and one that was killed is followed by the next.

The lease is an object that its holder writes again and again, each time naming the tag that it wrote before. Whether a
holder is still there is told by the storage's clock, or by watching for a renewal: no clocks of two machines are
compared. Each holder has a larger number (`fence`) than all before, which the commit pointer decides by.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skillhub_mcp.errors import LeaseLost, PublicationBusy, StorageUnavailable
from skillhub_mcp.foreign_json import read_json
from skillhub_mcp.storage.manifest import LEASE
from skillhub_mcp.storage.object_store import ObjectStore, PutConflict, StoredObject

_MOST_BYTES = 16 * 1024
_MOST_HOLDER = 200


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """For how many seconds a lease holds without a renewal, when it is renewed, and how long to wait for another's."""

    seconds: float = 30.0
    wait_seconds: float = 60.0
    poll_seconds: float = 0.5
    renew_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class _Written:
    """What the object says. `nonce` is of one holder, and `renewal` counts its writes."""

    fence: int
    holder: str
    nonce: str
    renewal: int
    seconds: float
    released: bool = False

    def to_json(self) -> bytes:
        own = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({"format": 1, **own}, indent=1).encode()


class WriterLease:
    """A lease that is held. `fence` is its number. Made by `held_lease`."""

    def __init__(self, store: ObjectStore, written: _Written, etag: str, renew_seconds: float) -> None:
        self.fence = written.fence
        self._store = store
        self._written = written
        self._etag = etag
        self._renew_seconds = renew_seconds
        self._renewed = time.monotonic()
        self._lost = False
        self._lock = threading.Lock()
        self._done = threading.Event()

    def check(self) -> None:
        """Return if the lease is held now. Raises LeaseLost."""
        if time.monotonic() - self._renewed > self._written.seconds / 2:
            # This process stood still, or the storage did.
            self._renew()
        if self._lost:
            raise LeaseLost(self._store.name)

    def keep(self) -> None:
        """Renew the lease from now on, in a thread of its own, until it is released."""
        threading.Thread(target=self._run, name="skillhub-lease", daemon=True).start()

    def release(self) -> None:
        """Let the next publisher in. A storage that cannot be written lets it in when the lease has run out."""
        self._done.set()
        with self._lock:
            if not self._lost:
                with contextlib.suppress(PutConflict, StorageUnavailable):
                    self._write(released=True)

    def _run(self) -> None:
        while not self._done.wait(self._renew_seconds):
            self._renew()
            if self._lost:
                return

    def _renew(self) -> None:
        with self._lock:
            if self._lost or self._done.is_set():
                return
            try:
                self._write()
            except PutConflict:
                self._lost = True
            except StorageUnavailable:
                # Before anybody else may think that it has run out.
                self._lost = time.monotonic() - self._renewed > self._written.seconds * 0.8

    def _write(self, *, released: bool = False) -> None:
        """Write the lease anew. Raises PutConflict if it is another's, and StorageUnavailable."""
        before, began = self._written, time.monotonic()
        now = _Written(before.fence, before.holder, before.nonce, before.renewal + 1, before.seconds, released)
        self._etag = _put(self._store, now, self._etag)
        self._written, self._renewed = now, began


@contextlib.contextmanager
def held_lease(
    store: ObjectStore,
    holder: str,
    times: LeaseTimes,
    *,
    at_least: int = 0,
    on_wait: Callable[[str], None] = lambda _: None,
) -> Iterator[WriterLease]:
    """Hold the lease while the context lasts; its number is more than `at_least`.

    Waits where another publisher holds it, and tells `on_wait` whom it waits for. Raises PublicationBusy where that
    takes too long, and StorageUnavailable.
    """
    lease = _acquired(store, holder[:_MOST_HOLDER], times, at_least, on_wait)
    lease.keep()
    try:
        yield lease
    finally:
        lease.release()


def _acquired(
    store: ObjectStore, holder: str, times: LeaseTimes, at_least: int, on_wait: Callable[[str], None]
) -> WriterLease:
    began, seen, seen_at, told = time.monotonic(), "", time.monotonic(), False
    while True:
        found = store.get(LEASE, most=_MOST_BYTES)
        there = None if found is None else _read(found.content)
        if found is not None and found.etag != seen:
            seen, seen_at = found.etag, time.monotonic()
        if found is None or there is None or there.released or _has_run_out(store, found, there, seen_at):
            fence = max(at_least, 0 if there is None else there.fence) + 1
            mine = _Written(fence, holder, secrets.token_hex(8), 0, times.seconds)
            with contextlib.suppress(PutConflict):
                etag = _put(store, mine, None if found is None else found.etag)
                return WriterLease(store, mine, etag, times.renew_seconds)
            continue
        if time.monotonic() - began > times.wait_seconds:
            raise PublicationBusy(store.name, there.holder)
        if not told:
            on_wait(there.holder)
            told = True
        time.sleep(times.poll_seconds)


def _has_run_out(store: ObjectStore, found: StoredObject, there: _Written, seen_at: float) -> bool:
    """Whether a lease was not renewed for as long as it holds: by the storage's clock, or since it was first seen."""
    return time.monotonic() - seen_at > there.seconds or _storage_time(store) - found.modified > there.seconds


def _storage_time(store: ObjectStore) -> float:
    """Return the present time of the storage's own clock, in seconds."""
    path = f"clock/{secrets.token_hex(8)}"
    store.put(path, b"now")
    now = store.get(path, most=16)
    store.delete([path])
    return 0.0 if now is None else now.modified


def _put(store: ObjectStore, written: _Written, etag: str | None) -> str:
    try:
        return store.replace(LEASE, written.to_json(), etag)
    except PutConflict:
        # The answer to a write that was done may have been lost: then what is there is ours.
        found = store.get(LEASE, most=_MOST_BYTES)
        if found is None or found.content != written.to_json():
            raise
        return found.etag


def _read(content: bytes) -> _Written | None:
    """Return what a lease says; None for one that says nothing, which is nobody's."""
    try:
        written = read_json(content.decode())
        return _Written(
            int(written["fence"]),
            str(written["holder"]),
            str(written["nonce"]),
            int(written["renewal"]),
            float(written["seconds"]),
            written["released"] is True,
        )
    except (ValueError, LookupError, TypeError, ArithmeticError):
        return None
