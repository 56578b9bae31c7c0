"""A directory of this machine as a tree, walked and read by descriptors: no link that comes meanwhile is followed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.bounds import BOUNDS, Bounds
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.files.confinement import HAS_DESCRIPTORS, NO_LINK, TO_DIRECTORY, TO_PLAIN_FILE

# As deep as a path in a skill may be is far less; each level keeps a descriptor open while it is walked.
_MOST_DEPTH = 64
_GIT = ".git"
_PIECE = 64 * 1024

_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as the walk saw it."""

    entry: TreeEntry
    stamp: _Stamp


class DirectoryTree:
    """What lies in a directory; of git's own directories only that they are there. It has no commit and no ids.

    A link is an entry, wherever it leads; only `path` itself may be one. What cannot be read, and what lies deeper than
    64 directories, is an entry of the kind OTHER, so that it refuses the skill that it is in and no other.
    """

    def __init__(self, path: str, bounds: Bounds = BOUNDS) -> None:
        """Walk the directory. Raises SourceUnreachable, and ArchiveRefused for one with too many entries."""
        # A directory is not a commit, also where it is a checkout of one.
        self.commit = ""
        self._path = path
        self._bounds = bounds
        self._files: dict[str, _Seen] = {}
        self._others: list[TreeEntry] = []
        self._seen = 0
        self._top = -1
        try:
            if HAS_DESCRIPTORS:
                self._top = os.open(path, TO_DIRECTORY)
                self._walk(self._top, "", 0)
            else:
                self._walk(os.path.realpath(path), "", 0)
        except OSError as error:
            self.close()
            reason = f"cannot be read: {error.strerror or type(error).__name__}"
            hint = "look whether it is there, and whether you may read it"
            raise SourceUnreachable(path, reason, hint=hint) from error
        except BaseException:
            self.close()
            raise
        self.entries: Sequence[TreeEntry] = in_order([*(seen.entry for seen in self._files.values()), *self._others])

    def tree_id(self, path: str) -> str:
        """Return nothing: a directory has no ids."""
        del path
        return ""

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises SourceUnreachable for one that is another than the walk saw."""
        seen = self._files.get(path)
        if seen is None:
            raise SourceUnreachable(self._path, f"has no file {path!r}")
        try:
            descriptor = self._opened(path)
            try:
                if _stamp(os.fstat(descriptor)) != seen.stamp:
                    raise self._changed(path)
                size = 0
                while piece := os.read(descriptor, _PIECE):
                    size += len(piece)
                    if size > seen.entry.size:
                        raise self._changed(path)
                    yield piece
                if size != seen.entry.size or _stamp(os.fstat(descriptor)) != seen.stamp:
                    raise self._changed(path)
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._changed(path) from error
        except OSError as error:
            # A link in its place is told by the system as a loop.
            reason = f"has a file {path!r} that cannot be read: {error.strerror or type(error).__name__}"
            raise SourceUnreachable(self._path, reason) from error

    def close(self) -> None:
        """Close the directory."""
        if self._top >= 0:
            os.close(self._top)
            self._top = -1

    def _changed(self, path: str) -> SourceUnreachable:
        return SourceUnreachable(self._path, f"has a file {path!r} that was changed meanwhile", hint="try again")

    def _opened(self, path: str) -> int:
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

    def _walk(self, here: int | str, above: str, depth: int) -> None:
        """Note what is in a directory, given by descriptor or, where there are none, by path. Raises OSError."""
        with os.scandir(here) as found:
            for entry in found:
                if entry.name == _GIT:
                    self._others.append(TreeEntry(above + _GIT, TreeEntryKind.OTHER))
                    continue
                self._seen += 1
                if self._seen > self._bounds.source_entries:
                    most = f"{self._bounds.source_entries:,}"
                    reason = f"it has more than {most} files and directories"
                    raise ArchiveRefused(self._path, reason, hint="name a directory in it, nearer to the skills")
                path = above + entry.name
                # Another process may have removed it by now.
                with contextlib.suppress(FileNotFoundError):
                    self._note(here, entry, path, depth)

    def _note(self, here: int | str, entry: os.DirEntry[str], path: str, depth: int) -> None:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            self._note_directory(here, entry, path, depth)
        elif stat.S_ISREG(status.st_mode):
            is_executable = os.name != "nt" and bool(status.st_mode & 0o111)
            noted = TreeEntry(path, TreeEntryKind.FILE, status.st_size, is_executable)
            self._files[path] = _Seen(noted, _stamp(status))
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(entry.name, dir_fd=here) if isinstance(here, int) else os.readlink(entry.path)
            self._others.append(TreeEntry(path, TreeEntryKind.LINK, target=target))
        else:
            self._others.append(TreeEntry(path, TreeEntryKind.OTHER))

    def _note_directory(self, here: int | str, entry: os.DirEntry[str], path: str, depth: int) -> None:
        unread = TreeEntry(path, TreeEntryKind.OTHER)
        if depth == _MOST_DEPTH:
            self._others.append(unread)
            return
        try:
            if isinstance(here, str):
                self._walk(entry.path, f"{path}/", depth + 1)
                return
            there = os.open(entry.name, TO_DIRECTORY | NO_LINK, dir_fd=here)
            try:
                self._walk(there, f"{path}/", depth + 1)
            finally:
                os.close(there)
        except FileNotFoundError:
            raise
        except OSError:
            self._others.append(unread)


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
