"""Opening files confined to a skill: component by component from the skill's directory, so that no link leads out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillhub_mcp.skills.files.paths import MAX_DEPTH, WITHHELD, WantedFile

# Every link, and every `..` within a link, restarts the walk. Linux itself follows forty links.
_MAX_WALKS = 64
_LEAVES = "leads out of the skill through a link"

NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
TO_DIRECTORY: int = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# O_NONBLOCK: if a FIFO replaces the file after it was checked, opening it does not wait for a writer.
_TO_FILE: int = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
TO_PLAIN_FILE: int = _TO_FILE | NO_LINK
HAS_DESCRIPTORS = bool(NO_LINK) and {os.open, os.stat, os.readlink} <= os.supports_dir_fd


@contextmanager
def open_in_skill(directory: str | Path, wanted: WantedFile) -> Iterator[int]:
    """Yield a descriptor of the requested regular file. Raises PathNotAllowed and SkillFileNotFound."""
    try:
        descriptor = open_confined(os.fspath(directory), wanted)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise wanted.missing("is not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise wanted.missing() from error
    except OSError as error:
        raise wanted.unreadable(error) from error


def open_by_descriptors(directory: str, wanted: WantedFile) -> int:
    """Open the file component by component, resolving links here, so that none leads out. Raises OSError, too."""
    parts = list(wanted.parts)
    root = os.open(directory, TO_DIRECTORY)
    try:
        for _ in range(_MAX_WALKS):
            reached = _walk(root, parts, wanted)
            if isinstance(reached, int):
                return reached
            parts = reached
            if len(parts) > 2 * MAX_DEPTH:
                break
    finally:
        os.close(root)
    raise wanted.missing("leads through too many links or too deep")


def _walk(root: int, parts: list[str], wanted: WantedFile) -> int | list[str]:
    """Walk to the file and return its descriptor, or the components to walk instead after a link or a `..`."""
    here = os.dup(root)
    try:
        for at, name in enumerate(parts):
            if name == "..":
                if at == 0:
                    raise wanted.refused(_LEAVES)
                # The components so far are directories, not links: `..` removes exactly one.
                return parts[: at - 1] + parts[at + 1 :]
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return parts[:at] + _link_parts(os.readlink(name, dir_fd=here), wanted) + parts[at + 1 :]
            if stat.S_ISDIR(status.st_mode):
                there = os.open(name, TO_DIRECTORY | NO_LINK, dir_fd=here)
                os.close(here)
                here = there
            elif at < len(parts) - 1:
                raise wanted.missing()
            elif stat.S_ISREG(status.st_mode):
                return os.open(name, TO_PLAIN_FILE, dir_fd=here)
            else:
                # Not opened: opening a FIFO or a device can have side effects.
                raise wanted.missing("is not a regular file")
    finally:
        os.close(here)
    raise wanted.missing("is a directory")


def _link_parts(target: str, wanted: WantedFile) -> list[str]:
    if target.startswith("/"):
        raise wanted.refused(_LEAVES)
    parts = [part for part in target.split("/") if part not in ("", ".")]
    if not wanted.serve_dotfiles and any(part.startswith(".") and part != ".." for part in parts):
        raise wanted.refused(WITHHELD)
    return parts


def open_by_resolved_path(directory: str, wanted: WantedFile) -> int:
    """Open the file by its resolved path, on Windows: a directory may be replaced between check and opening."""
    root = os.path.realpath(directory)
    target = Path(os.path.realpath(os.path.join(root, *wanted.parts)))
    if not target.is_relative_to(root):
        raise wanted.refused(_LEAVES)
    if not wanted.serve_dotfiles and any(part.startswith(".") for part in target.relative_to(root).parts):
        raise wanted.refused(WITHHELD)
    mode = os.stat(target, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        raise wanted.missing("leads through too many links or too deep")
    if stat.S_ISDIR(mode):
        raise wanted.missing("is a directory")
    if not stat.S_ISREG(mode):
        raise wanted.missing("is not a regular file")
    return os.open(target, TO_PLAIN_FILE)


open_confined = open_by_descriptors if HAS_DESCRIPTORS else open_by_resolved_path
