"""Removing directories that a skill or its command made: as deep and as unreadable as they like."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess


def remove_directory(path: str) -> None:
    """Remove a directory and all that it holds, following no link. Raises OSError if something is left."""
    if os.name != "posix":
        # Windows deletes no file that is read-only.
        for place, _, names in os.walk(path):
            for name in names:
                os.chmod(os.path.join(place, name), stat.S_IWRITE)
        shutil.rmtree(path)
        return
    # It recurses, so it fails on a tree that is nested a thousand times, and on directories without permissions.
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
        return
    for argv in (["/bin/chmod", "-R", "u+rwx", "--", path], ["/bin/rm", "-rf", "--", path]):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.decode("utf-8", "replace").strip() or f"{path} cannot be removed")
