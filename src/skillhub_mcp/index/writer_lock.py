"""The locks of an index: one process writes at a time, and one embeds. Their files are private.

The operating system releases the lock of a dead process, so a stale lock cannot block.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from skillhub_mcp._util.file_modes import make_private_directory, missing_feature, private_mode
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.connection import IN_MEMORY
from skillhub_mcp.index.failures import damaged
from skillhub_mcp.index.index_files import IndexFiles

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_FILE = "index.lock"
# Several servers of one index would each pay the provider for the same texts.
EMBEDDING_LOCK = ".embedding.lock"
_STEP_SECONDS = 0.2


def unwritable(db_path: str, reason: str) -> IndexUnavailable:
    """Return the error of an index that cannot be written."""
    missing = missing_feature(os.path.dirname(os.path.realpath(db_path)))
    if missing:
        return IndexUnavailable(
            f"The index at {db_path} cannot be written: its file system has no {missing}",
            hint="set SKILLHUB_DB_PATH to a local disk",
        )
    return IndexUnavailable(
        f"The index at {db_path} cannot be written: {reason}",
        hint="free space or grant access there, or set SKILLHUB_DB_PATH to another path",
    )


class WriterLock:
    """The locks of the index at `db_path`; an index in memory has no other process, and needs none.

    `timeout` is how many seconds to wait for another writer, and `check` is called while waiting, and ends it by
    raising.
    """

    def __init__(self, db_path: str, files: IndexFiles, *, timeout: float, check: Callable[[], None]) -> None:
        self._db_path = db_path
        self._files = files
        self._timeout = timeout
        self._check = check
        self._in_memory = db_path == IN_MEMORY

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the writer's lock. Raises IndexUnavailable, also for an OSError of the work under it."""
        if self._in_memory:
            yield
            return
        try:
            make_private_directory(self._files.directory)
            with self._acquired(self._lock(LOCK_FILE)):
                yield
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._db_path, str(damaged(error))) from error

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Hold the writer's lock. Raises OSError if another process holds it."""
        with contextlib.nullcontext() if self._in_memory else self._lock(LOCK_FILE).acquire(timeout=0):
            yield

    @contextlib.contextmanager
    def embedding_turn(self) -> Iterator[bool]:
        """Hold the lock for embedding if no other process does; yield whether. Raises IndexUnavailable."""
        from filelock import Timeout

        files = None if self._in_memory else self._files.find()
        if files is None:
            yield self._in_memory
            return
        lock = self._lock(os.path.basename(files.state_path) + EMBEDDING_LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._db_path, str(damaged(error))) from error
        try:
            yield True
        finally:
            lock.release()

    def _lock(self, name: str) -> BaseFileLock:
        from filelock import FileLock

        # Who can open a lock's file can hold it, and keep every writer waiting.
        mode = private_mode(self._files.directory) or 0o660
        return FileLock(os.path.join(self._files.directory, name), mode=mode)

    @contextlib.contextmanager
    def _acquired(self, lock: BaseFileLock) -> Iterator[None]:
        from filelock import Timeout

        deadline = time.monotonic() + self._timeout
        while not lock.is_locked:
            self._check()
            try:
                # In steps, so that a closing server does not wait for another writer.
                lock.acquire(timeout=max(0.0, min(_STEP_SECONDS, deadline - time.monotonic())))
            except Timeout as error:
                if time.monotonic() < deadline:
                    continue
                raise IndexUnavailable(
                    f"Another process has been writing the index at {self._db_path} for {self._timeout:g} seconds",
                    hint="wait for that process, or stop it",
                ) from error
        try:
            yield
        finally:
            lock.release()
