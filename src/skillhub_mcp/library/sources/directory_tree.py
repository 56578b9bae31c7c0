"""A directory of this machine as a tree, walked and read by descriptors: a link that appears later is not followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import partial

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.bounds import BOUNDS, Bounds
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.files.confinement import HAS_DESCRIPTORS, NO_LINK, TO_DIRECTORY, TO_PLAIN_FILE

# Far more than a path in a skill may have; each level keeps a descriptor open during the walk.
_MOST_DEPTH = 64
_GIT = ".git"
_PIECE = 64 * 1024

_Stamp = tuple[int, int, int, int]


class DirectoryTree:
    """The files of a directory, which has no commit and no ids. Of `.git` there is one entry of the kind OTHER.

    A link is an entry; only `path` itself may be one. A directory that cannot be read or lies too deep is of the kind
    OTHER, so that it refuses the skill that it is in and no other.
    """

    def __init__(self, path: str, bounds: Bounds = BOUNDS) -> None:
        """Walk the directory. Raises SourceUnreachable, and ArchiveRefused for one with too many entries."""
        self.commit = ""
        self._path = path
        self._stamps: dict[str, _Stamp] = {}
        self._top = -1
        try:
            if HAS_DESCRIPTORS:
                self._top = os.open(path, TO_DIRECTORY)
            else:
                os.listdir(path)
            self.entries: Sequence[TreeEntry] = in_order(self._walk(bounds.source_entries))
        except OSError as error:
            self.close()
            reason = f"cannot be read: {error.strerror or type(error).__name__}"
            hint = "check that it exists and that you may read it"
            raise SourceUnreachable(path, reason, hint=hint) from error
        except BaseException:
            self.close()
            raise

    def tree_id(self, path: str) -> str:
        """Return nothing: a directory has no ids."""
        del path
        return ""

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises SourceUnreachable if it changed since the walk."""
        if path not in self._stamps:
            raise SourceUnreachable(self._path, f"has no file {path!r}")
        changed = SourceUnreachable(self._path, f"has a file {path!r} that changed while it was read", hint="try again")
        try:
            with open(self._open(path), "rb") as file:
                if _stamp(os.fstat(file.fileno())) != self._stamps[path]:
                    raise changed
                yield from iter(partial(file.read, _PIECE), b"")
                if _stamp(os.fstat(file.fileno())) != self._stamps[path]:
                    raise changed
        except PermissionError as error:
            raise SourceUnreachable(self._path, f"has a file {path!r} that cannot be read: {error.strerror}") from error
        except OSError as error:
            # The system refuses a link in its place.
            raise changed from error

    def close(self) -> None:
        """Close the directory."""
        if self._top >= 0:
            os.close(self._top)
            self._top = -1

    def _open(self, path: str) -> int:
        """Open a file component by component; none of them may be a link. Raises OSError."""
        *directories, last = path.split("/")
        if not HAS_DESCRIPTORS:
            return os.open(os.path.join(os.path.realpath(self._path), *directories, last), TO_PLAIN_FILE)
        here = os.dup(self._top)
        try:
            for directory in directories:
                there = os.open(directory, TO_DIRECTORY | NO_LINK, dir_fd=here)
                os.close(here)
                here = there
            return os.open(last, TO_PLAIN_FILE, dir_fd=here)
        finally:
            os.close(here)

    def _levels(self) -> Iterator[tuple[str, list[str], list[str], int | None]]:
        """Yield each directory: its path from the top, the names in it, and its descriptor if the system has them."""
        if HAS_DESCRIPTORS:
            yield from ((top[2:], *rest) for top, *rest in os.fwalk(".", dir_fd=self._top))  # type: ignore[misc]
        else:
            start = os.path.realpath(self._path)
            for top, directories, names in os.walk(start):
                yield os.path.relpath(top, start).replace(os.sep, "/").removeprefix("."), directories, names, None

    def _walk(self, most: int) -> Iterator[TreeEntry]:
        seen = 0
        # Directories that the walk has not reached yet.
        ahead: set[str] = set()
        for top, directories, names, descriptor in self._levels():
            ahead.discard(top)
            prefix = f"{top}/" if top else ""
            for name in sorted({*directories, *names}):
                path, seen = prefix + name, seen + 1
                if seen > most:
                    hint = "name a directory in it, nearer to the skills"
                    raise ArchiveRefused(self._path, f"it has more than {most:,} files and directories", hint=hint)
                if name == _GIT:
                    yield TreeEntry(path, TreeEntryKind.OTHER)
                    continue
                try:
                    entry = self._entry(path, name, descriptor)
                except FileNotFoundError:  # removed since it was listed
                    continue
                if entry is None:
                    ahead.add(path)
                else:
                    yield entry
            is_deep = top.count("/") + bool(top) >= _MOST_DEPTH
            directories[:] = [] if is_deep else [name for name in directories if name != _GIT]
        yield from (TreeEntry(path, TreeEntryKind.OTHER) for path in ahead)

    def _entry(self, path: str, name: str, descriptor: int | None) -> TreeEntry | None:
        """Return the entry at a path, None for a directory. Raises OSError."""
        place = name if descriptor is not None else os.path.join(os.path.realpath(self._path), *path.split("/"))
        status = os.stat(place, dir_fd=descriptor, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISLNK(status.st_mode):
            return TreeEntry(path, TreeEntryKind.LINK, target=os.readlink(place, dir_fd=descriptor))
        if not stat.S_ISREG(status.st_mode):
            return TreeEntry(path, TreeEntryKind.OTHER)
        self._stamps[path] = _stamp(status)
        is_executable = os.name != "nt" and bool(status.st_mode & 0o111)
        return TreeEntry(path, TreeEntryKind.FILE, status.st_size, is_executable)


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
