"""How many skills each place holds that the ones before it do not. It opens no file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from skillhub_mcp.skills.discovery import Walk, walk_roots
from skillhub_mcp.skills.places import PlaceReason, RootsChoice, SkillPlace, shell_path, why_not
from skillhub_mcp.skills.problems import Problem
from skillhub_mcp.skills.roots import SkillRoot, Source, located

MAX_DIRECTORIES = 500


@dataclass(frozen=True, slots=True)
class UnsearchedPlace:
    """A place that is not searched, the `directories` of its skills, and why it cannot be read (`problem`)."""

    place: SkillPlace
    shown: str
    directories: tuple[str, ...]
    at_least: bool
    reason: PlaceReason
    problem: str = ""

    @property
    def skills(self) -> int:
        """The number of its skills that no root has."""
        return len(self.directories)

    @property
    def count(self) -> str:
        """The number of skills in words."""
        return f"{'at least ' if self.at_least else ''}{self.skills:,} skill{'' if self.skills == 1 else 's'}"

    @property
    def where(self) -> str:
        """The skills and where they are, in words."""
        if self.place.source is Source.BUILTIN:
            return f"{self.skills:,} examples that come with SkillHub"
        return f"{self.count} in {self.shown}"

    def as_problem(self) -> Problem:
        """Return it as a problem for those who may know this machine's paths."""
        are = "is" if self.skills == 1 else "are"
        what = f"{are} not searched: {self.reason.why}"
        return Problem(self.where, what, self.reason.advice(self.skills), only_here=True)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The places, what chooses among them, and the directories that paths are shown from."""

    places: tuple[SkillPlace, ...]
    choice: RootsChoice
    home: str
    cwd: str

    def shown(self, path: str) -> str:
        """Return a path as people type it in a shell."""
        return shell_path(path, home=self.home, cwd=self.cwd)

    def unsearched(self, roots: Sequence[SkillRoot], known: Collection[str]) -> tuple[UnsearchedPlace, ...]:
        """Return the places that exist and are not among `roots`, without the canonical directories `known`."""
        others = self._others(roots)
        return self._reported(others, walk_roots(tuple(root for _, root in others)), known) if others else ()

    def survey(self, roots: Sequence[SkillRoot]) -> tuple[dict[str, int], tuple[UnsearchedPlace, ...]]:
        """Return the number of skills by the path of each root, and the other places that exist."""
        others = self._others(roots)
        walk = walk_roots((*roots, *(root for _, root in others)))
        counts = Counter(found.root for found in walk.found)
        return {root.path: counts[root.path] for root in roots}, self._reported(others, walk, ())

    def _others(self, roots: Sequence[SkillRoot]) -> list[tuple[SkillPlace, SkillRoot]]:
        searched = {root.real for root in map(located, roots)}
        there = [(place, _as_root(place)) for place in self.places if os.path.isdir(place.path)]
        return [(place, root) for place, root in there if root.real not in searched]

    def _reported(
        self, others: Sequence[tuple[SkillPlace, SkillRoot]], walk: Walk, known: Collection[str]
    ) -> tuple[UnsearchedPlace, ...]:
        roots, reported = {root.path: root for root in walk.roots}, []
        found: dict[str, list[str]] = {path: [] for path in roots}
        for one in walk.found:
            if roots[one.root].resolved(one.directory) not in known:
                found[one.root].append(one.directory)
        problems = {problem.path: problem.reason for problem in walk.problems}
        for place, root in others:
            shown, is_cut = self.shown(place.path), root.path in walk.cut
            reason = why_not(place, self.choice, shown=shown)
            problem = "" if is_cut else problems.get(root.path, "")
            reported.append(UnsearchedPlace(place, shown, tuple(found[root.path]), is_cut, reason, problem))
        return tuple(reported)


def _as_root(place: SkillPlace) -> SkillRoot:
    return located(SkillRoot(place.path, place.path, place.source, max_directories=MAX_DIRECTORIES, optional=True))
