"""The digest of all files of a skill except Git's own, hidden files and link targets included; approvals name it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator

from skillhub_mcp.errors import SkillUnverifiable

MAX_ENTRIES = 20_000
# Directories in each other; each is one more call on the way down, of which Python has a thousand.
MAX_LEVELS = 128
# Of files beyond these, in the order of their paths, size and times count instead of the bytes.
MAX_BYTES = 64 * 1024 * 1024

_GIT = ".git"
_BYTECODE = "__pycache__"
_CHUNK_BYTES = 1024 * 1024
_TO_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def skill_digest(directory: str, *, bytecode: bool = True) -> str:
    """Return `sha256:` over names, modes and bytes; a copy has the same. Raises SkillUnverifiable."""
    top = os.path.realpath(directory)
    whole = hashlib.sha256()
    room = MAX_BYTES
    try:
        for path, status in _entries(top):
            there = os.path.join(top, path)
            if not bytecode and _is_kept_by_python(there, status):
                continue
            fields = [path.replace(os.sep, "/"), _kind(status)]
            if stat.S_ISLNK(status.st_mode):
                fields.append(os.readlink(there))
            elif stat.S_ISREG(status.st_mode) and status.st_size <= room:
                room -= status.st_size
                fields.append(_content_digest(there))
            elif stat.S_ISREG(status.st_mode):
                fields.append(f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}")
            for field in fields:
                content = os.fsencode(field)
                # With its length, so that no name can pass for the end of one field and the start of another.
                whole.update(f"{len(content)}:".encode() + content)
    except OSError as error:
        reason = f"{os.path.basename(error.filename or top)!r} cannot be read: {error.strerror}"
        raise SkillUnverifiable(os.path.basename(top), reason) from error
    return f"sha256:{whole.hexdigest()}"


def skill_stamp(directory: str) -> str:
    """Return a text that changes whenever `skill_digest` may. Raises as that does."""
    top = os.path.realpath(directory)
    whole = hashlib.sha256()
    for path, status in _entries(top):
        if not stat.S_ISDIR(status.st_mode):
            times = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
            whole.update(f"{status.st_mode} {times}".encode())
        whole.update(b"\0" + os.fsencode(path) + b"\0")
    return whole.hexdigest()


def _entries(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each file, link and directory below `top` by its path. Raises OSError and SkillUnverifiable."""
    for path in sorted(_paths(top), key=os.fsencode):
        yield path, os.lstat(os.path.join(top, path))


def _paths(top: str) -> Iterator[str]:
    seen, below = 0, len(os.path.join(top, ""))
    for place, directories, files in os.walk(top, onerror=_raise):
        if place == top:  # elsewhere a `.git` is not Git's, and could hold anything
            directories[:] = [name for name in directories if name != _GIT or os.path.islink(os.path.join(place, name))]
        if place.count(os.sep, below) >= MAX_LEVELS:
            raise SkillUnverifiable(os.path.basename(top), f"it has more than {MAX_LEVELS} directories in each other")
        for name in (*directories, *files):
            seen += 1
            if seen > MAX_ENTRIES:
                raise SkillUnverifiable(os.path.basename(top), f"it has more than {MAX_ENTRIES:,} files")
            yield os.path.join(place, name)[below:]


def _raise(error: OSError) -> None:
    raise error


def _is_kept_by_python(path: str, status: os.stat_result) -> bool:
    """Whether this is `__pycache__`, or bytecode in it that holds for one time of its source. Raises OSError."""
    if stat.S_ISDIR(status.st_mode):
        return os.path.basename(path) == _BYTECODE
    in_cache = os.path.basename(os.path.dirname(path)) == _BYTECODE and path.endswith(".pyc")
    if not in_cache or not stat.S_ISREG(status.st_mode):
        return False
    with open(os.open(path, _TO_READ), "rb") as file:
        header = file.read(16)
    # Flags: the bytecode of a hash holds also for a source of whose time its author knew nothing (PEP 552).
    return header[4:8] == bytes(4)


def _kind(status: os.stat_result) -> str:
    """Return the type of a file, and those of its permission bits that change what running it does."""
    bits = 0 if stat.S_ISLNK(status.st_mode) or os.name == "nt" else status.st_mode & 0o6111
    return f"{stat.S_IFMT(status.st_mode):o} {bits:o}"


def _content_digest(path: str) -> str:
    found = hashlib.sha256()
    with open(os.open(path, _TO_READ), "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()
