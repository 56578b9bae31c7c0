"""The ledger of one session: what the client was shown, and its estimated tokens, for the life of the session."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Literal

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import Skill

Layer = Literal["catalogue", "skill", "file", "agents"]

# A dropped entry only means that a skill is shown again.
_MAX_ENTRIES = 4_096
_MAX_OPENING = 80


@dataclass(frozen=True, slots=True)
class Piece:
    """From `start` to before `end` of `of`, in parts or in bytes."""

    start: int
    end: int
    of: int


WHOLE = Piece(0, 1, 1)


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown of a layer's `key`: how often, with how many tokens, and the version and `piece` shown last."""

    layer: Layer
    name: str
    key: str
    tokens: int
    times: int
    mtime_ms: float | None
    ctime_ns: int | None
    number: int
    opening: str
    piece: Piece
    digest: str = ""

    def is_of(self, mtime_ms: float | None, ctime_ns: int | None) -> bool:
        """Whether the version shown has these times: a copying program may keep mtime, and never ctime."""
        return (self.mtime_ms, self.ctime_ns) == (mtime_ms, ctime_ns)

    def differs(self, digest: str) -> bool:
        """Whether the version shown has another digest, as far as both are known."""
        return bool(self.digest and digest and self.digest != digest)

    @property
    def is_complete(self) -> bool:
        """Whether all of it was shown, in one piece or in several."""
        return self.piece.start == 0 and self.piece.end >= self.piece.of


class Ledger:
    """What one session was shown. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: LRUCache[tuple[Layer, str], Shown] = LRUCache(_MAX_ENTRIES)
        self._count = 0

    def record(
        self,
        layer: Layer,
        name: str,
        key: str,
        text: str,
        *,
        mtime_ms: float | None = None,
        ctime_ns: int | None = None,
        piece: Piece = WHOLE,
        digest: str = "",
    ) -> Shown:
        """Record that `text`, all or a piece of something, was shown, and return its entry."""
        tokens = estimate_tokens(text)
        opening = text.partition("\n")[0][:_MAX_OPENING].rstrip()
        with self._lock:
            self._count += 1
            shown = Shown(layer, name, key, tokens, 1, mtime_ms, ctime_ns, self._count, opening, piece, digest)
            before = self._shown.get((layer, key))
            if before is not None:
                shown = _together(before, shown)
            self._shown.put((layer, key), shown)
            return shown

    def record_skill(self, skill: Skill, text: str, *, part: int = 1, parts: int = 1, digest: str = "") -> Shown:
        """Record that `text`, the instructions of `skill` or one part of them, was shown."""
        return self.record(
            "skill",
            skill.name,
            skill_path(skill),
            text,
            mtime_ms=skill.stamp.mtime_ns / 1_000_000,
            ctime_ns=skill.stamp.ctime_ns,
            piece=Piece(part - 1, part, parts),
            digest=digest,
        )

    def check_goes_on(self, layer: Layer, key: str, digest: str, *, argument: str, first: int) -> None:
        """Check that a later piece is of the same version as the `first`. Raises InvalidArgument."""
        before = self.last(layer, key)
        if before is not None and before.differs(digest):
            raise InvalidArgument(
                argument,
                "goes on with a text that has changed since its earlier part was loaded",
                hint=f"begin again with {argument}={first}",
            )

    def last(self, layer: Layer, key: str) -> Shown | None:
        """Return the entry of what was shown, or None."""
        with self._lock:
            return self._shown.get((layer, key))

    def entries(self) -> tuple[Shown, ...]:
        """Return all entries, the least recently shown first."""
        with self._lock:
            return tuple(sorted(self._shown.values(), key=lambda shown: shown.number))


def _together(before: Shown, now: Shown) -> Shown:
    """Return the entry of something that is shown again, with the pieces of one version joined."""
    both = replace(now, tokens=before.tokens + now.tokens, times=before.times + 1)
    is_same = before.is_of(now.mtime_ms, now.ctime_ns) and not before.differs(now.digest)
    if not is_same or now.is_complete:
        return both
    if before.is_complete:
        return replace(both, opening=before.opening, piece=before.piece)
    if before.piece.of != now.piece.of or not before.piece.start <= now.piece.start <= before.piece.end:
        return both
    end = max(before.piece.end, now.piece.end)
    return replace(both, opening=before.opening, piece=replace(before.piece, end=end))
