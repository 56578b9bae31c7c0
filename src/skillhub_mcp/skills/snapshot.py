"""What does the hub serve right now? One frozen value: the skills, what was left out and why, and a digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.skills.discovery import WalkProblem
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.rules import Diagnostic


@dataclass(frozen=True, slots=True)
class Refused:
    """A SKILL.md that cannot be served, with the breaches that say why."""

    directory: str
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill whose name another skill won: the earlier root, then the later modified (DECISIONS 17)."""

    skill: Skill
    winner: Skill


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a scan found besides the skills it serves: nothing is lost in silence."""

    found: int
    refused: tuple[Refused, ...]
    shadowed: tuple[Shadowed, ...]
    problems: tuple[WalkProblem, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The skills served at one moment, by name. `everything` also holds the shadowed ones, for the index.

    `digest` changes exactly when a SKILL.md's place or content changes.
    """

    skills: tuple[Skill, ...]
    everything: tuple[Skill, ...]
    report: ScanReport
    digest: str
    _by_name: Mapping[str, Skill] = field(repr=False)
    _by_directory: Mapping[str, Skill] = field(repr=False)

    def named(self, name: str) -> Skill | None:
        """Return the skill of that name, or else the one whose safe alias it is."""
        return self._by_name.get(name)

    def at(self, directory: str) -> Skill | None:
        """Return the served skill in that canonical directory."""
        return self._by_directory.get(directory)


def make_snapshot(
    skills: Iterable[Skill],
    *,
    root_order: Sequence[str],
    found: int,
    refused: Sequence[Refused],
    problems: Sequence[WalkProblem],
) -> Snapshot:
    """Settle which skill each name means, and freeze the outcome."""
    rank = {root: position for position, root in enumerate(root_order)}
    everything = sorted(skills, key=lambda s: (rank.get(s.root, len(rank)), -s.stamp.mtime_ns, s.directory))
    winners: dict[str, Skill] = {}
    shadowed: list[Shadowed] = []
    for skill in everything:
        winner = winners.setdefault(skill.name, skill)
        if winner is not skill:
            shadowed.append(Shadowed(skill, winner))
    served = tuple(sorted(winners.values(), key=lambda s: s.name))
    # A name of nothing but signs has no alias, and must not answer to the empty name.
    by_name = {skill.alias: skill for skill in reversed(served) if skill.alias} | winners
    shadowed.sort(key=lambda s: (s.skill.name, s.skill.directory))
    everything.sort(key=lambda s: s.directory)
    return Snapshot(
        skills=served,
        everything=tuple(everything),
        report=ScanReport(
            found=found,
            refused=tuple(sorted(refused, key=lambda r: r.directory)),
            shadowed=tuple(shadowed),
            problems=tuple(problems),
        ),
        digest=_digest(everything, refused, root_order),
        _by_name=by_name,
        _by_directory={skill.directory: skill for skill in served},
    )


def _digest(everything: Sequence[Skill], refused: Sequence[Refused], root_order: Sequence[str]) -> str:
    """Hash places relative to their roots, so that the same library has the same digest on every machine."""

    def place(directory: str) -> str:
        for position, root in enumerate(root_order):
            if directory == root or directory.startswith(root.rstrip(os.sep) + os.sep):
                return f"{position}:{directory[len(root) :].lstrip(os.sep)}"
        return directory

    lines = [f"{place(s.directory)}\0{s.stamp.content_hash}" for s in everything]
    lines += [f"{place(r.directory)}\0refused" for r in refused]
    return "sha256:" + hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()
