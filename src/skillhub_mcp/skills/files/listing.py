"""The list of a skill's readable files: bounded, sorted, and explicit about whether it is complete."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from skillhub_mcp.errors import PathNotAllowed, SkillFileNotFound
from skillhub_mcp.skills.files.confinement import HAS_DESCRIPTORS, NO_LINK, TO_DIRECTORY, open_in_skill
from skillhub_mcp.skills.files.paths import MAX_DEPTH, WantedFile, path_problem
from skillhub_mcp.skills.names import near_names

_HINTED_FILES = 5
_MAX_LISTED_ENTRIES = 10_000
_NOT_LISTED = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file's path in the skill, with slashes, and its size. An unchanged `stamp` means unchanged bytes."""

    path: str
    size: int
    stamp: tuple[int, int, int] = field(default=(0, 0, 0), compare=False)


def list_files(
    directory: str | Path, *, serve_dotfiles: bool, max_files: int = 512
) -> tuple[tuple[FileEntry, ...], bool]:
    """List the files that `read_file` serves, those near the top first, and whether there are more."""
    top = os.fspath(directory)
    found: list[FileEntry] = []
    waiting: deque[tuple[str, ...]] = deque([()])
    budget = _MAX_LISTED_ENTRIES
    more = False
    while waiting and budget > 0 and len(found) <= max_files:
        parts = waiting.popleft()
        try:
            files, directories, seen = _list_directory(top, parts, budget, serve_dotfiles)
        except OSError:
            more = True
            continue
        budget -= max(1, seen)
        found += files
        if len(parts) < MAX_DEPTH - 1:
            waiting.extend((*parts, name) for name in directories)
        else:
            more = more or bool(directories)
    more = more or bool(waiting) or budget <= 0 or len(found) > max_files
    return tuple(sorted(found[:max_files], key=lambda entry: entry.path)), more


def _list_directory(
    top: str, parts: tuple[str, ...], budget: int, serve_dotfiles: bool
) -> tuple[list[FileEntry], list[str], int]:
    """Return the files and the names of the subdirectories of one directory, and the count of entries read."""
    files: list[FileEntry] = []
    directories: list[str] = []
    seen = 0
    with _directory(top, parts) as place, os.scandir(place) as entries:
        for entry in itertools.islice(entries, budget):
            seen += 1
            name = entry.name
            path = "/".join((*parts, name))
            if name in _NOT_LISTED or "\\" in name or path_problem(path, serve_dotfiles=serve_dotfiles):
                continue
            if entry.is_dir(follow_symlinks=False):
                directories.append(name)
            elif (status := _status(entry, top, (*parts, name), serve_dotfiles)) is not None:
                files.append(FileEntry(path, status.st_size, (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)))
    return sorted(files, key=lambda file: file.path), sorted(directories), seen


@contextmanager
def _directory(top: str, parts: tuple[str, ...]) -> Iterator[int | str]:
    if not HAS_DESCRIPTORS:
        place = os.path.join(os.path.realpath(top), *parts)
        if os.path.normcase(os.path.realpath(place)) != os.path.normcase(place):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), place)  # a junction, most likely
        yield place
        return
    here = os.open(top, TO_DIRECTORY)
    try:
        for name in parts:
            there = os.open(name, TO_DIRECTORY | NO_LINK, dir_fd=here)
            os.close(here)
            here = there
        yield here
    finally:
        os.close(here)


def _status(entry: os.DirEntry[str], top: str, parts: tuple[str, ...], serve_dotfiles: bool) -> os.stat_result | None:
    """Return the status of the file that `read_file` would read for this entry, or None if it would refuse."""
    try:
        if not entry.is_symlink():
            status = entry.stat(follow_symlinks=False)
            return status if stat.S_ISREG(status.st_mode) else None
        wanted = WantedFile(skill="", path=entry.name, parts=parts, serve_dotfiles=serve_dotfiles)
        with open_in_skill(top, wanted) as descriptor:
            return os.fstat(descriptor)
    except (OSError, PathNotAllowed, SkillFileNotFound):
        return None


def files_hint(directory: str | Path, wanted: WantedFile) -> str | None:
    """Return a hint that names the files the caller may have meant, or None for a skill without files."""
    paths = [entry.path for entry in list_files(directory, serve_dotfiles=wanted.serve_dotfiles)[0]]
    requested = "/".join(wanted.parts)
    inside = [path for path in paths if not requested or path.startswith(f"{requested}/")]
    if inside:
        return f"files in it: {_quoted(inside)}"
    near = near_names(requested, paths)
    if near:
        return f"did you mean {_quoted(near)}?"
    return f"files of the skill: {_quoted(paths)}" if paths else None


def _quoted(paths: list[str]) -> str:
    rest = ", …" if len(paths) > _HINTED_FILES else ""
    return ", ".join(repr(path) for path in paths[:_HINTED_FILES]) + rest
