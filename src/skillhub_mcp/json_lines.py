"""How do several processes write one file of notes? One JSON object a line, and every line whole."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping

log = logging.getLogger(__name__)


class JsonLinesLog:
    """Appends to the file at `path`, from any thread and any number of processes. `what` names it in the log.

    It is made with its directories, for its owner alone. A disk that fails is reported once and stops nothing.
    """

    def __init__(self, path: str, *, what: str) -> None:
        self._path = path
        self._what = what
        self._lock = threading.Lock()
        self._failed = False

    def begin(self) -> None:
        """Make the file now, so that whoever starts what is accounted for is told at once that it cannot be."""
        self._write(b"")

    def note(self, noted: Mapping[str, object]) -> None:
        """Append one line."""
        self._write(f"{json.dumps(noted)}\n".encode())

    def _write(self, line: bytes) -> None:
        try:
            with self._lock:
                os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
                # For reading too: what is appended depends on how the file ends.
                end = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    _append(end, line)
                finally:
                    os.close(end)
        except OSError as error:
            # Keeping account is no reason to fail what is accounted for; saying so once is enough.
            if not self._failed:
                log.warning("%s %s cannot be written: %s", self._what, self._path, error.strerror)
            self._failed = True


def _append(end: int, line: bytes) -> None:
    # A line that another process left half written is ended, or it would spoil this one too.
    left = (b"\n" if _is_torn(end) else b"") + line
    # One write as a rule, at the end whoever else writes: lines of several processes do not mix.
    while left:
        left = left[os.write(end, left) :]


def _is_torn(end: int) -> bool:
    size = os.fstat(end).st_size
    if size == 0:
        return False
    os.lseek(end, size - 1, os.SEEK_SET)
    return os.read(end, 1) != b"\n"
