"""Private temporary directories, below the system's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def scratch_directory(purpose: str) -> Iterator[str]:
    """Yield an empty directory that is removed at the end, with `purpose` in its name. Raises OSError."""
    place = tempfile.mkdtemp(prefix=f"skillhub-{purpose}-")
    try:
        yield place
    finally:
        remove_tree(place)


def remove_tree(directory: str) -> None:
    """Remove a directory with everything in it, as far as possible, following no link."""

    def writable(function: Callable[[str], object], path: str, _: object) -> None:
        """Git's packs are read-only, which keeps Windows from removing them, and directories may be."""
        with contextlib.suppress(OSError):
            if path != directory:
                os.chmod(os.path.dirname(path), stat.S_IRWXU)
            if not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
            if function in (os.unlink, os.rmdir):
                function(path)

    if os.path.lexists(directory):
        shutil.rmtree(directory, onerror=writable)
