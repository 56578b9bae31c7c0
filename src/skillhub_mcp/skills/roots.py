"""Where are skills looked for? Roots are an ordered, labelled list of directories: an earlier one wins a name."""

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
    """Whose skills a root holds, the strongest first (DECISIONS 7)."""

    PROJECT = "project"
    USER = "user"
    HUB = "hub"
    BUILTIN = "builtin"


SOURCES = tuple(source.value for source in Source)


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A directory that is searched for skills. `path` is canonical; `given` is what the person wrote.

    `priority` is the root's place in its list, 1 being asked first. At most `max_directories` are looked into below
    it, where that is given (DECISIONS 9).
    """

    path: str
    given: str
    source: Source = Source.HUB
    priority: int = 1
    max_directories: int | None = None


def make_roots(directories: Sequence[str], *, source: Source = Source.HUB) -> tuple[SkillRoot, ...]:
    """Return the roots for `directories` in order, each real directory once."""
    return ordered((source, directory) for directory in directories)


def ordered(places: Iterable[tuple[Source, str]]) -> tuple[SkillRoot, ...]:
    """Return the roots for labelled directories in order, each real directory once, under its first label."""
    roots: dict[str, SkillRoot] = {}
    for source, given in places:
        path = os.path.realpath(os.path.expanduser(given))
        bound = MAX_PROJECT_DIRECTORIES if source is Source.PROJECT else None
        roots.setdefault(path, SkillRoot(path, given, source, len(roots) + 1, bound))
    return tuple(roots.values())


def choose_roots(
    places: Collection[str], *, project: Project, home: str, hub: Sequence[str], builtin: str
) -> tuple[SkillRoot, ...]:
    """Return the roots at those `places`, in the order of DECISIONS 7: the nearest to the working directory first."""
    return ordered(_labelled(places, project=project, home=home, hub=hub, builtin=builtin))


def codelia_roots(project: Project, *, home: str) -> tuple[SkillRoot, ...]:
    """Return the two places of seed 000 §5.1, and no other."""
    own = [(Source.PROJECT, path) for path in _in_each(project, ".agents", home)]
    return ordered([*own, (Source.USER, os.path.join(home, ".agents", "skills"))])


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
        # Started at home, as desktop clients start us, the person's own skills are no project's.
        if not _is_home(directory, home):
            yield os.path.join(directory, hidden, "skills")


def _is_home(directory: str, home: str) -> bool:
    return bool(home) and os.path.realpath(directory) == os.path.realpath(home)
