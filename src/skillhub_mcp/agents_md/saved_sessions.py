"""The states of sessions, kept in files, so that a later session can go on from one, also in another process."""

from __future__ import annotations

import contextlib
import hashlib
import os

from pydantic import ValidationError

from skillhub_mcp.agents_md.schema import AgentsState
from skillhub_mcp.atomic_write import atomic_write

_MAX_SESSIONS = 1_000
_MAX_BYTES = 4 * 1024 * 1024


class SavedSessions:
    """States by handle and caller, in `directory`, which is made when it is needed.

    A state has paths and mtimes, and nothing of any file. Its file is named by a hash of the handle and of the caller:
    who can list the directory cannot take a session up, and no caller can take up another's. Beyond a thousand, those
    saved longest ago are removed; such a session is merely told everything again.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def save(self, handle: str, state: AgentsState, *, caller: str) -> None:
        """Save the state of a session in place of its earlier one. Raises OSError."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        path = self._path(handle, caller)
        is_new = not os.path.exists(path)
        atomic_write(path, state.model_dump_json().encode(), mode=0o600)
        if is_new:
            self._remove_oldest()

    def find(self, handle: str, *, caller: str) -> AgentsState | None:
        """Return the saved state of a session, or None if none of that handle is known for the caller."""
        try:
            with open(self._path(handle, caller), "rb") as file:
                return AgentsState.model_validate_json(file.read(_MAX_BYTES))
        except (OSError, ValidationError):
            # A state that another version wrote is like one that was removed.
            return None

    def _path(self, handle: str, caller: str) -> str:
        name = hashlib.sha256(f"{handle}\0{caller}".encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(self._directory, f"{name}.json")

    def _remove_oldest(self) -> None:
        with os.scandir(self._directory) as entries:
            found = []
            for entry in entries:
                # Another process may remove it first.
                with contextlib.suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, entry.path))
        for _, path in sorted(found, reverse=True)[_MAX_SESSIONS:]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
