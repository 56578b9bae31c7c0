"""What LanceDB raises for a damaged table, or for one that may not grow: two exceptions of our own.

The caller of a damaged index rebuilds it.
"""

from __future__ import annotations

import errno
import os
import re

LANCE_FAILURES = (RuntimeError, OSError, ValueError)

# A full disk, a quota and a limit of the process: a new table would not help.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# How LanceDB's messages name an error of the operating system.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


class IndexDamaged(Exception):
    """The table cannot be opened, read or written; the message is the first line of LanceDB's own."""


class NoRoom(IndexDamaged):
    """The table cannot be written because it may not grow. What it held can still be read."""


def damaged(error: Exception) -> IndexDamaged:
    """Return the IndexDamaged for an error of LanceDB or of the file system."""
    if isinstance(error, FileExistsError | NotADirectoryError) and isinstance(error.filename, str):
        return IndexDamaged(f"{_file_above(error.filename)} is a file, not a directory")
    found = _OS_ERROR.search(str(error))
    number = int(found[1]) if found else getattr(error, "errno", None)
    if number in _NO_ROOM:
        return NoRoom(os.strerror(number))
    if isinstance(error, OSError) and error.strerror:
        return IndexDamaged(error.strerror)
    lines = str(error).splitlines()
    return IndexDamaged(lines[0] if lines else type(error).__name__)


def _file_above(path: str) -> str:
    """Return the first path from `path` up that exists."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path
