"""The names that skills had before they were renamed, as far as this process saw it.

A client may go on asking for a name that a search returned a minute ago.
"""

from __future__ import annotations

import threading

from skillhub_mcp.lru import LRUCache
from skillhub_mcp.skills.differences import differences
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.snapshot import Snapshot

_REMEMBERED = 1_000


class FormerNames:
    """What was called what: the last thousand names that changed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Snapshot | None = None
        self._directories: LRUCache[str, str] = LRUCache(_REMEMBERED)

    def note(self, snapshot: Snapshot) -> None:
        """Note whose names differ from those of the snapshot before."""
        with self._lock:
            before, self._last = self._last, snapshot
            if before is None or before is snapshot:
                return
            for skill in differences(before.everything, snapshot.everything)[0]:
                now = snapshot.by_directory(skill.directory)
                if now is not None and now.name != skill.name:
                    self._directories.put(skill.name, skill.directory)

    def find(self, name: str, snapshot: Snapshot) -> Skill | None:
        """Return the skill of `snapshot` that had that name before, or None."""
        with self._lock:
            directory = self._directories.get(name)
        return None if directory is None else snapshot.by_directory(directory)
