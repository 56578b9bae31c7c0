"""Who writes an index now, one process at a time, and one that embeds for it; what lies there is private.

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
# Who holds it embeds: several servers of one index would each pay the provider for the same texts.
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

    `identity` returns whose it is now: a link in the path may point elsewhere the next time. `timeout` is how many
    seconds to wait for another writer, and `check` is called while waiting, and ends it by raising.
    """

    def __init__(
        self, db_path: str, identity: Callable[[], IndexFiles], *, timeout: float, check: Callable[[], None]
    ) -> None:
        self._db_path = db_path
        self._identity = identity
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
            make_private_directory(self._identity().directory)
            lock = self._lock()
            self._acquire(lock)
            try:
                yield
            finally:
                lock.release()
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._db_path, str(damaged(error))) from error

    def at_once(self) -> BaseFileLock:
        """Return the writer's lock for who does not wait: it raises OSError where another process holds it."""
        return self._lock(timeout=0)

    @contextlib.contextmanager
    def embedding_turn(self) -> Iterator[bool]:
        """Hold the lock of whoever embeds for this index, if nobody else does. Raises IndexUnavailable."""
        if self._in_memory:
            yield True
            return
        from filelock import FileLock, Timeout

        files = self._identity().find()
        if files is None:
            yield False
            return
        lock = FileLock(files.state_path + EMBEDDING_LOCK, mode=self._mode)
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

    @property
    def _mode(self) -> int:
        # Who can open a lock's file can hold it, and keep every writer waiting.
        return private_mode(self._identity().directory) or 0o660

    def _lock(self, timeout: float = -1) -> BaseFileLock:
        from filelock import FileLock

        return FileLock(os.path.join(self._identity().directory, LOCK_FILE), timeout=timeout, mode=self._mode)

    def _acquire(self, lock: BaseFileLock) -> None:
        from filelock import Timeout

        deadline = time.monotonic() + self._timeout
        while True:
            self._check()
            try:
                # In steps, so that a closing server does not wait for another writer.
                lock.acquire(timeout=max(0.0, min(_STEP_SECONDS, deadline - time.monotonic())))
            except Timeout as error:
                if time.monotonic() < deadline:
                    self._raise_if_not_makeable(lock.lock_file)
                    continue
                raise IndexUnavailable(
                    f"Another process has been writing the index at {self._db_path} for {self._timeout:g} seconds",
                    hint="wait for that process, or stop it",
                ) from error
            return

    def _raise_if_not_makeable(self, path: str) -> None:
        """Raise FileNotFoundError where no file can be made at `path`, as in /proc: to FileLock it is contention."""
        if not os.path.lexists(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, self._mode))
