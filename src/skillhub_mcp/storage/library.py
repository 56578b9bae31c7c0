"""What is published: the skills that this hub would serve, by keys that are the same everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.index.keys import free_label
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.locks.content_digest import FileDigest
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.model import NO_SHAPE, HeaderShape, Skill
from skillhub_mcp.skills.roots import SkillRoot, is_at_or_below
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.storage.contents import NotPublished
from skillhub_mcp.storage.manifest import StoredRoot

NOT_AS_LOCKED = "is not as it was locked"

_REASONS = {
    Availability.OFF: "is switched off",
    Availability.DENIED: "is denied by a rule",
    Availability.FILTERED: "is left out by a filter",
    Availability.UNTRUSTED: "awaits trust",
    Availability.UNDECIDED: "belongs to a project whose rules cannot be read",
    Availability.WITHHELD: "is withheld by the audit",
    Availability.CHANGED: NOT_AS_LOCKED,
}


@dataclass(frozen=True, slots=True)
class SkillToStore:
    """A skill that is to be published under a key, and the label of its root."""

    skill: Skill
    key: str
    label: str
    shape: HeaderShape = NO_SHAPE


@dataclass(frozen=True, slots=True)
class IndexToStore:
    """The index that has the skills: one version of it, whose it is, and what its vectors are of."""

    index: SkillIndex
    schema: int
    embedder: str
    embedding: str


@dataclass(frozen=True)
class LibraryToStore:
    """Skills by key, their roots in order, and what is left out of them, with its reasons.

    `locked` returns what each file of a skill has to be, as `Policy.locked_files`.
    """

    skills: Sequence[SkillToStore]
    roots: Sequence[StoredRoot]
    index: IndexToStore
    left_out: Sequence[NotPublished] = field(default=())
    locked: Callable[[Skill], Mapping[str, FileDigest] | None] = lambda _: None


def library_to_store(
    snapshot: Snapshot,
    policy: Policy,
    index: IndexToStore,
    *,
    labels: Mapping[str, str],
    shapes: Callable[[str], HeaderShape] = lambda _: NO_SHAPE,
) -> LibraryToStore:
    """Return what is published of a snapshot: what `policy` serves, without what awaits trust.

    `labels` are those of roots, by path. A skill to whose name another answers is published too: readers have filters
    of their own.
    """
    taken: set[str] = set()
    skills: list[SkillToStore] = []
    left_out = _unread(snapshot)
    # What lies below its root has its key before what only a link leads to.
    ordered = sorted(snapshot.everything, key=lambda one: (not is_at_or_below(one.directory, one.root), one.directory))
    for skill in ordered:
        reason = _reason(skill, policy)
        if reason is None and index.index.number(skill.directory) is None:
            reason = "is not in the index"
        if reason is not None:
            left_out.append(NotPublished(skill.name, "", reason))
            continue
        key = _key(skill, labels[skill.root], taken)
        taken.add(key)
        skills.append(SkillToStore(skill, key, labels[skill.root], shapes(skill.directory)))
    used = {one.label for one in skills}
    roots = [StoredRoot(labels[root.path], root.source.value) for root in snapshot.report.roots]
    skills.sort(key=lambda one: one.key)
    return LibraryToStore(skills, [root for root in roots if root.label in used], index, left_out, policy.locked_files)


def labels_of(roots: Sequence[SkillRoot], known: Mapping[str, str]) -> dict[str, str]:
    """Return the label of each root, by path: the one that the index gave it, else a free one of its source's word.

    An index of an earlier version has given none until it is next written.
    """
    labels = {path: label for path, label in known.items() if label}
    for root in roots:
        if root.path not in labels:
            labels[root.path] = free_label(root.source.value, labels.values())
    return labels


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
    if not policy.is_as_locked(skill):
        return _REASONS[Availability.CHANGED]
    return None


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
