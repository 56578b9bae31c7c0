"""The log's line that a server is ready: how many skills it serves, where, and to the bearers of how many tokens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

log = logging.getLogger("skillhub_mcp.start")


class StartLog:
    """Logs once that a server is ready, with `facts` about it. Safe to call from several threads."""

    def __init__(self, facts: Mapping[str, object]) -> None:
        self._facts = dict(facts)
        self._lock = threading.Lock()
        self._told = False

    @property
    def told(self) -> bool:
        """Whether it was logged."""
        return self._told

    def report(self, skills: int) -> None:
        """Log that so many skills are served, unless that was logged before."""
        with self._lock:
            told, self._told = self._told, True
        if not told:
            log.info("Ready", extra={"skills": skills, **self._facts})
