"""What is published: the skills that this hub would serve, by keys that are the same everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.errors import LockUnreadable, SkillChanged, SkillHubError
from skillhub_mcp.index.nearness_scale import NearnessScale
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.locks.content_digest import FileDigest
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import is_at_or_below
from skillhub_mcp.skills.scanner import CachedSkillFile
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.store.contents import FileToStore, NotPublished
from skillhub_mcp.store.records import StoredRoot

_NOT_AS_LOCKED = "is not as it was locked"
_HAS_MODES = os.name != "nt"
_REASONS = {
    Availability.OFF: "is switched off",
    Availability.DENIED: "is denied by a rule",
    Availability.FILTERED: "is left out by a filter",
    Availability.UNTRUSTED: "awaits trust",
    Availability.UNDECIDED: "belongs to a project whose rules cannot be read",
    Availability.WITHHELD: "is withheld by the audit",
    Availability.CHANGED: _NOT_AS_LOCKED,
}

Locked = Callable[[Skill], Mapping[str, FileDigest] | None]


@dataclass(frozen=True)
class IndexToStore:
    """One version of the index that has the skills: its table, what its vectors are of, and what a cosine means there.

    `labels` are those of roots by path, `rows` the keys of rows by directory, and `entries` what was read from each
    SKILL.md.
    """

    table: TableVersion
    embedding: str
    scale: NearnessScale | None
    labels: Mapping[str, str]
    rows: Mapping[str, str]
    entries: Mapping[str, CachedSkillFile]


@dataclass(frozen=True, slots=True)
class SkillToStore:
    """A skill that is to be published under a key, the label of its root, and the key of its row in the index."""

    skill: Skill
    key: str
    label: str
    row: str
    entry: CachedSkillFile


@dataclass(frozen=True)
class LibraryToStore:
    """Skills by key, their roots in order, and what is left out of them, with its reasons.

    `locked` returns what each file of a skill has to be, as `Policy.locked_files`.
    """

    skills: Sequence[SkillToStore]
    roots: Sequence[StoredRoot]
    index: IndexToStore
    left_out: Sequence[NotPublished] = field(default=())
    locked: Locked = lambda _: None


def library_to_store(snapshot: Snapshot, policy: Policy, index: IndexToStore) -> LibraryToStore:
    """Return what is published of a snapshot: what `policy` serves, without what awaits trust.

    A skill to whose name another answers is published too: readers have filters of their own.
    """
    taken: set[str] = set()
    skills: list[SkillToStore] = []
    left_out = _unread(snapshot)
    # What lies below its root has its key before what only a link leads to.
    for skill in sorted(
        snapshot.everything, key=lambda one: (not is_at_or_below(one.directory, one.root), one.directory)
    ):
        row, entry = index.rows.get(skill.directory), index.entries.get(skill.directory)
        reason = _reason(skill, policy)
        if reason is not None or row is None or entry is None:
            left_out.append(NotPublished(skill.name, "", reason or "is not in the index"))
            continue
        label = index.labels[skill.root]
        key = _key(skill, label, taken)
        taken.add(key)
        skills.append(SkillToStore(skill, key, label, row, entry))
    used = {one.label for one in skills}
    roots = [StoredRoot(index.labels[root.path], root.source.value) for root in snapshot.report.roots]
    skills.sort(key=lambda one: one.key)
    return LibraryToStore(skills, [root for root in roots if root.label in used], index, left_out, policy.locked_files)


class LockedSkill:
    """The files of one skill as they are read, held against its lock, if one decides about it.

    The files were looked at before, and may be written meanwhile: the bytes decide that were read.
    """

    def __init__(self, skill: Skill, locked: Locked) -> None:
        self._skill = skill
        self._ask = locked
        self._differs = False
        self._locked = self._asked()

    def takes(self, file: FileToStore, digest: str) -> bool:
        """Whether a file with this SHA-256 is what the lock says, as were those before."""
        if self._locked is None or self._differs:
            return not self._differs
        locked = self._locked.get(file.path)
        if locked is None:
            # Locks do not have links, which are followed within the skill only.
            is_link = os.path.islink(os.path.join(self._skill.directory, file.path))
            self._differs = not is_link or digest not in {one.sha256 for one in self._locked.values()}
        else:
            is_turned = _HAS_MODES and locked.executable != file.executable
            self._differs = is_turned or locked.sha256 != digest
        return not self._differs

    def refusal(self) -> NotPublished | None:
        """Return that it is not as it was locked, also if something was added or taken away meanwhile."""
        if not self._differs and self._asked() == self._locked and not self._differs:
            return None
        return NotPublished(self._skill.name, "", _NOT_AS_LOCKED)

    def _asked(self) -> Mapping[str, FileDigest] | None:
        try:
            return self._ask(self._skill)
        except (SkillChanged, LockUnreadable):
            self._differs = True
            return None


def _unread(snapshot: Snapshot) -> list[NotPublished]:
    """Return what no skill was made of: a broken SKILL.md that nobody hears of is missed on every server.

    Paths of this machine stay here; what could not be read is told by its directory's name.
    """
    refused = [
        NotPublished(os.path.basename(one.directory), "", f"is refused: {one.reason.rule}, {one.reason.message}")
        for one in snapshot.report.refused
    ]
    problems = [NotPublished(os.path.basename(one.path), "", one.reason) for one in snapshot.report.problems]
    return refused + problems


def _reason(skill: Skill, policy: Policy) -> str | None:
    if skill.awaits_trust:
        return _REASONS[Availability.UNTRUSTED]
    availability = policy.availability(skill)
    if availability is not Availability.ON:
        return _REASONS[availability]
    try:
        if policy.audit is not None and policy.audit.withholds(skill, now=True) is not None:
            return _REASONS[Availability.WITHHELD]
    except SkillHubError as error:
        return f"cannot be audited: {error.message}"
    return None if policy.is_as_locked(skill) else _NOT_AS_LOCKED


def _key(skill: Skill, label: str, taken: set[str]) -> str:
    if skill.directory == skill.root:
        return label
    if is_at_or_below(skill.directory, skill.root):
        return f"{label}/{os.path.relpath(skill.directory, skill.root).replace(os.sep, '/')}"
    # A link leads out of the root: where to is this machine's own affair.
    key = first = f"{label}/{os.path.basename(skill.directory)}"
    number = 1
    while key in taken:
        number += 1
        key = f"{first}-{number}"
    return key
