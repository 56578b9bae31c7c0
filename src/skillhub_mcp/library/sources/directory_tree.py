"""A directory of this machine as a tree. A file that has become a link since the walk is not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.tree import BOUNDS, PIECE_BYTES, Bounds, Tree, TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.files.confinement import TO_PLAIN_FILE

# Far more than a path in a skill may have.
_MAX_DEPTH = 64


class DirectoryTree(Tree):
    """The files of a directory.

    A link is an entry; only `path` itself may be one. `.git` and directories that are unreadable or too deep are of the
    kind OTHER, so that they refuse the skill that they are in and no other.
    """

    def __init__(self, path: str, bounds: Bounds = BOUNDS) -> None:
        """Walk the directory. Raises SourceUnreachable, and ArchiveRefused for one with too many entries."""
        super().__init__()
        self._path = path
        self._real = os.path.realpath(path)
        self._files: set[str] = set()
        try:
            os.listdir(path)
            self.entries = in_order(self._walk(bounds.source_entries))
        except OSError as error:
            reason = f"cannot be read: {error.strerror or type(error).__name__}"
            raise SourceUnreachable(path, reason, hint="check that it exists and that you may read it") from error

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises SourceUnreachable."""
        if path not in self._files:
            raise SourceUnreachable(self._path, f"has no file {path!r}")
        try:
            with open(os.open(os.path.join(self._real, *path.split("/")), TO_PLAIN_FILE), "rb") as file:
                yield from iter(partial(file.read, PIECE_BYTES), b"")
        except OSError as error:
            reason = f"has a file {path!r} that cannot be read: {error.strerror or type(error).__name__}"
            raise SourceUnreachable(self._path, reason) from error

    def _walk(self, most: int) -> Iterator[TreeEntry]:
        seen = 0
        # Directories that the walk has not reached yet.
        ahead: set[str] = set()
        for top, directories, names in os.walk(self._real):
            above = top[len(self._real) :].replace(os.sep, "/").strip("/")
            ahead.discard(above)
            for name in sorted({*directories, *names}):
                path, seen = f"{above}/{name}" if above else name, seen + 1
                if seen > most:
                    hint = "name a directory in it, nearer to the skills"
                    raise ArchiveRefused(self._path, f"it has more than {most:,} files and directories", hint=hint)
                try:
                    entry = self._entry(path, os.path.join(top, name))
                except FileNotFoundError:  # removed since it was listed
                    continue
                if entry is None:
                    ahead.add(path)
                else:
                    yield entry
            is_deep = above.count("/") + bool(above) >= _MAX_DEPTH
            directories[:] = [] if is_deep else [name for name in directories if name != ".git"]
        yield from (TreeEntry(path, TreeEntryKind.OTHER) for path in ahead)

    def _entry(self, path: str, place: str) -> TreeEntry | None:
        """Return the entry at a path, None for a directory that is walked. Raises OSError."""
        status = os.lstat(place)
        if os.path.basename(place) == ".git":
            return TreeEntry(path, TreeEntryKind.OTHER)
        if stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISLNK(status.st_mode):
            return TreeEntry(path, TreeEntryKind.LINK, target=os.readlink(place))
        if not stat.S_ISREG(status.st_mode):
            return TreeEntry(path, TreeEntryKind.OTHER)
        self._files.add(path)
        is_executable = os.name != "nt" and bool(status.st_mode & 0o111)
        return TreeEntry(path, TreeEntryKind.FILE, status.st_size, is_executable)
