"""Which skills a search may return: those that the caller's policy offers and that models may choose."""

from __future__ import annotations

import threading

from skillhub_mcp.lru import LRUCache
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot

# Callers with filters of their own have a set each, which takes a while to compute for 100,000 skills.
_CACHED_POLICIES = 32


class VisibleSkills:
    """The directories of the searchable skills of one snapshot, cached by policy. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        # By identity, since comparing policies costs more. The policy is kept, so that no other can take its number.
        self._by_policy = LRUCache[tuple[int, Source | None], tuple[Policy, frozenset[str]]](_CACHED_POLICIES)

    def directories(self, snapshot: Snapshot, policy: Policy, source: Source | None = None) -> frozenset[str]:
        """Return the directories of the skills of `snapshot` that `policy` lets a search return.

        With a source, those of that source, also where another source's skill answers to their name.
        """
        with self._lock:
            if self._snapshot is not snapshot:
                self._snapshot = snapshot
                self._by_policy.clear()
            cached = self._by_policy.get((id(policy), source))
            if cached is None:
                names = Names(snapshot, policy)
                offered = names.findable() if source is None else names.of_source(source)
                # A skill that models may not choose can still be loaded by name.
                visible = frozenset(skill.directory for skill in offered if not skill.disable_model_invocation)
                cached = (policy, visible)
                self._by_policy.put((id(policy), source), cached)
            return cached[1]
