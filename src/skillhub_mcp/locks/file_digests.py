"""The digests of a skill's files, and comparing them with the lock."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import chain

from skillhub_mcp.locks.lock_file import LockedByHub
from skillhub_mcp.skills.digest import MAX_LEVELS
from skillhub_mcp.skills.files.confinement import TO_PLAIN_FILE

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The SHA-256 of a file in hexadecimal, its size in bytes, and whether it is executable.

    The `digest` of a path that is not a regular file says so: `link` with the SHA-256 of its target, or `special`.
    """

    digest: str
    size: int
    executable: bool


def content_digest(files: Mapping[str, str]) -> str:
    """Return `sha256:` and 64 hexadecimal digits for the files of a skill: the digest of each by its path with `/`."""
    lines = sorted((path.encode("utf-8", "surrogateescape"), digest.encode()) for path, digest in files.items())
    whole = _sha256(path + b"\0" + digest + b"\n" for path, digest in lines)
    return f"sha256:{whole}"


def digest_of(files: Mapping[str, FileDigest]) -> str:
    """Return the content digest of files by path."""
    return content_digest({path: one.digest for path, one in files.items()})


def executables_of(files: Mapping[str, FileDigest]) -> tuple[str, ...]:
    """Return the paths of the files that may be run, sorted."""
    return tuple(sorted(path for path, one in files.items() if one.executable))


def digests_of(directory: str) -> Mapping[str, FileDigest]:
    """Return the digest of each file below a directory, by path with `/`, dotfiles too. No link below it is followed.

    Raises OSError.
    """
    return {path: _digest(place, status) for path, place, status in files_below(directory)}


def same_but_line_ends(directory: str, files: Mapping[str, FileDigest], digest: str) -> bool:
    """Whether the `files` of a directory have a content digest once all texts end lines with LF, or all with CR LF.

    Git converts line ends so unless `.gitattributes` prevents it; a text has no NUL. Raises OSError.
    """
    digests = {path: one.digest for path, one in files.items()}
    texts: dict[str, bytes] = {}
    for path in files:
        place = os.path.join(directory, *path.split("/"))
        if stat.S_ISREG(os.lstat(place).st_mode):
            with open(os.open(place, TO_PLAIN_FILE), "rb") as file:
                content = file.read()
            if b"\0" not in content:
                texts[path] = content.replace(b"\r\n", b"\n")
    for end in (b"\n", b"\r\n"):
        converted = {path: _sha256([text.replace(b"\n", end)]) for path, text in texts.items()}
        if content_digest(digests | converted) == digest:
            return True
    return False


# What shows that a file was not written: its size in bytes, mtime and ctime in nanoseconds, inode and mode. Only an
# administrator sets a ctime.
FileState = tuple[int, int, int, int, int]


def states_of(directory: str) -> Mapping[str, FileState]:
    """Return the state of each file below a directory, by path with `/`, links too. Raises OSError."""
    return {path: _state(status) for path, _, status in files_below(directory)}


def file_state(path: str) -> FileState | None:
    """Return the state of one file, or None if there is none."""
    try:
        return _state(os.stat(path))
    except OSError:
        return None


def _state(status: os.stat_result) -> FileState:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode


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


def _digest(path: str, status: os.stat_result) -> FileDigest:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        with open(os.open(path, TO_PLAIN_FILE), "rb") as file:
            digest = _sha256(iter(partial(file.read, _PIECE), b""))
        return FileDigest(digest, status.st_size, bool(mode & stat.S_IXUSR))
    if not stat.S_ISLNK(mode):
        return FileDigest("special", 0, executable=False)
    target = os.readlink(path)
    if os.name == "nt":
        target = target.removeprefix("\\\\?\\").replace("\\", "/")
    return FileDigest(f"link {_sha256([os.fsencode(target)])}", 0, executable=False)


def _sha256(pieces: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return whole.hexdigest()


class LockState(str, Enum):
    """Whether the files are those that were locked; unlocked, if no lock has a digest of the skill."""

    UNCHANGED = "unchanged"
    EDITED = "edited"
    UNLOCKED = "unlocked"


@dataclass(frozen=True, slots=True)
class Differences:
    """How a skill differs from its entry in the lock.

    A lock has one digest for all files, so with `files_differ` nothing says which. `modes` are the paths whose
    executable bit differs. `line_ends` only, as git makes them, are no difference.
    """

    files_differ: bool = False
    modes: tuple[str, ...] = ()
    line_ends: bool = False

    def __bool__(self) -> bool:
        return self.files_differ or bool(self.modes)

    @property
    def first(self) -> str:
        """The path that an error names; empty if none is known."""
        return self.modes[0] if self.modes else ""


NO_DIFFERENCES = Differences()


def differences(
    ours: LockedByHub, files: Mapping[str, FileDigest], directory: str = "", *, modes: bool = os.name != "nt"
) -> Differences:
    """Return what differs between the files of a skill and its entry in the lock.

    With the `directory` of the files, other line ends are no difference. Without `modes`, executable bits are not
    compared. Raises OSError.
    """
    line_ends = False
    if digest_of(files) != ours.digest:
        line_ends = bool(directory) and same_but_line_ends(directory, files, ours.digest)
        if not line_ends:
            return Differences(files_differ=True)
    turned = {*executables_of(files)} ^ {*ours.executable} if modes else ()
    return Differences(modes=tuple(sorted(turned)), line_ends=line_ends)


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
    return _sha256(piece for path in order for piece in chain([path.encode()], read(path)))


def _key(path: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    # The case of letters decides only between paths that are otherwise the same.
    return tuple(_RANK[character] for character in path.lower()), tuple(character.isupper() for character in path)
