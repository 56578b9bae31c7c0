"""Which skills a search may return to whoever asks, worked out once for each state of the skills and each policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skillhub_mcp.policy.access import Policy
from skillhub_mcp.search.recent import Recent
from skillhub_mcp.skills.differences import differences
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.namesakes import Names, RememberingJudge
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot

_RECENT_POLICIES = 32


class FindableSkills:
    """The directories of the skills that a search may return. Safe to use from several threads."""

    def __init__(self) -> None:
        self._findable = Recent[frozenset[str]](_RECENT_POLICIES)
        self._last = Recent[_Known](_RECENT_POLICIES)

    def directories(self, snapshot: Snapshot, policy: Policy, source: Source | None = None) -> frozenset[str]:
        """Return the directories of the skills that `policy` lets a search return.

        With a source, those of that source, also where another source's skill answers to their name.
        """
        found = self._findable.get((snapshot,), policy, source)
        if found is None:
            # A change to one skill of many changes nothing for the others, and asking about all takes long. An audit
            # and a lock look at more than the skill that is known here.
            withholds = policy.audit is not None or policy.locks is not None
            known = None if withholds else self._last.get((), policy, source)
            now = None if known is None else known.changed(snapshot, policy, source)
            if now is None:
                judge = RememberingJudge(policy, {} if known is None else known.offered)
                names = Names(snapshot, judge)
                offered = names.findable() if source is None else names.of_source(source)
                now = _Known(snapshot, judge.offered, frozenset(_choosable(offered)))
            self._last.put((), policy, source, now)
            found = now.directories
            self._findable.put((snapshot,), policy, source, found)
        return found


@dataclass(frozen=True, slots=True)
class _Known:
    """What was worked out of a snapshot; `offered` are skills that the policy offers, by directory."""

    snapshot: Snapshot
    offered: Mapping[str, Skill]
    directories: frozenset[str]

    def changed(self, snapshot: Snapshot, policy: Policy, source: Source | None) -> _Known | None:
        """Return the same of another snapshot; None where more than what changed has to be looked at.

        That is so where the roots are others, or where several skills have the name of one that changed: it decides
        who answers to the name.
        """
        before = self.snapshot
        if before.report.roots != snapshot.report.roots:
            return None
        gone, new = differences(before.everything, snapshot.everything)
        if any(one.name in of.contested for one in (*gone, *new) for of in (before, snapshot)):
            return None
        own = (one for one in new if source is None or snapshot.source(one) is source)
        directories = self.directories.difference(one.directory for one in gone)
        return _Known(snapshot, self.offered, directories.union(_choosable(filter(policy.offers, own))))


def _choosable(skills: Iterable[Skill]) -> Iterable[str]:
    # A skill that models may not choose can still be loaded by name.
    return (skill.directory for skill in skills if not skill.disable_model_invocation)
