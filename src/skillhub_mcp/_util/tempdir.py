"""Private temporary directories, below the system's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator


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
    _make_writable(directory)
    # The recursion ends at a thousand levels.
    with contextlib.suppress(RecursionError):
        for place, directories, names in os.walk(directory):
            # Windows deletes no file that is read-only.
            for name in directories if os.name == "posix" else names:
                _make_writable(os.path.join(place, name))
        shutil.rmtree(directory, ignore_errors=True)


def _make_writable(path: str) -> None:
    with contextlib.suppress(OSError):
        if not os.path.islink(path):
            os.chmod(path, stat.S_IRWXU)
