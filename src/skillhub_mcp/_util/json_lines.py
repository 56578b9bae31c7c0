"""A log file that several processes may append to: one JSON object per line."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping

from skillhub_mcp._util.file_modes import make_private_directory

log = logging.getLogger(__name__)


class JsonLinesLog:
    """Appends to the file at `path`, from any thread and any number of processes. `label` names it in log messages.

    The file is created for its owner only. A write error is logged once, at `level`, and raises nothing.
    """

    def __init__(self, path: str, *, label: str, level: int = logging.WARNING) -> None:
        self._path = path
        self._label = label
        self._level = level
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
                # O_APPEND keeps the lines of several processes apart.
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with open(descriptor, "ab", buffering=0) as file:
                    file.write(line)
        except OSError as error:
            # A failing log is no reason to fail the operation that it records; one warning is enough.
            if not self._failed:
                log.log(self._level, "%s %s cannot be written: %s", self._label, self._path, error.strerror)
            self._failed = True
