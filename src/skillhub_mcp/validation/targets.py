"""Find the skills that a command checks: at the given paths, or below the hub's roots."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from skillhub_mcp.environment import expand_home
from skillhub_mcp.skills.discovery import SkipReason, Walk, skill_file_in, walk_roots
from skillhub_mcp.skills.model import is_skill_file
from skillhub_mcp.skills.places import PROJECT_PLACES
from skillhub_mcp.skills.roots import SkillRoot, make_roots

_GIT = ".git"
# Of a skipped directory, such as a virtual environment.
_MOST_DIRECTORIES = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """A skill directory to check, or a path that cannot be checked and the `problem`, of `rule`."""

    path: str
    directory: str | None
    name: str = ""
    problem: str = ""
    rule: str = "file-missing"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A directory with skills that was not searched, and why."""

    path: str
    skills: int
    reason: str


@dataclass(frozen=True, slots=True)
class Targets:
    """What is checked, and the skipped directories."""

    found: tuple[Target, ...]
    skipped: tuple[Skipped, ...] = ()


def targets(paths: Sequence[str]) -> Targets:
    """Return the skills at `paths`: skill directories, SKILL.md files, or directories that contain skills.

    Of hidden directories, only those of clients are searched, such as `.claude/skills`.
    """
    each = [_at(path) for path in paths]
    return Targets(
        tuple(target for one in each for target in one.found),
        tuple(skipped for one in each for skipped in one.skipped),
    )


def targets_below(roots: tuple[SkillRoot, ...]) -> Targets:
    """Return every skill below the hub's `roots`, and every place that it cannot read."""
    return Targets(tuple(_found(walk_roots(roots))))


def _at(path: str) -> Targets:
    full_path = os.path.abspath(expand_home(path))
    if is_skill_file(os.path.basename(full_path)) and os.path.isfile(full_path):
        full_path = os.path.dirname(full_path)
    if not os.path.lexists(full_path):
        return Targets((Target(path, None, problem="the path does not exist"),))
    if not os.path.isdir(full_path):
        return Targets((Target(path, None, problem="it is neither a directory nor a SKILL.md"),))
    file = skill_file_in(full_path)
    if file is not None:
        name = os.path.basename(full_path)
        return Targets((Target(os.path.join(full_path, file), os.path.realpath(full_path), name),))
    walk = walk_roots(make_roots([full_path]))
    places = [place for hidden in _paths(walk, SkipReason.HIDDEN) for place in _client_places(hidden)]
    if places:
        walk = walk_roots(make_roots([full_path, *places]))
    found, skipped = tuple(_found(walk)), tuple(_skipped(walk, places))
    if not found:
        found = (Target(path, None, problem="the directory contains no SKILL.md, at any depth"),)
    return Targets(found, skipped)


def _found(walk: Walk) -> Iterator[Target]:
    for found in walk.found:
        yield Target(os.path.join(found.directory, found.file), found.directory, found.name)
    for place in walk.problems:
        unreadable = os.path.lexists(place.subject) and not os.access(place.subject, os.R_OK)
        rule = "file-unreadable" if unreadable else "file-missing"
        yield Target(place.subject, None, problem=f"{place.message}; {place.fix}", rule=rule)


def _client_places(hidden: str) -> Iterator[str]:
    above, name = os.path.split(hidden)
    for place in PROJECT_PLACES:
        path = os.path.join(above, *place.split("/"))
        if place.startswith(f"{name}/") and os.path.isdir(path):
            yield path


def _skipped(walk: Walk, searched: Collection[str]) -> Iterator[Skipped]:
    for reason in (SkipReason.HIDDEN, SkipReason.SKIPPED):
        for path in _paths(walk, reason):
            count = 0 if os.path.basename(path) == _GIT else _skills_in(path, searched)
            if count:
                yield Skipped(path, count, reason.value)
        unnamed = walk.ignored.counts.get(reason, 0) - len(_paths(walk, reason))
        if unnamed:
            yield Skipped(walk.roots[0].path, 0, f"{unnamed:,} more are each a {reason.value}")


def _skills_in(directory: str, searched: Collection[str]) -> int:
    count = 0
    for path, below, _ in islice(os.walk(directory), _MOST_DIRECTORIES):
        is_skill = skill_file_in(path) is not None
        count += is_skill
        # No skill is searched for inside a skill.
        below[:] = [one for one in below if not (is_skill or one == _GIT or os.path.join(path, one) in searched)]
    return count


def _paths(walk: Walk, reason: SkipReason) -> Sequence[str]:
    return walk.ignored.paths.get(reason, ())
