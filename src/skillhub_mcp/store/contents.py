"""The files of a skill as they are published: read within its directory and within bounds. What is left out is told."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from skillhub_mcp.errors import PathNotAllowed, SkillFileNotFound
from skillhub_mcp.skills.files.confinement import open_in_skill
from skillhub_mcp.skills.files.paths import WantedFile, path_problem

_READ_BYTES = 1024 * 1024
_NEVER = {
    ".git": "is Git's own directory",
    "__pycache__": "is made by Python",
    "node_modules": "is installed, not written",
}


@dataclass(frozen=True, slots=True)
class ContentLimits:
    """How much of one skill is published: files, bytes of a file, bytes of all; and whether its dotfiles are."""

    files: int = 512
    file_bytes: int = 64 * 1024 * 1024
    bytes: int = 256 * 1024 * 1024
    dotfiles: bool = False


@dataclass(frozen=True, slots=True)
class FileToStore:
    """A file that was read: its path relative to the skill, its bytes, and whether its owner may execute it."""

    path: str
    content: bytes
    executable: bool


@dataclass(frozen=True, slots=True)
class NotPublished:
    """What is not published and why: a whole skill, or with a `path`, one of its files or directories."""

    skill: str
    path: str
    reason: str


def contents_of(directory: str, *, name: str, limits: ContentLimits) -> Iterator[FileToStore | NotPublished]:
    """Yield the files of the skill in `directory`, those nearest to the top first, and what is left out.

    Links are followed within the skill, not out of it, and not to directories.
    """
    left = limits.bytes
    files = 0
    for path, why in _walk(directory, limits):
        reason = f"is beyond {limits.files:,} files" if why is None and files == limits.files else why
        if reason is not None:
            yield NotPublished(name, path, reason)
            continue
        found = _read(directory, path, name, min(limits.file_bytes, left), limits)
        if isinstance(found, FileToStore):
            files += 1
            left -= len(found.content)
        yield found


def _walk(directory: str, limits: ContentLimits) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each file, with None, and of whatever is left out, with the reason."""
    waiting = deque([""])
    # A directory of a million files is not walked to its end to say so.
    entries = 4 * limits.files
    while waiting:
        below = waiting.popleft()
        try:
            with os.scandir(os.path.join(directory, below) if below else directory) as found:
                names = sorted(((entry.name, _is_directory(entry)) for entry in found), key=lambda one: one[0])
        except OSError as error:
            yield below or ".", f"cannot be read ({error.strerror})"
            continue
        for name, is_directory in names:
            path = f"{below}/{name}" if below else name
            entries -= 1
            if entries < 0:
                yield path, f"is beyond {4 * limits.files:,} files and directories, and so is what follows"
                return
            reason = _NEVER.get(name) if is_directory else None
            reason = reason or path_problem(path, serve_dotfiles=limits.dotfiles)
            if "\\" in name:
                reason = "has a name that no path can have everywhere"
            if reason is None and is_directory:
                waiting.append(path)
            else:
                yield path, reason


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _read(directory: str, path: str, name: str, most: int, limits: ContentLimits) -> FileToStore | NotPublished:
    wanted = WantedFile(skill=name, path=path, parts=tuple(path.split("/")), serve_dotfiles=limits.dotfiles)
    try:
        with open_in_skill(directory, wanted, None) as descriptor:
            status = os.fstat(descriptor)
            if status.st_size > most:
                return NotPublished(name, path, f"has {status.st_size:,} bytes, and there is room for {most:,}")
            chunks, size = [], 0
            while size <= most and (chunk := os.read(descriptor, _READ_BYTES)):
                chunks.append(chunk)
                size += len(chunk)
    except PathNotAllowed as error:
        return NotPublished(name, path, error.reason)
    except SkillFileNotFound as error:
        return NotPublished(name, path, error.reason)
    if size > most:
        return NotPublished(name, path, "grew while it was read")
    return FileToStore(path, b"".join(chunks), bool(status.st_mode & stat.S_IXUSR))
