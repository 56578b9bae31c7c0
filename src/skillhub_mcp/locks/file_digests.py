"""The digests of a skill's files, and comparing them with the lock.

A file is hashed again only if its size, mtime, ctime, inode or mode changed. Only an administrator sets a
ctime. A file that was written in the last two seconds is not remembered: another write in the same tick would not show.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple

from skillhub_mcp.locks.lock_file import LockedByHub
from skillhub_mcp.skills.digest import MAX_LEVELS
from skillhub_mcp.skills.files.confinement import TO_PLAIN_FILE


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The SHA-256 of a file, its size in bytes, and whether it is executable.

    A path that is not a regular file has only `irregular`: `-> ` with the target of a link, `FIFO`, `socket` or
    `device`.
    """

    sha256: str
    size: int
    executable: bool
    irregular: str = ""


def content_digest(files: Mapping[str, str]) -> str:
    """Return `sha256:` and 64 hexadecimal digits for the files of a skill: SHA-256 in hexadecimal by path with `/`."""
    lines = sorted((path.encode("utf-8", "surrogateescape"), digest.encode()) for path, digest in files.items())
    whole = hashlib.sha256(b"".join(path + b"\0" + digest + b"\n" for path, digest in lines))
    return f"sha256:{whole.hexdigest()}"


def digest_of(files: Mapping[str, FileDigest]) -> str:
    """Return the content digest of files by path."""
    return content_digest({path: one.sha256 for path, one in files.items() if not one.irregular})


def regular_of(files: Mapping[str, FileDigest]) -> Mapping[str, FileDigest]:
    """Return the regular files: all that a source gives, and that a digest counts."""
    return {path: one for path, one in files.items() if not one.irregular}


def irregular_of(files: Mapping[str, FileDigest]) -> Mapping[str, str]:
    """Return what each path is that is no regular file."""
    return {path: one.irregular for path, one in sorted(files.items()) if one.irregular}


def executables_of(files: Mapping[str, FileDigest]) -> tuple[str, ...]:
    """Return the paths of the files that may be run, sorted."""
    return tuple(sorted(path for path, one in files.items() if one.executable))


_PIECE = 1 << 20
_TICK_NS = 2_000_000_000


class FileState(NamedTuple):
    """What shows that a file was not written: its size in bytes, times in nanoseconds, inode and mode."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


# The files that were read before, by the directory of their skill and by path with `/`.
KnownDigests = dict[str, Mapping[str, tuple[FileState, FileDigest]]]


def digests_of(directory: str, known: KnownDigests | None = None) -> Mapping[str, FileDigest]:
    """Return the digest of each file below a directory, by path with `/`, dotfiles too. No link below it is followed.

    `known` saves hashing files that did not change, and is updated. Raises OSError, also for a file that is written
    while it is read.
    """
    before = {} if known is None else known.get(directory, {})
    began = time.time_ns()
    files: dict[str, tuple[FileState, FileDigest]] = {}
    for path, there, status in files_below(directory):
        state = _state(status)
        found = before.get(path)
        files[path] = found if found is not None and found[0] == state else (state, _digest(there, state))
    if known is not None:
        known[directory] = {path: one for path, one in files.items() if began - max(one[0][1:3]) > _TICK_NS}
    return {path: digest for path, (_, digest) in files.items()}


def same_but_line_ends(directory: str, files: Mapping[str, FileDigest], digest: str) -> bool:
    """Whether the files of a directory have a content digest once all texts end lines with LF, or all with CR LF.

    Git converts line ends so unless `.gitattributes` prevents it; a text has no NUL. Raises OSError.
    """
    contents: dict[str, bytes] = {}
    for path in regular_of(files):
        with open(os.open(os.path.join(directory, *path.split("/")), TO_PLAIN_FILE), "rb") as file:
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
    return {path: _state(status) for path, _, status in files_below(directory)}


def file_state(path: str) -> FileState | None:
    """Return the state of one file, or None if there is none."""
    try:
        return _state(os.stat(path))
    except OSError:
        return None


def files_below(directory: str, below: str = "") -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield each file below a directory: its path with `/`, its place, and its status, of a link its own."""
    if below.count("/") >= MAX_LEVELS:
        raise OSError(errno.ENAMETOOLONG, f"it is more than {MAX_LEVELS} directories deep", directory)
    with os.scandir(directory) as entries:
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path, path)
            else:
                # Not the entry's own, which on Windows has no inode.
                yield path, entry.path, os.lstat(entry.path)


def _digest(path: str, state: FileState) -> FileDigest:
    """Return the digest of a path. Raises OSError, also if it is being written."""
    if stat.S_ISREG(state.mode):
        whole = hashlib.sha256()
        with open(os.open(path, TO_PLAIN_FILE), "rb") as file:
            while piece := file.read(_PIECE):
                whole.update(piece)
            if _state(os.fstat(file.fileno())) != state:
                raise OSError(0, "it is being written", path)
        return FileDigest(whole.hexdigest(), state.size, bool(state.mode & stat.S_IXUSR))
    kind = "FIFO" if stat.S_ISFIFO(state.mode) else "socket" if stat.S_ISSOCK(state.mode) else "device"
    if stat.S_ISLNK(state.mode):
        target = os.readlink(path)
        kind = "-> " + (target.removeprefix("\\\\?\\").replace("\\", "/") if os.name == "nt" else target)
    return FileDigest("", 0, executable=False, irregular=kind)


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


class LockState(str, Enum):
    """Whether the files are those that were locked; unlocked, if no lock has a digest of the skill."""

    UNCHANGED = "unchanged"
    EDITED = "edited"
    UNLOCKED = "unlocked"


@dataclass(frozen=True, slots=True)
class Differences:
    """The paths of a skill that are not as they were locked.

    A lock has one digest for all regular files: if they differ, `unknown` is set, since nothing says which. `irregular`
    says what a path is or was that is not a regular file. `line_ends` only, as git makes them, are no difference.
    """

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    unknown: bool = False
    irregular: Mapping[str, str] = field(default_factory=dict)
    line_ends: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.missing or self.modes or self.unknown)

    @property
    def first(self) -> str:
        """The path that an error names; empty if none is known."""
        return next(iter((*self.changed, *self.missing, *self.added, *self.modes)), "")

    def shown(self, path: str) -> str:
        """Return one of the paths, with what it is if that is not a regular file."""
        return f"{path} ({self.irregular[path]})" if path in self.irregular else path


NO_DIFFERENCES = Differences()


def differences(
    ours: LockedByHub,
    files: Mapping[str, FileDigest],
    *,
    modes: bool = True,
    same_but_line_ends: Callable[[], bool] = lambda: False,
) -> Differences:
    """Return what differs between the files of a skill and its entry in the lock.

    Without `modes`, executable bits are not compared. `same_but_line_ends` is called if the digest differs.
    """
    is_same = digest_of(files) == ours.digest
    line_ends = not is_same and same_but_line_ends()
    now, regular = irregular_of(files), regular_of(files)
    either = {**ours.irregular, **now}
    turned = {path for path, one in regular.items() if one.executable != (path in ours.executable)}
    return Differences(
        changed=tuple(sorted(path for path in ours.irregular.keys() & now.keys() if ours.irregular[path] != now[path])),
        added=tuple(sorted(now.keys() - ours.irregular.keys())),
        missing=tuple(sorted(ours.irregular.keys() - now.keys())),
        modes=tuple(sorted(turned)) if modes and (is_same or line_ends) else (),
        unknown=not (is_same or line_ends),
        irregular={path: either[path] for path in sorted(either) if ours.irregular.get(path) != now.get(path)},
        line_ends=line_ends,
    )


_LEFT_OUT = frozenset({".git", "node_modules"})
# ICU's order of what is not ignored, a letter's cases side by side.
_ORDER = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_RANK = {character: rank for rank, character in enumerate(_ORDER)}


def npx_order(paths: Iterable[str]) -> tuple[str, ...] | None:
    """Return the paths of files in the order in which they are hashed; None where it is not known for one of them."""
    found = list(paths)
    if not all(path.isascii() and _RANK.keys() >= set(path.lower()) for path in found):
        return None
    return tuple(sorted(found, key=_key))


def computed_hash(directory: str) -> str | None:
    """Return SHA-256 in hexadecimal over the files of an installed skill; None where the order is not known.

    Files behind links do not count, nor do those in `.git` and `node_modules`. Raises OSError.
    """
    found = {path: place for path, place, status in files_below(directory) if stat.S_ISREG(status.st_mode)}

    def read(path: str) -> Iterator[bytes]:
        with open(found[path], "rb") as file:
            yield from iter(partial(file.read, _PIECE), b"")

    return hash_of((path for path in found if _LEFT_OUT.isdisjoint(path.split("/")[:-1])), read)


def hash_of(paths: Iterable[str], read: Callable[[str], Iterable[bytes]]) -> str | None:
    """Return the same for files that `read` yields the bytes of. Raises what it raises."""
    order = npx_order(paths)
    if order is None:
        return None
    whole = hashlib.sha256()
    for path in order:
        whole.update(path.encode())
        for piece in read(path):
            whole.update(piece)
    return whole.hexdigest()


def _key(path: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    # The case of letters decides only between paths that are otherwise the same.
    return tuple(_RANK[character] for character in path.lower()), tuple(character.isupper() for character in path)
