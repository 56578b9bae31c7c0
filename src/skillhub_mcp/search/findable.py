"""Which skills a search may return to whoever asks, worked out once for each state of the skills and each policy."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.lru import LRUCache
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.skills.differences import differences
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.namesakes import Names, RememberingJudge
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot

_RECENT_POLICIES = 32

# What is gone, and what is new.
_Apart = tuple[Sequence[Skill], Sequence[Skill]]


class FindableSkills:
    """The directories of the skills that a search may return. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = LRUCache[tuple[int, Source | None], _Kept](_RECENT_POLICIES)

    def directories(self, snapshot: Snapshot, policy: Policy, source: Source | None = None) -> frozenset[str]:
        """Return the directories of the skills that `policy` lets a search return.

        With a source, those of that source, also where another source's skill answers to their name.
        """
        with self._lock:
            kept = self._kept.get((id(policy), source))
        if kept is not None and kept.last.snapshot is snapshot:
            return kept.last.directories
        # A change to one skill of many changes nothing for the others, and asking about all takes long.
        known = None if kept is None or _withholds(policy) else kept.last
        now = None if known is None else known.changed(snapshot, policy, source, _apart(known.snapshot, snapshot))
        if now is None and source is None and policy.offers_all_below(snapshot.report.roots):
            now = _Known(snapshot, {}, snapshot.choosable)
        if now is None:
            judge = None if known is None else RememberingJudge(policy, known.offered)
            names = Names(snapshot, judge or policy)
            skills = names.findable() if source is None else names.of_source(source)
            offered = {one.directory: one for one in skills} if judge is None else judge.offered
            now = _Known(snapshot, offered, frozenset(_choosable(skills)))
        with self._lock:
            self._kept.put((id(policy), source), _Kept(policy, now))
        return now.directories


@dataclass(frozen=True, slots=True)
class _Known:
    """What was worked out of a snapshot; `offered` are skills that the policy was found to offer, by directory."""

    snapshot: Snapshot
    offered: Mapping[str, Skill]
    directories: frozenset[str]

    def changed(self, snapshot: Snapshot, policy: Policy, source: Source | None, apart: _Apart) -> _Known | None:
        """Return the same of another snapshot, which is so far `apart`; None where more has to be looked at.

        That is so where the roots are others, or where several skills have the name of one that changed: it decides
        who answers to the name.
        """
        before = self.snapshot
        if before.report.roots != snapshot.report.roots:
            return None
        gone, new = apart
        if any(one.name in of.contested for one in (*gone, *new) for of in (before, snapshot)):
            return None
        own = (one for one in new if source is None or snapshot.source(one) is source)
        lost, won = {one.directory for one in gone}, set(_choosable(filter(policy.offers, own)))
        directories = self.directories
        if lost != won or not directories >= won:
            directories = (directories - lost) | won
        return _Known(snapshot, self.offered, directories)


def _apart(before: Snapshot, snapshot: Snapshot) -> _Apart:
    return differences(before.everything, snapshot.everything)


def _choosable(skills: Iterable[Skill]) -> Iterable[str]:
    # A skill that models may not choose can still be loaded by name.
    return (skill.directory for skill in skills if not skill.disable_model_invocation)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a policy lets a search return; it is kept so that no other object can take its identity."""

    policy: Policy
    last: _Known


def _withholds(policy: Policy) -> bool:
    """Whether more decides than a snapshot knows of its skills: an audit and a lock look at their files."""
    return policy.audit is not None or policy.locks is not None
