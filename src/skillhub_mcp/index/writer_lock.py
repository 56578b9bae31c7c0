"""The locks of an index: one process writes at a time, and one embeds. Their files are private.

The operating system releases the lock of a dead process, so a stale lock cannot block.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from skillhub_mcp._util.file_modes import make_private_directory, missing_feature, private_mode
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.index_files import IndexFiles
from skillhub_mcp.index.lance import IN_MEMORY, damaged

if TYPE_CHECKING:
    from filelock import AcquireReturnProxy

LOCK_FILE = "index.lock"
# Several servers of one index would each pay the provider for the same texts.
EMBEDDING_LOCK = ".embedding.lock"
_POLL_SECONDS = 0.2


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
    """The locks of the index at `db_path`; an index in memory needs none.

    `timeout` is how many seconds to wait for another writer. While waiting, `is_cancelled` is called and ends it.
    """

    def __init__(self, db_path: str, files: IndexFiles, *, timeout: float, is_cancelled: Callable[[], bool]) -> None:
        self._db_path = db_path
        self._files = files
        self._timeout = timeout
        self._is_cancelled = is_cancelled
        self._in_memory = db_path == IN_MEMORY

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the writer's lock. Raises IndexUnavailable, also for an OSError of the work under it."""
        from filelock import Timeout

        try:
            if not self._in_memory:
                make_private_directory(self._files.directory)
            with self._acquired(LOCK_FILE, self._timeout):
                yield
        except Timeout as error:
            if self._is_cancelled():
                raise IndexUnavailable("Indexing was stopped", hint="call again") from error
            raise IndexUnavailable(
                f"Another process has been writing the index at {self._db_path} for {self._timeout:g} seconds",
                hint="wait for that process, or stop it",
            ) from error
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._db_path, str(damaged(error))) from error

    def at_once(self) -> contextlib.AbstractContextManager[object]:
        """Hold the writer's lock. Raises OSError if another process holds it."""
        return self._acquired(LOCK_FILE, 0)

    @contextlib.contextmanager
    def embedding_turn(self) -> Iterator[bool]:
        """Hold the lock for embedding if no other process does; yield whether. Raises IndexUnavailable."""
        from filelock import Timeout

        try:
            lock = self._acquired(os.path.basename(self._files.place().state_path) + EMBEDDING_LOCK, 0)
        except Timeout:
            yield False
            return
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._db_path, str(damaged(error))) from error
        with lock:
            yield True

    def _acquired(self, name: str, timeout: float) -> AcquireReturnProxy | contextlib.nullcontext[None]:
        from filelock import FileLock

        if self._in_memory:
            return contextlib.nullcontext()
        # A process that can open the file can hold the lock, and keep every writer waiting.
        mode = private_mode(self._files.directory) or 0o660
        lock = FileLock(os.path.join(self._files.directory, name), mode=mode)
        return lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS, cancel_check=self._is_cancelled)
