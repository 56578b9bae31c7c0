"""Skill roots: an ordered list of directories with sources.

If two roots contain a skill of the same name, the one in the earlier root is served; `snapshot` applies this.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from skillhub_mcp.project import Project

MAX_PROJECT_DIRECTORIES = 2_000

Places = Literal["project", "user", "hub", "builtin", "claude"]


class Source(str, Enum):
    """Where a root's skills come from, highest priority first."""

    PROJECT = "project"
    USER = "user"
    HUB = "hub"
    BUILTIN = "builtin"


SOURCES = tuple(source.value for source in Source)


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A directory that is searched for skills. `path` is canonical; `given` is the path as configured.

    `priority` is the root's position in its list, 1 being the highest. If `max_directories` is set, at most that many
    directories are searched below it. One that is `optional` may be missing without a report.
    """

    path: str
    given: str
    source: Source = Source.HUB
    priority: int = 1
    max_directories: int | None = None
    optional: bool = False


def make_roots(directories: Sequence[str], *, source: Source = Source.HUB) -> tuple[SkillRoot, ...]:
    """Return the roots for `directories` in order, without duplicates of the same real directory."""
    return distinct_roots((source, directory) for directory in directories)


def distinct_roots(places: Iterable[tuple[Source, str]], *, hub_given: bool = True) -> tuple[SkillRoot, ...]:
    """Return the roots for pairs of source and directory in order; a real directory keeps its first source.

    Most projects and homes have no skills: only a directory of the hub is not optional, if it is `hub_given`.
    """
    roots: dict[str, SkillRoot] = {}
    for source, given in places:
        path = os.path.realpath(os.path.expanduser(given))
        bound = MAX_PROJECT_DIRECTORIES if source is Source.PROJECT else None
        optional = source is not Source.HUB or not hub_given
        roots.setdefault(path, SkillRoot(path, given, source, len(roots) + 1, bound, optional))
    return tuple(roots.values())


def choose_roots(
    places: Collection[str],
    *,
    project: Project,
    home: str,
    hub: Sequence[str],
    builtin: str,
    hub_given: bool = True,
) -> tuple[SkillRoot, ...]:
    """Return the roots for `places`, in order of priority: those nearest to the working directory first.

    The directories `hub` have to exist if they were given by a person (`hub_given`).
    """
    found = _labelled(places, project=project, home=home, hub=hub, builtin=builtin)
    return distinct_roots(found, hub_given=hub_given)


def agent_context_roots(project: Project, *, home: str) -> tuple[SkillRoot, ...]:
    """Return the roots of the agent-context tools: `.agents/skills` in the project's directories and in the home."""
    own = [(Source.PROJECT, path) for path in _in_each(project, ".agents", home)]
    return distinct_roots([*own, (Source.USER, os.path.join(home, ".agents", "skills"))])


def _labelled(
    places: Collection[str], *, project: Project, home: str, hub: Sequence[str], builtin: str
) -> Iterator[tuple[Source, str]]:
    for path in _of_project(places, project, home if "user" in places or "claude" in places else ""):
        yield Source.PROJECT, path
    hidden = [*([".agents", ".agent"] if "user" in places else []), *([".claude"] if "claude" in places else [])]
    for name in hidden:
        yield Source.USER, os.path.join(home, name, "skills")
    for path in hub if "hub" in places else ():
        yield Source.HUB, path
    if "builtin" in places:
        yield Source.BUILTIN, builtin


def _of_project(places: Collection[str], project: Project, home: str) -> Iterator[str]:
    if "project" in places:
        yield from _in_each(project, ".agents", home)
        if not _is_home(project.root, home):
            yield os.path.join(project.root, ".agent", "skills")
    if "claude" in places:
        yield from _in_each(project, ".claude", home)


def _in_each(project: Project, hidden: str, home: str) -> Iterator[str]:
    for directory in reversed(project.chain):
        # Desktop clients start the server in the home directory: the user's own skills belong to no project.
        if not _is_home(directory, home):
            yield os.path.join(directory, hidden, "skills")


def _is_home(directory: str, home: str) -> bool:
    return bool(home) and os.path.realpath(directory) == os.path.realpath(home)
