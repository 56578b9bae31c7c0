"""What has one session been shown, and what did it cost? Kept while the session lasts (seed 000 §6.3, §10.3)."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import Literal

from skillhub_mcp.disclosure.token_estimate import estimate_tokens
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.skills.model import SKILL_FILE, Skill

Layer = Literal["catalogue", "skill", "file", "agents"]

# A session that goes on for days must not grow without end; what is forgotten is merely shown again.
_MAX_ENTRIES = 4_096
_NANOSECONDS_A_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that was shown, how often, and the tokens of all its showings together.

    `key` tells it from all else: a path, or a file's place in its skill. `mtime_ms` is that of the version last
    shown, and `number` which showing of the session that was.
    """

    layer: Layer
    name: str
    key: str
    tokens: int
    times: int
    mtime_ms: float | None
    number: int


class Ledger:
    """One session's list of what it was shown. Safe to call from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: LRUCache[tuple[Layer, str], Shown] = LRUCache(_MAX_ENTRIES)
        self._count = 0

    def record(self, layer: Layer, name: str, key: str, text: str, *, mtime_ms: float | None = None) -> Shown:
        """Note that `text` was shown."""
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
        """Note that `text`, the instructions of `skill` or a part of them, was shown."""
        return self.record(
            "skill",
            skill.name,
            os.path.join(skill.directory, SKILL_FILE),
            text,
            mtime_ms=skill.stamp.mtime_ns / _NANOSECONDS_A_MILLISECOND,
        )

    def last(self, layer: Layer, key: str) -> Shown | None:
        """Return the last showing of something, if there was one."""
        with self._lock:
            return self._shown.get((layer, key))

    def entries(self) -> tuple[Shown, ...]:
        """Return everything that was shown, what was shown longest ago first."""
        with self._lock:
            return tuple(sorted(self._shown.values(), key=lambda shown: shown.number))
