"""The skills at one moment, by precedence (earlier root, directory with the name, later change), and their problems."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property

from skillhub_mcp.skills.discovery import Ignored
from skillhub_mcp.skills.model import SKILL_FILE, Problem, Skill, Trust, skill_directory
from skillhub_mcp.skills.names import is_plain_name
from skillhub_mcp.skills.roots import SkillRoot, Source, is_at_or_below, split_source
from skillhub_mcp.skills.rules import Diagnostic

# They differ between machines, between readings of one file, or say nothing that the others do not.
_NOT_IN_DIGEST = frozenset(
    ("directory", "root", "stamp", "diagnostics", "trust", "source", "allowed_tools_text", "argument_hint")
)


@dataclass(frozen=True, slots=True)
class Refused:
    """A SKILL.md that is not served, and the violation that excludes it. `name` is empty if none was read."""

    directory: str
    diagnostics: tuple[Diagnostic, ...]
    root: str
    reason: Diagnostic
    name: str = ""

    def as_problem(self) -> Problem:
        """Return why it is refused, with the rule and the line."""
        reason = self.reason
        return Problem(
            os.path.join(self.directory, SKILL_FILE) + (f":{reason.line}" if reason.line else ""),
            f"is refused: {reason.message} ({reason.rule})",
            reason.hint or "correct the file",
            remote=f"The folder {os.path.basename(self.directory)!r}",
        )


@dataclass(frozen=True, slots=True)
class UnavailableRoot:
    """A root that had skills and is missing or empty now, the reason, and how many SKILL.md files are remembered."""

    path: str
    reason: str
    remembered: int


class ShadowReason(str, Enum):
    """Why one of two skills with the same name won."""

    COPY = "an identical copy"
    TRUST = "what awaits trust takes no name"
    ROOT = "the winner's root comes first"
    DIRECTORY = "the winner's directory has the name"
    LATER = "the winner was modified later"
    ORDER = "both were modified at once; the winner's path comes first"


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill to whose name another skill answers, and why that one does."""

    skill: Skill
    winner: Skill
    why: ShadowReason

    def as_problem(self) -> Problem:
        """Return which skill took the name, and why."""
        return Problem(
            self.skill.directory,
            f"lost the name {self.skill.name!r} to {self.winner.directory}: {self.why.value}",
            "rename one of the two, or load it by its path",
            remote=f"The folder {os.path.basename(self.skill.directory)!r}",
        )


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a scan found: `found` counts SKILL.md files; skills of `unavailable` roots are from an earlier scan."""

    roots: tuple[SkillRoot, ...]
    found: int
    refused: tuple[Refused, ...]
    problems: tuple[Problem, ...]
    ignored: Ignored
    seconds: float = field(compare=False)
    unavailable: tuple[UnavailableRoot, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """All skills of a scan, also the shadowed ones, sorted by directory, and its report."""

    everything: tuple[Skill, ...]
    report: ScanReport

    @cached_property
    def skills(self) -> tuple[Skill, ...]:
        """The skills that have their names, sorted by name."""
        return tuple(self._by_name[name][0] for name in sorted(self._by_name))

    @cached_property
    def contested(self) -> Mapping[str, tuple[Skill, ...]]:
        """The skills of each name that several have, in order of priority."""
        return {name: group for name, group in self._by_name.items() if len(group) > 1}

    def named(self, text: str) -> Sequence[Skill]:
        """Return the skills of that name, then those with that safe alias, in order of priority."""
        own = self._by_name.get(text, ())
        aliased = self._by_alias.get(text)
        return own if aliased is None else [*own, *(skill for one in aliased for skill in self.namesakes(one))]

    def namesakes(self, skill: Skill) -> tuple[Skill, ...]:
        """Return the skills of the same name, with itself, in order of priority."""
        return self._by_name.get(skill.name, (skill,))

    def rank(self, skill: Skill) -> int:
        """Return the place of a skill among its namesakes in order of priority, from 0."""
        places = (at for at, one in enumerate(self.namesakes(skill)) if one.directory == skill.directory)
        return next(places, 0)

    def root_rank(self, skill: Skill) -> int:
        """Return the place of the skill's root in the order that settles names, from 0, the strongest."""
        return self._root_ranks.get(skill.root, len(self._root_ranks))

    def exactly(self, text: str) -> Sequence[Skill]:
        """Return the skills that `name@source`, `plugin:name` or the path of a skill means, in order of priority."""
        plugin, _, name = text.partition(":")
        of_plugin = [skill for skill in self.named(name) if self.plugin(skill) == plugin] if name else []
        if of_plugin:
            return of_plugin
        plain, source = split_source(text)
        if source:
            return [skill for skill in self.named(plain) if self.source(skill).value == source]
        # What a publication holds has no path of this machine: its skills are named by label and relative path.
        if os.path.isabs(text) or os.path.dirname(text) or text in self._by_directory:
            directory = skill_directory(os.path.normpath(text))
            places = (directory, *(root.as_configured(directory) for root in self.report.roots))
            return [self._by_directory[place] for place in places if place in self._by_directory]
        return ()

    def by_directory(self, directory: str) -> Skill | None:
        """Return the skill in that canonical directory, whether served or shadowed."""
        return self._by_directory.get(directory)

    def source(self, skill: Skill) -> Source:
        """Return the source of the root that the skill was found under."""
        return self._roots[skill.root].source

    def within(self, skill: Skill) -> str:
        """Return the root of the project that brings the skill, or an empty text."""
        return self._roots[skill.root].within

    def plugin(self, skill: Skill) -> str:
        """Return the plugin of a client that brings the skill, or an empty text."""
        return self._roots[skill.root].plugin

    def real_directory(self, skill: Skill) -> str:
        """Return the canonical path of the skill's directory, as of the scan."""
        root = self._roots.get(skill.root)
        return skill.directory if root is None else root.resolved(skill.directory)

    def has_moved(self, skill: Skill) -> bool:
        """Whether a project's skill is elsewhere by now than at the scan: a link has taken a directory's place."""
        return skill.trust is not Trust.OWN and os.path.realpath(skill.directory) != self.real_directory(skill)

    def unavailable_root(self, skill: Skill) -> UnavailableRoot | None:
        """Return the skill's root if that is not there now, so that the skill is known and cannot be read."""
        return next((root for root in self.report.unavailable if root.path == skill.root), None)

    def below(self, roots: Collection[SkillRoot]) -> Snapshot | None:
        """Return the part below some of the roots, or None if one of them was not scanned."""
        paths = {root.path for root in roots}
        if not paths <= self._roots.keys():
            return None
        report = replace(
            self.report,
            roots=tuple(root for root in self.report.roots if root.path in paths),
            refused=tuple(refused for refused in self.report.refused if refused.root in paths),
            problems=tuple(
                one for one in self.report.problems if any(is_at_or_below(one.subject, path) for path in paths)
            ),
        )
        return Snapshot(tuple(skill for skill in self.everything if skill.root in paths), report)

    @cached_property
    def digest(self) -> str:
        """A hash over every skill's metadata and relative path: the same library has the same digest everywhere."""
        labels: dict[str, str] = {}
        for root in self.report.roots:
            before = sum(1 for label in labels.values() if label.startswith(f"{root.source.value}:"))
            labels[root.path] = f"{root.source.value}:{before}"
        facts = (json.dumps(_facts(skill, labels), sort_keys=True) for skill in self.everything)
        return f"sha256:{hashlib.sha256(chr(10).join(sorted(facts)).encode()).hexdigest()}"

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[Skill, ...]]:
        groups: dict[str, list[Skill]] = {}
        for skill in self.everything:
            groups.setdefault(skill.name, []).append(skill)
        return {name: tuple(sorted(group, key=self._priority)) for name, group in groups.items()}

    def _priority(self, skill: Skill) -> tuple[int, bool, int, str]:
        return self.root_rank(skill), not _carries_its_name(skill), -skill.stamp.mtime_ns, skill.directory

    @cached_property
    def _by_alias(self) -> Mapping[str, Sequence[Skill]]:
        by_alias: dict[str, list[Skill]] = {}
        for skill in self.skills:
            # A name of nothing but punctuation has no alias: the empty name must not find it.
            if not is_plain_name(skill.name) and (alias := skill.alias) and alias != skill.name:
                by_alias.setdefault(alias, []).append(skill)
        return by_alias

    @cached_property
    def _by_directory(self) -> Mapping[str, Skill]:
        return {skill.directory: skill for skill in self.everything}

    @cached_property
    def _root_ranks(self) -> Mapping[str, int]:
        # What awaits trust takes no name from what does not.
        order = sorted(self.report.roots, key=lambda root: root.trust.is_awaited)
        return {root.path: position for position, root in enumerate(order)}

    @cached_property
    def _roots(self) -> Mapping[str, SkillRoot]:
        return {root.path: root for root in self.report.roots}


def shadow_reason(skill: Skill, winner: Skill) -> ShadowReason:
    """Return why `winner` comes before `skill`, which has the same name."""
    if skill.stamp.is_of_whole_file and skill.stamp.content_hash == winner.stamp.content_hash:
        return ShadowReason.COPY
    if skill.awaits_trust and not winner.awaits_trust:
        return ShadowReason.TRUST
    if skill.root != winner.root:
        return ShadowReason.ROOT
    if _carries_its_name(winner) and not _carries_its_name(skill):
        return ShadowReason.DIRECTORY
    return ShadowReason.LATER if skill.stamp.mtime_ns < winner.stamp.mtime_ns else ShadowReason.ORDER


def _carries_its_name(skill: Skill) -> bool:
    """Whether the directory is named as the skill is, as the specification asks."""
    own = os.path.basename(skill.directory)
    return own == skill.name or own == skill.alias  # noqa: PLR1714 - the second is not computed for the first


def _facts(skill: Skill, labels: Mapping[str, str]) -> list[object]:
    """Return all of a skill's metadata, in values that are the same on every machine."""
    # A symlinked skill lies in a different directory on each machine.
    inside = is_at_or_below(skill.directory, skill.root)
    path = skill.directory[len(skill.root) :] if inside else os.path.basename(skill.directory)
    values = (getattr(skill, one.name) for one in fields(skill) if one.name not in _NOT_IN_DIGEST)
    return [labels[skill.root], path.replace(os.sep, "/").strip("/"), *values]
