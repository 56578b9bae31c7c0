"""The snapshot: the skills at one moment, the skill that each name refers to, a report on the others, and a digest.

Of two skills with one name, the one in the earlier root is served, then the one modified later; the other is reported
as shadowed, and stays available as `name@source` or by its path.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from skillhub_mcp.skills.discovery import Ignored, WalkProblem
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.names import shown_name
from skillhub_mcp.skills.roots import SOURCES, SkillRoot, Source
from skillhub_mcp.skills.rules import Diagnostic


@dataclass(frozen=True, slots=True)
class Refused:
    """A SKILL.md that is not served, with its violations and the root it was found under.

    `reason` is the violation that excludes it; the other violations may be harmless.
    """

    directory: str
    diagnostics: tuple[Diagnostic, ...]
    root: str
    reason: Diagnostic


@dataclass(frozen=True, slots=True)
class UnavailableRoot:
    """A root that had skills and is missing or empty now, the reason, and how many SKILL.md files are remembered."""

    path: str
    reason: str
    remembered: int


class ShadowReason(str, Enum):
    """Why one of two skills with the same name won."""

    COPY = "the same file word for word"
    ROOT = "the winner's root comes first"
    LATER = "the winner was modified later"
    ORDER = "both were modified at once; the winner's path comes first"


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill whose name another skill has won. The earlier root wins; within a root, the later modification."""

    skill: Skill
    winner: Skill
    why: ShadowReason


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a scan found besides the skills that are served: no file is dropped silently.

    `roots` are the scanned roots in order. `found` counts the SKILL.md files, `seconds` is the duration of the scan.
    The skills of the roots that are `unavailable` are those of an earlier scan.
    """

    roots: tuple[SkillRoot, ...]
    found: int
    refused: tuple[Refused, ...]
    shadowed: tuple[Shadowed, ...]
    problems: tuple[WalkProblem, ...]
    ignored: Ignored
    seconds: float = field(compare=False)
    unavailable: tuple[UnavailableRoot, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """The skills served at one moment, sorted by name. `everything` includes shadowed skills, sorted by directory."""

    skills: tuple[Skill, ...]
    everything: tuple[Skill, ...]
    report: ScanReport
    _by_name: Mapping[str, Skill] = field(repr=False)
    _by_directory: Mapping[str, Skill] = field(repr=False)
    _by_source: Mapping[Source, Mapping[str, Skill]] = field(repr=False)

    def find(self, name: str) -> Skill | None:
        """Return the skill for a name, a safe alias, `name@source`, or the path of a skill or its SKILL.md."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        plain, _, source = name.rpartition("@")
        if plain and source in SOURCES:
            return self._by_source.get(Source(source), {}).get(plain)
        if os.path.isabs(name):
            directory = os.path.normpath(name)
            directory = os.path.dirname(directory) if os.path.basename(directory) == SKILL_FILE else directory
            places = (directory, *(root.as_configured(directory) for root in self.report.roots))
            return next((self._by_directory[place] for place in places if place in self._by_directory), None)
        return None

    def by_directory(self, directory: str) -> Skill | None:
        """Return the skill in that canonical directory, whether served or shadowed."""
        return self._by_directory.get(directory)

    def by_source(self, source: Source) -> tuple[Skill, ...]:
        """Return the skills of one source, sorted by name, including those shadowed by another source."""
        by_name = self._by_source.get(source, {})
        return tuple(sorted({id(skill): skill for skill in by_name.values()}.values(), key=lambda skill: skill.name))

    def source(self, skill: Skill) -> Source:
        """Return the source of the root that the skill was found under."""
        return self._roots[skill.root].source

    def real_directory(self, skill: Skill) -> str:
        """Return the canonical path of the skill's directory, as of the scan."""
        root = self._roots.get(skill.root)
        return skill.directory if root is None else root.resolved(skill.directory)

    def unavailable_root(self, skill: Skill) -> UnavailableRoot | None:
        """Return the skill's root if that is not there now, so that the skill is known and cannot be read."""
        return next((root for root in self.report.unavailable if root.path == skill.root), None)

    def handle(self, skill: Skill) -> str:
        """Return the shortest text for which `find` returns exactly this skill, and that can be shown as it is."""
        name = shown_name(skill.name)
        handles = (name, f"{name}@{self.source(skill).value}")
        return next((handle for handle in handles if self.find(handle) is skill), skill.directory)

    @cached_property
    def digest(self) -> str:
        """A hash over every skill's metadata: the same library has the same digest on every machine.

        It includes paths relative to their roots, and roots by their sources. It excludes times and bodies, which the
        registry's index does not contain either.
        """
        labels: dict[str, str] = {}
        for root in self.report.roots:
            before = sum(1 for label in labels.values() if label.startswith(f"{root.source.value}:"))
            labels[root.path] = f"{root.source.value}:{before}"
        lines = sorted(json.dumps(_facts(skill, labels), ensure_ascii=True) for skill in self.everything)
        return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @cached_property
    def _roots(self) -> Mapping[str, SkillRoot]:
        return {root.path: root for root in self.report.roots}


def make_snapshot(
    skills: Iterable[Skill],
    *,
    roots: Sequence[SkillRoot],
    found: int,
    refused: Sequence[Refused],
    problems: Sequence[WalkProblem],
    ignored: Ignored,
    began: float,
    unavailable: Sequence[UnavailableRoot] = (),
) -> Snapshot:
    """Resolve name conflicts and return the snapshot. `began` is the start of the scan, from `time.perf_counter`."""
    rank = {root.path: position for position, root in enumerate(roots)}
    sources = {root.path: root.source for root in roots}
    everything = sorted(skills, key=lambda s: (rank.get(s.root, len(rank)), -s.stamp.mtime_ns, s.directory))
    winners: dict[str, Skill] = {}
    by_source: dict[Source, dict[str, Skill]] = {}
    shadowed: list[Shadowed] = []
    for skill in everything:
        winner = winners.setdefault(skill.name, skill)
        by_source.setdefault(sources[skill.root], {}).setdefault(skill.name, skill)
        if winner is not skill:
            shadowed.append(Shadowed(skill, winner, _why(skill, winner)))
    for own in by_source.values():
        for skill in list(own.values()):
            own.setdefault(skill.alias or skill.name, skill)
    served = tuple(sorted(winners.values(), key=lambda s: s.name))
    # A name of nothing but punctuation has no alias: the empty name must not find it.
    by_name = {skill.alias: skill for skill in reversed(served) if skill.alias} | winners
    shadowed.sort(key=lambda s: (s.skill.name, s.skill.directory))
    everything.sort(key=lambda s: s.directory)
    return Snapshot(
        skills=served,
        everything=tuple(everything),
        report=ScanReport(
            roots=tuple(roots),
            found=found,
            refused=tuple(sorted(refused, key=lambda r: r.directory)),
            shadowed=tuple(shadowed),
            problems=tuple(problems),
            ignored=ignored,
            seconds=time.perf_counter() - began,
            unavailable=tuple(unavailable),
        ),
        _by_name=by_name,
        _by_directory={skill.directory: skill for skill in everything},
        _by_source=by_source,
    )


def _why(skill: Skill, winner: Skill) -> ShadowReason:
    if skill.stamp.is_of_whole_file and skill.stamp.content_hash == winner.stamp.content_hash:
        return ShadowReason.COPY
    if skill.root != winner.root:
        return ShadowReason.ROOT
    return ShadowReason.LATER if skill.stamp.mtime_ns < winner.stamp.mtime_ns else ShadowReason.ORDER


def _facts(skill: Skill, labels: Mapping[str, str]) -> list[object]:
    """Return all of a skill's metadata, in values that are the same on every machine."""
    prefix = os.path.join(skill.root, "")
    # A symlinked skill lies in a different directory on each machine.
    inside = skill.directory == skill.root or skill.directory.startswith(prefix)
    path = skill.directory[len(skill.root) :] if inside else os.path.basename(skill.directory)
    return [
        labels[skill.root],
        path.replace(os.sep, "/").strip("/"),
        skill.name,
        skill.description,
        skill.category,
        skill.tags,
        skill.always_apply,
        skill.allowed_tools,
        skill.disable_model_invocation,
        skill.user_invocable,
        skill.version,
        skill.author,
        skill.license,
        skill.compatibility,
        json.dumps(skill.metadata, sort_keys=True),
    ]
