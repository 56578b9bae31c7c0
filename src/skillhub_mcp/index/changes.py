"""What a sync has to write: the differences between a scan and what was committed. Pure."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.index.keys import LibraryKeys, free_label
from skillhub_mcp.index.state_file import IndexState, RootState
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

KEPT_ROOT_SECONDS = 30 * 24 * 3600.0
# How old the time at which a root was last seen may be: noting it costs a write of the state.
_NOTED_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Changes:
    """The rows to write, by key, and the keys of the rows to remove."""

    written: Mapping[str, Skill]
    removed: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def labelled(
    roots: Sequence[SkillRoot], memory: ScanCache, committed: IndexState | None, *, now: float | None = None
) -> dict[str, RootState]:
    """Return the roots of the next state: these with the entries of a scan, and others that were seen lately.

    Their statistics and vectors are as they were committed.
    """
    now = time.time() if now is None else now
    before = {} if committed is None else committed.roots
    own = {root.path for root in roots}
    states = {path: root for path, root in before.items() if path not in own and now - root.seen < KEPT_ROOT_SECONDS}
    for root in roots:
        known = before.get(root.path)
        if known is None:
            label = free_label(root.source.value, {state.label for state in (*states.values(), *before.values())})
            known = RootState(label, root.source.value, {}, "", 0, now)
        # Two roots of one server may lie in each other. A row of the inner one belongs to servers that have it alone.
        kept = {at: one for at, one in known.files.items() if at in memory}
        entries = {at: one for at, one in memory.items() if one.root == root.path}
        states[root.path] = replace(known, files={**kept, **entries}, seen=now)
    return states


def changes(skills: Sequence[Skill], roots: Mapping[str, RootState], stored: Mapping[str, str]) -> Changes:
    """Return the rows that differ between the skills of a scan and what is `stored`: the content hash of each row.

    `roots` are those of the next state. Rows of roots that it does not have any more are removed.
    """
    keys = LibraryKeys({path: root.label for path, root in roots.items()})
    present = {keys.key(skill.root, skill.directory): skill for skill in skills}
    written = {key: skill for key, skill in present.items() if stored.get(key) != skill.stamp.content_hash}
    kept = {
        keys.key(path, directory)
        for path, root in roots.items()
        for directory, entry in root.files.items()
        if row_of(entry) is not None
    }
    return Changes(written, frozenset(stored.keys() - kept))


def row_of(entry: CachedSkillFile) -> Skill | None:
    """Return the skill that has a row, whatever a server admits of it; None for a file that no server can use."""
    return None if entry.skill is None or LENIENT.refuses(entry.diagnostics) else entry.skill


def committed_hashes(state: IndexState) -> dict[str, str]:
    """Return the content hash of each row that a state says there is, by key."""
    keys = state.keys
    return {
        keys.key(path, directory): entry.stamp.content_hash
        for path, root in state.roots.items()
        for directory, entry in root.files.items()
        if row_of(entry) is not None
    }


def is_noted(state: IndexState, roots: Collection[str], *, now: float | None = None) -> bool:
    """Whether all of these roots were noted as seen a short time ago."""
    now = time.time() if now is None else now
    return all(path in state.roots and now - state.roots[path].seen < _NOTED_SECONDS for path in roots)
