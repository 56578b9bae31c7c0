"""What does seed 003 call a skill index? The entries, the controls, and the report of one build; values only."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.rules import Diagnostic
from skillhub_mcp.skills.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Controls:
    """What a skill's author asks of whoever runs it; the agent enforces it, not the registry (seed 003 §2.2)."""

    disable_model_invocation: bool
    user_invocable: bool
    allowed_tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Meta:
    """What a skill says of itself besides."""

    version: str | None
    author: str | None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One skill of the index (seed 003 §2.2). `path` is the skill's absolute directory."""

    name: str
    description: str
    source: Source
    path: str
    controls: Controls
    meta: Meta
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class ScannedRoot:
    """A root as it was found: 1 is the highest priority; `found` counts the SKILL.md files below it."""

    source: Source
    path: str
    priority: int
    exists: bool
    found: int


@dataclass(frozen=True, slots=True)
class IgnoredPlace:
    """A path that gave no skill, and why: `rule` is set where a SKILL.md broke one."""

    path: str
    reason: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One of two skills that claim a name."""

    source: Source
    path: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name that two skills claim, which one got it, and why (seed 003 §5)."""

    name: str
    winner: Claim
    overridden: Claim
    reason: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """How an index came about (seed 003 §8). `ignored_counts` are whole; `ignored` names the first hundred of each."""

    roots: tuple[ScannedRoot, ...]
    seconds: float
    found: int
    valid: int
    ignored_counts: Mapping[str, int]
    ignored: tuple[IgnoredPlace, ...]
    conflicts: tuple[Conflict, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class RegistryIndex:
    """The skills, by name, and the report of the build. `again` looks anew, where a registry of one's own built it."""

    skills: tuple[IndexEntry, ...]
    report: IndexReport
    again: Callable[[Sequence[str] | None], RegistryIndex] | None = field(default=None, repr=False, compare=False)


def index_of(
    snapshot: Snapshot,
    *,
    source: Source | None = None,
    allows: Callable[[Skill], bool] = lambda _: True,
    whole: bool = True,
) -> RegistryIndex:
    """Return `snapshot` as seed 003's index, of the skills that `allows` lets through.

    With `source`, the entries are that source's, also those that lost their names to another (seed 003 §5). Where it
    is not `whole`, the report too tells of nothing but those skills.
    """
    chosen = snapshot.skills if source is None else snapshot.of(source)
    skills = tuple(entry_of(skill, snapshot.source(skill)) for skill in chosen if allows(skill))
    valid = sum(1 for skill in snapshot.skills if allows(skill))
    report = _report(snapshot, valid, allows)
    return RegistryIndex(skills, report if whole else _narrowed(report, snapshot, allows))


def entry_of(skill: Skill, source: Source) -> IndexEntry:
    """Return the index's entry for a skill."""
    return IndexEntry(
        name=skill.name,
        description=skill.description,
        source=source,
        path=skill.directory,
        controls=Controls(skill.disable_model_invocation, skill.user_invocable, skill.allowed_tools),
        meta=Meta(skill.version, skill.author),
        diagnostics=skill.diagnostics,
    )


def _report(snapshot: Snapshot, valid: int, allows: Callable[[Skill], bool]) -> IndexReport:
    scanned = snapshot.report
    below = Counter(skill.root for skill in snapshot.everything)
    below.update(refused.root for refused in scanned.refused)
    passed_by = scanned.ignored
    counts = Counter({reason.value: count for reason, count in passed_by.counts.items()})
    ignored = [IgnoredPlace(path, reason.value) for reason, paths in passed_by.paths.items() for path in paths]
    for problem in scanned.problems:
        counts["cannot be looked into"] += 1
        ignored.append(IgnoredPlace(problem.path, problem.reason))
    for refused in scanned.refused:
        counts[refused.reason.rule] += 1
        ignored.append(IgnoredPlace(refused.directory, refused.reason.message, refused.reason.rule))
    return IndexReport(
        roots=tuple(
            ScannedRoot(root.source, root.path, root.priority, os.path.isdir(root.path), below[root.path])
            for root in scanned.roots
        ),
        seconds=scanned.seconds,
        found=scanned.found,
        valid=valid,
        ignored_counts=dict(sorted(counts.items())),
        ignored=tuple(ignored),
        conflicts=tuple(
            Conflict(
                lost.skill.name,
                winner=_claim(snapshot, lost.winner),
                overridden=_claim(snapshot, lost.skill),
                reason=lost.why.value,
            )
            for lost in scanned.shadowed
            if allows(lost.skill)
        ),
        digest=snapshot.digest,
    )


def _narrowed(report: IndexReport, snapshot: Snapshot, allows: Callable[[Skill], bool]) -> IndexReport:
    """Return the report without what it says of other skills, of files that are none, and of broken ones."""
    own = tuple(skill for skill in snapshot.everything if allows(skill))
    below = Counter(skill.root for skill in own)
    paths = {skill.directory for skill in own}
    return replace(
        report,
        roots=tuple(replace(root, found=below[root.path]) for root in report.roots),
        found=len(own),
        ignored_counts={},
        ignored=(),
        conflicts=tuple(one for one in report.conflicts if one.winner.path in paths),
        digest=replace(snapshot, everything=own).digest,
    )


def _claim(snapshot: Snapshot, skill: Skill) -> Claim:
    return Claim(snapshot.source(skill), skill.directory, skill.version)
