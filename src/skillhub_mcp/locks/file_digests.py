"""The digests of a skill's files. A file is hashed again only if its size, mtime, ctime, inode or mode changed.

Only an administrator sets a ctime. A file that was written in the last two seconds is not remembered: another write in
the same tick of the clock would not show.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skillhub_mcp.locks.content_digest import FileDigest, content_digest, regular_of
from skillhub_mcp.skills.digest import MAX_LEVELS

_PIECE = 1 << 20
_TICK_NS = 2_000_000_000
_BEING_WRITTEN = "it is being written"
_TO_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class FileState(NamedTuple):
    """What shows that a file was not written: its size in bytes, times in nanoseconds, inode and mode."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


class KnownDigests:
    """The digests of files that were read before, by the directory of their skill; `hashed` counts them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Mapping[str, tuple[FileState, FileDigest]]] = {}
        self.hashed = 0

    def of(self, directory: str) -> Mapping[str, tuple[FileState, FileDigest]]:
        """Return the files of the skill in `directory` as they were read, by path with `/`."""
        return self._known.get(directory, {})

    def keep(self, directory: str, files: Mapping[str, tuple[FileState, FileDigest]], *, hashed: int) -> None:
        """Remember the files of a skill, of which so many were `hashed`."""
        with self._lock:
            self.hashed += hashed
            self._known[directory] = files


def digests_of(directory: str, known: KnownDigests | None = None) -> Mapping[str, FileDigest]:
    """Return the digest of each file below a directory, by path with `/`, dotfiles too. No link below it is followed.

    Raises OSError, also for a file that is written while it is read.
    """
    known = KnownDigests() if known is None else known
    before, began = known.of(directory), time.time_ns()
    files: dict[str, tuple[FileState, FileDigest]] = {}
    hashed = 0
    try:
        for path, there, status in _files(directory, ""):
            state = _state(status)
            found = before.get(path)
            if found is None or found[0] != state:
                found = state, _digest(there, state)
                hashed += 1
            files[path] = found
    finally:
        settled = {path: one for path, one in files.items() if began - max(one[0][1:3]) > _TICK_NS}
        known.keep(directory, settled, hashed=hashed)
    return {path: digest for path, (_, digest) in files.items()}


def same_but_line_ends(directory: str, files: Mapping[str, FileDigest], digest: str) -> bool:
    """Whether the files of a directory have a content digest once all texts end lines with LF, or all with CR LF.

    Git converts line ends so unless `.gitattributes` prevents it; a text has no NUL. Raises OSError.
    """
    contents: dict[str, bytes] = {}
    for path in regular_of(files):
        with open(os.open(os.path.join(directory, *path.split("/")), _TO_READ), "rb") as file:
            contents[path] = file.read()
    texts = {path: content.replace(b"\r\n", b"\n") for path, content in contents.items() if b"\0" not in content}
    for end in (b"\n", b"\r\n"):
        converted = {path: text.replace(b"\n", end) for path, text in texts.items()}
        hashed = {path: hashlib.sha256(content).hexdigest() for path, content in (contents | converted).items()}
        if content_digest(hashed) == digest:
            return True
    return False


def states_of(directory: str) -> Mapping[str, FileState]:
    """Return the state of each file below a directory, by path with `/`, links too. Raises OSError."""
    return {path: _state(status) for path, _, status in _files(directory, "")}


def file_state(path: str) -> FileState | None:
    """Return the state of one file, or None if there is none."""
    try:
        return _state(os.stat(path))
    except OSError:
        return None


def _files(directory: str, below: str) -> Iterator[tuple[str, str, os.stat_result]]:
    if below.count("/") >= MAX_LEVELS:
        raise OSError(errno.ENAMETOOLONG, f"it is more than {MAX_LEVELS} directories deep", directory)
    with os.scandir(directory) as entries:
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, path)
            else:
                # Not the entry's own, which on Windows has no inode.
                yield path, entry.path, os.lstat(entry.path)


def _digest(path: str, state: FileState) -> FileDigest:
    if stat.S_ISREG(state.mode):
        return _hashed(path, state)
    kind = "FIFO" if stat.S_ISFIFO(state.mode) else "socket" if stat.S_ISSOCK(state.mode) else "device"
    if stat.S_ISLNK(state.mode):
        target = os.readlink(path)
        kind = "-> " + (target.removeprefix("\\\\?\\").replace("\\", "/") if os.name == "nt" else target)
        if _state(os.lstat(path)) != state:
            raise OSError(0, _BEING_WRITTEN, path)
    return FileDigest("", 0, executable=False, irregular=kind)


def _hashed(path: str, state: FileState) -> FileDigest:
    whole = hashlib.sha256()
    with open(os.open(path, _TO_READ), "rb") as file:
        before = _state(os.fstat(file.fileno()))
        while piece := file.read(_PIECE):
            whole.update(piece)
        after = _state(os.fstat(file.fileno()))
    if not before == after == state:
        raise OSError(0, _BEING_WRITTEN, path)
    return FileDigest(whole.hexdigest(), state.size, bool(state.mode & stat.S_IXUSR))


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
