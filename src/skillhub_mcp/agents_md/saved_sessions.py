"""The states of sessions, kept in files, so that a later session can go on from one, also in another process."""

from __future__ import annotations

from pydantic import ValidationError

from skillhub_mcp.agents_md.schema import AgentsState
from skillhub_mcp.private_files import PrivateFiles

_MAX_SESSIONS = 1_000


class SavedSessions:
    """States by handle and caller, in `directory`, so that no caller takes up another's session.

    A state has paths and mtimes, and nothing of any file. Beyond a thousand, those saved longest ago are removed; such
    a session is merely told everything again.
    """

    def __init__(self, directory: str) -> None:
        self._files = PrivateFiles(directory, most=_MAX_SESSIONS)

    def save(self, handle: str, state: AgentsState, *, caller: str) -> None:
        """Save the state of a session in place of its earlier one. Raises OSError."""
        self._files.write((handle, caller), state.model_dump_json().encode())

    def find(self, handle: str, *, caller: str) -> AgentsState | None:
        """Return the saved state of a session, or None if none of that handle is known for the caller."""
        content = self._files.read((handle, caller))
        try:
            return None if content is None else AgentsState.model_validate_json(content)
        except ValidationError:
            # A state that another version wrote is like one that was removed.
            return None
