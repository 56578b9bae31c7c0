"""A log file that several processes may append to: one JSON object per line, and never a partial line."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections.abc import Mapping

from skillhub_mcp._util.file_modes import is_planted, make_private_directory

log = logging.getLogger(__name__)


class JsonLinesLog:
    """Appends to the file at `path`, from any thread and any number of processes. `label` names it in log messages.

    The file and its directories are created, the file readable by its owner only. A write error is logged once and
    raises nothing.
    """

    def __init__(self, path: str, *, label: str) -> None:
        self._path = path
        self._label = label
        self._lock = threading.Lock()
        self._failed = False

    def create(self) -> None:
        """Create the file now, so that a path that cannot be written is logged at startup."""
        self._write(b"")

    def append(self, record: Mapping[str, object]) -> None:
        """Append one line."""
        self._write(f"{json.dumps(record)}\n".encode())

    def _write(self, line: bytes) -> None:
        try:
            with self._lock:
                make_private_directory(os.path.dirname(self._path) or ".")
                descriptor = _open(self._path)
                try:
                    _append(descriptor, line)
                finally:
                    os.close(descriptor)
        except OSError as error:
            # A failing log is no reason to fail the operation that it records; one warning is enough.
            if not self._failed:
                log.warning("%s %s cannot be written: %s", self._label, self._path, error.strerror)
            self._failed = True


def _open(path: str) -> int:
    """Open the file. Raises OSError, also where somebody else put it there, or a link to another."""
    directory = os.path.dirname(path) or "."
    # Opened for reading too: `_append` checks how the file ends.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    is_link = os.path.islink(path)
    if is_link and is_planted(os.lstat(path), directory):
        raise _Planted
    descriptor = os.open(path, flags if is_link else flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    if not is_link and is_planted(os.fstat(descriptor), directory):
        os.close(descriptor)
        raise _Planted
    return descriptor


class _Planted(PermissionError):
    def __init__(self) -> None:
        super().__init__(errno.EACCES, "somebody else put it there; name a file in a directory of your own")


def _append(descriptor: int, line: bytes) -> None:
    # A line that another process left incomplete is ended first, or it would corrupt this one too.
    rest = (b"\n" if _ends_mid_line(descriptor) else b"") + line
    # Usually a single write; O_APPEND keeps the lines of several processes apart.
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _ends_mid_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) != b"\n"
