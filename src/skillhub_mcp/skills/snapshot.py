"""What does the hub serve right now? One frozen value: the skills, what was left out and why, and a digest."""

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
from skillhub_mcp.skills.roots import SOURCES, SkillRoot, Source
from skillhub_mcp.skills.rules import Diagnostic


@dataclass(frozen=True, slots=True)
class Refused:
    """A SKILL.md that cannot be served, with its breaches and the root it was found under.

    `reason` is the breach that keeps it out; the others may be such as would have been served around.
    """

    directory: str
    diagnostics: tuple[Diagnostic, ...]
    root: str
    reason: Diagnostic


class ShadowReason(str, Enum):
    """Why one of two skills of a name won (DECISIONS 17)."""

    COPY = "the same file word for word"
    ROOT = "the winner's root comes first"
    LATER = "the winner was modified later"
    ORDER = "both were modified at once; the winner's path comes first"


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill whose name another skill won: the earlier root, then the later modified (DECISIONS 17)."""

    skill: Skill
    winner: Skill
    why: ShadowReason


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a scan found besides the skills it serves: nothing is lost in silence (seed 003 §8).

    `roots` are those that were scanned, in order; `seconds` is what the scan took.
    """

    roots: tuple[SkillRoot, ...]
    found: int
    refused: tuple[Refused, ...]
    shadowed: tuple[Shadowed, ...]
    problems: tuple[WalkProblem, ...]
    ignored: Ignored
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class Snapshot:
    """The skills served at one moment, by name. `everything` also holds the shadowed ones, by directory."""

    skills: tuple[Skill, ...]
    everything: tuple[Skill, ...]
    report: ScanReport
    _by_name: Mapping[str, Skill] = field(repr=False)
    _by_directory: Mapping[str, Skill] = field(repr=False)
    _by_source: Mapping[Source, Mapping[str, Skill]] = field(repr=False)

    def named(self, name: str) -> Skill | None:
        """Return the skill that `name` means: a name, a safe alias, `name@source`, or a skill's path (DECISIONS 17)."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        plain, _, source = name.rpartition("@")
        if plain and source in SOURCES:
            return self._by_source.get(Source(source), {}).get(plain)
        if os.path.isabs(name):
            directory = os.path.normpath(name)
            return self._by_directory.get(
                os.path.dirname(directory) if os.path.basename(directory) == SKILL_FILE else directory
            )
        return None

    def at(self, directory: str) -> Skill | None:
        """Return the skill in that canonical directory, served under its name or shadowed."""
        return self._by_directory.get(directory)

    def of(self, source: Source) -> tuple[Skill, ...]:
        """Return the skills of one source by name, also those that lose their names to another source."""
        by_name = self._by_source.get(source, {})
        return tuple(sorted({id(skill): skill for skill in by_name.values()}.values(), key=lambda skill: skill.name))

    def source(self, skill: Skill) -> Source:
        """Return whose root the skill was found under."""
        return self._sources[skill.root]

    def handle(self, skill: Skill) -> str:
        """Return the shortest thing that `named` takes for exactly this skill."""
        source = self.source(skill)
        handles = (skill.name, f"{skill.name}@{source.value}")
        return next((handle for handle in handles if self.named(handle) is skill), skill.directory)

    @cached_property
    def digest(self) -> str:
        """A hash of what this index says of every skill: the same library has the same on every machine.

        Places count relative to their roots, and the roots by their sources (seed 003 §6.3). Times do not count, nor
        bodies: seed 003's index holds neither.
        """
        numbers: dict[str, str] = {}
        for root in self.report.roots:
            before = sum(1 for label in numbers.values() if label.startswith(f"{root.source.value}:"))
            numbers[root.path] = f"{root.source.value}:{before}"
        lines = sorted(json.dumps(_facts(skill, numbers), ensure_ascii=True) for skill in self.everything)
        return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @cached_property
    def _sources(self) -> Mapping[str, Source]:
        return {root.path: root.source for root in self.report.roots}


def make_snapshot(
    skills: Iterable[Skill],
    *,
    roots: Sequence[SkillRoot],
    found: int,
    refused: Sequence[Refused],
    problems: Sequence[WalkProblem],
    ignored: Ignored,
    began: float,
) -> Snapshot:
    """Settle which skill each name means, and freeze the outcome; `began` is when the scan did, by `perf_counter`."""
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
    # A name of nothing but signs has no alias, and must not answer to the empty name.
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


def _facts(skill: Skill, numbers: Mapping[str, str]) -> list[object]:
    """Return all that an index says of a skill, in values that look alike on every machine."""
    above = os.path.join(skill.root, "")
    # A skill that a link leads to lies elsewhere on each machine.
    inside = skill.directory == skill.root or skill.directory.startswith(above)
    place = skill.directory[len(skill.root) :] if inside else os.path.basename(skill.directory)
    return [
        numbers[skill.root],
        place.replace(os.sep, "/").strip("/"),
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
