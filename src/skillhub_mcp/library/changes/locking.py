"""One command at a time changes a root; the system ends the lock of one that was killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skillhub_mcp.errors import LibraryBusy, LibraryUnwritable
from skillhub_mcp.library.changes.own_places import OwnPlaces
from skillhub_mcp.library.changes.refusals import unwritable


@contextmanager
def locked(places: OwnPlaces, *, wait_seconds: float) -> Iterator[None]:
    """Hold the lock of a root whose places are made. Raises LibraryBusy after that wait, and LibraryUnwritable."""
    from filelock import FileLock, Timeout

    lock = FileLock(places.lock)
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        raise LibraryBusy(places.root) from error
    except NotImplementedError as error:
        mend = "choose a directory on another file system"
        raise LibraryUnwritable(places.lock, "its file system locks no files", hint=mend) from error
    except OSError as error:
        raise unwritable(places.lock, error) from error
    try:
        yield
    finally:
        lock.release()
