"""The ledger of one session: what the client was shown, and its estimated tokens, for the life of the session."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import Literal

from skillhub_mcp.disclosure.token_estimate import estimate_tokens
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.skills.model import SKILL_FILE, Skill

Layer = Literal["catalogue", "skill", "file", "agents"]

# Bounds the memory of a session that lasts for days; an entry that is dropped only means that a skill is shown again.
_MAX_ENTRIES = 4_096
_NANOSECONDS_PER_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that was shown: how many times, and the tokens of all times together.

    `key` identifies it within its layer by a path. `mtime_ms` is the modification time of the version shown last, and
    `number` counts everything shown in the session, from 1, up to that time.
    """

    layer: Layer
    name: str
    key: str
    tokens: int
    times: int
    mtime_ms: float | None
    number: int


class Ledger:
    """What one session was shown. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: LRUCache[tuple[Layer, str], Shown] = LRUCache(_MAX_ENTRIES)
        self._count = 0

    def record(self, layer: Layer, name: str, key: str, text: str, *, mtime_ms: float | None = None) -> Shown:
        """Record that `text` was shown, and return its entry."""
        tokens = estimate_tokens(text)
        with self._lock:
            self._count += 1
            before = self._shown.get((layer, key))
            shown = Shown(layer, name, key, tokens, 1, mtime_ms, self._count)
            if before is not None:
                shown = replace(shown, tokens=tokens + before.tokens, times=before.times + 1)
            self._shown.put((layer, key), shown)
            return shown

    def record_skill(self, skill: Skill, text: str) -> Shown:
        """Record that `text`, the instructions of `skill` or a part of them, was shown."""
        return self.record(
            "skill",
            skill.name,
            os.path.join(skill.directory, SKILL_FILE),
            text,
            mtime_ms=skill.stamp.mtime_ns / _NANOSECONDS_PER_MILLISECOND,
        )

    def last(self, layer: Layer, key: str) -> Shown | None:
        """Return the entry of what was shown, or None."""
        with self._lock:
            return self._shown.get((layer, key))

    def entries(self) -> tuple[Shown, ...]:
        """Return all entries, the least recently shown first."""
        with self._lock:
            return tuple(sorted(self._shown.values(), key=lambda shown: shown.number))
