"""What a transaction does to the disk, one step after the other: each is done or not when a process is killed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.execution.removal import remove_directory
from skillhub_mcp.library.changes import exchange

_HAS_DIRECTORY_SYNC = os.name == "posix"
# Windows syncs only what is open for writing.
_TO_SYNC = (os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)) if _HAS_DIRECTORY_SYNC else os.O_RDWR


class Disk:
    """The steps. Each raises OSError, and follows no link at the paths that it is given."""

    def make_directory(self, path: str) -> None:
        """Make a directory where nothing is."""
        os.mkdir(path)

    def exchange(self, first: str, second: str) -> bool:
        """Exchange what lies at two paths in one step; return False, and do nothing, where that is not possible."""
        return exchange.exchange(first, second)

    def move(self, source: str, target: str) -> None:
        """Move what lies at `source` to `target`, where nothing is."""
        exchange.move(source, target)

    def replace(self, source: str, target: str) -> None:
        """Move a file to `target` in one step, in place of the file there."""
        os.replace(source, target)

    def write(self, path: str, content: bytes) -> None:
        """Replace a file by one with this content, synced, in one step."""
        atomic_write(path, content, locked=True, follow=False)

    def sync(self, path: str) -> None:
        """Have a directory's entries, or a file's content, written to the disk itself."""
        if os.path.isdir(path) and not _HAS_DIRECTORY_SYNC:
            return
        descriptor = os.open(path, _TO_SYNC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_tree(self, directory: str) -> None:
        """Sync every file and directory below a directory, and itself."""
        for path in _below(directory):
            self.sync(path)
        self.sync(directory)

    def remove_file(self, path: str) -> None:
        """Remove a file, or a link itself, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_tree(self, path: str) -> None:
        """Remove what lies at `path` with everything below it, if it is there; of a link only itself."""
        try:
            is_directory = stat.S_ISDIR(os.lstat(path).st_mode)
        except FileNotFoundError:
            return
        if not is_directory:
            os.unlink(path)
        else:
            remove_directory(path)


def _below(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
                yield entry.path
            elif entry.is_file(follow_symlinks=False):
                yield entry.path
