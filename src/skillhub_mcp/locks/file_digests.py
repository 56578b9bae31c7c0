"""The digests of a skill's files, kept by what the system says of each file: unchanged, it costs a look and no hash.

Size, mtime, ctime and inode together tell a change: nobody but an administrator sets a ctime. A file that was written
within the last moments is not kept, since another write in the same tick of the clock would leave no trace.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skillhub_mcp.locks.content_digest import FileDigest

_PIECE = 1 << 20
_TICK_NS = 2_000_000_000
_TO_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class FileState(NamedTuple):
    """What tells that a file was not written since: its size in bytes, times in nanoseconds, inode and mode."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


class KnownDigests:
    """The digests of files that were read before, by path. Safe to use from several threads.

    `hashed` counts the files that were read.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[FileState, FileDigest]] = {}
        self.hashed = 0

    def find(self, path: str, state: FileState) -> FileDigest | None:
        """Return the digest of the file at `path`, if it is still in that state."""
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == state else None

    def keep(self, path: str, state: FileState, digest: FileDigest) -> None:
        """Keep the digest of a file that was read in that state, unless it was written a moment ago."""
        with self._lock:
            self.hashed += 1
            if time.time_ns() - max(state.mtime_ns, state.ctime_ns) > _TICK_NS:
                self._known[path] = (state, digest)


def digests_of(directory: str, known: KnownDigests | None = None) -> Mapping[str, FileDigest]:
    """Return the digest of each regular file below a directory, by path with `/`, dotfiles too.

    What is no regular file does not count, and no link is followed, but one that `directory` itself is. Raises OSError,
    also for a file that is written while it is read.
    """
    kept = KnownDigests() if known is None else known
    return {path: _digest(there, status, kept) for path, there, status in _files(directory, "")}


def states_of(directory: str) -> Mapping[str, FileState]:
    """Return what the system says of each regular file below a directory, by path with `/`. Opens no file.

    Equal before and after something was read, the files were the same between. Raises OSError.
    """
    return {path: _state(status) for path, _, status in _files(directory, "")}


def _files(directory: str, below: str) -> Iterator[tuple[str, str, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, path)
            # Not the entry's own, which on Windows has no inode.
            elif stat.S_ISREG((status := os.lstat(entry.path)).st_mode):
                yield path, entry.path, status


def _digest(path: str, status: os.stat_result, known: KnownDigests) -> FileDigest:
    state = _state(status)
    found = known.find(path, state)
    if found is not None:
        return found
    whole = hashlib.sha256()
    with open(os.open(path, _TO_READ), "rb") as file:
        before = _state(os.fstat(file.fileno()))
        while piece := file.read(_PIECE):
            whole.update(piece)
        after = _state(os.fstat(file.fileno()))
    if not before == after == state:
        raise OSError(0, "it is being written", path)
    digest = FileDigest(whole.hexdigest(), state.size, bool(state.mode & stat.S_IXUSR))
    known.keep(path, state, digest)
    return digest


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
