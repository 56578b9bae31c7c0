"""Skill roots: an ordered list of directories with sources, known by their paths as configured."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from skillhub_mcp.environment import expand_home
from skillhub_mcp.project import Project
from skillhub_mcp.skills.model import Trust

MAX_PROJECT_DIRECTORIES = 2_000

AGENTS_SKILLS = os.path.join(".agents", "skills")

Places = Literal["project", "user", "hub", "builtin", "claude", "plugins"]


class Source(str, Enum):
    """Where a root's skills come from, highest priority first."""

    PROJECT = "project"
    USER = "user"
    HUB = "hub"
    BUILTIN = "builtin"


# Hidden, so that no walk finds a skill in it: what is being installed, and what was removed.
OWN_DIRECTORY = ".skillhub"
SOURCES = tuple(source.value for source in Source)


def is_own(path: str, root: str) -> bool:
    """Whether `path` is the hub's own directory in `root`, or below it. Compares the paths only."""
    return is_at_or_below(path, os.path.join(root, OWN_DIRECTORY))


def builtin_directory() -> str:
    """Return the directory of the skills that ship with the package, in an installation or in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "example_skills"
    return str(installed if installed.is_dir() else package.parents[1] / "examples" / "skills")


def split_source(text: str) -> tuple[str, str]:
    """Return the name and the source of `name@source`; the source is empty if there is none of that name."""
    plain, _, source = text.rpartition("@")
    return (plain, source) if plain and source in SOURCES else (text, "")


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A directory to search, as configured. `target` is where its links led, `within` the project that brings it.

    A `priority` of 1 is the highest. An `optional` root may be missing; `skillhub roots add` records others.
    """

    path: str
    given: str
    source: Source = Source.HUB
    priority: int = 1
    max_directories: int | None = None
    optional: bool = False
    recorded: bool = False
    target: str = ""
    within: str = ""
    trust: Trust = Trust.OWN
    plugin: str = ""

    @property
    def real(self) -> str:
        """The canonical path, as last looked up."""
        return self.target or self.path

    def leads_out(self, path: str) -> bool:
        """Whether a canonical path is out of the project that brings this root."""
        return bool(self.within) and not is_at_or_below(path, self.within)

    def as_configured(self, path: str) -> str:
        """Return a canonical path below this root with the root as configured; another path as it is."""
        return _moved(path, self.target, self.path) if self.target else path

    def resolved(self, path: str) -> str:
        """Return the canonical path for one below this root as configured; another path as it is."""
        return _moved(path, self.path, self.target) if self.target else path


def _moved(path: str, before: str, after: str) -> str:
    return after + path[len(before) :] if path == before or path.startswith(os.path.join(before, "")) else path


def located(root: SkillRoot) -> SkillRoot:
    """Return the root with the directory that its path leads to now."""
    real = os.path.realpath(root.path)
    target = "" if real == root.path else real
    return root if target == root.target else replace(root, target=target)


def make_roots(directories: Sequence[str]) -> tuple[SkillRoot, ...]:
    """Return the roots for `directories` in order, without duplicates of the same real directory."""
    return distinct_roots((Source.HUB, directory) for directory in directories)


def distinct_roots(
    places: Iterable[tuple[Source, str]], *, hub_given: bool = True, projects: Sequence[Project] = ()
) -> tuple[SkillRoot, ...]:
    """Return the roots in order; a real directory keeps its first source. What the `projects` bring awaits trust."""
    roots: dict[str, SkillRoot] = {}
    for source, given in places:
        bound = MAX_PROJECT_DIRECTORIES if source is Source.PROJECT else None
        optional = source is not Source.HUB or not hub_given
        root = SkillRoot(absolute(given), given, source, len(roots) + 1, bound, optional)
        root = located(root)
        # Whichever way leads into the project: what lies there is the repository's.
        ways = (root.path, root.real)
        around = [one.root for one in projects if any(is_at_or_below(way, one.root) for way in ways)]
        if source is Source.PROJECT and around:
            root = replace(root, within=max(around, key=len), trust=Trust.AWAITED)
        # A link out of the project must not make a directory of the person's one of the project's.
        roots.setdefault(root.path if root.leads_out(root.real) else root.real, root)
    return tuple(roots.values())


def absolute(given: str) -> str:
    """Return an absolute path without `~`. One with `..` is resolved, as that counts from the targets of links."""
    path = expand_home(given)
    return os.path.realpath(path) if os.pardir in path.split(os.sep) else os.path.abspath(path)


def choose_roots(
    places: Collection[str],
    *,
    project: Project,
    others: Sequence[Project] = (),
    home: str,
    hub: Sequence[str],
    builtin: str,
    hub_given: bool = True,
    recorded: Collection[str] = (),
    recorded_in_project: Collection[str] = (),
    plugins: Mapping[str, str] = MappingProxyType({}),
) -> tuple[SkillRoot, ...]:
    """Return the roots for `places` and what was recorded: of the project first, then of `others`, then the user's."""
    own_home = home if "user" in places or "claude" in places else ""
    in_project = [path for one in (project, *others) for path in _of_project(places, one, own_home)]
    in_project += recorded_in_project if "project" in places else ()
    hidden = [*([".agents", ".agent"] if "user" in places else []), *([".claude"] if "claude" in places else [])]
    labelled = [
        *((Source.PROJECT, path) for path in in_project),
        *((Source.USER, os.path.join(home, name, "skills")) for name in hidden),
        *((Source.HUB, path) for path in ((*hub, *recorded) if "hub" in places else ())),
        *((Source.HUB, path) for path in plugins),
        *((Source.BUILTIN, path) for path in ((builtin,) if "builtin" in places else ())),
    ]
    by_record = {*recorded, *recorded_in_project}
    roots = []
    for root in distinct_roots(labelled, hub_given=hub_given, projects=(project, *others)):
        plugin = plugins.get(root.given, "")
        is_recorded = root.source in (Source.HUB, Source.PROJECT) and root.given in by_record
        optional = root.source is Source.PROJECT if is_recorded else root.optional or bool(plugin)
        roots.append(replace(root, plugin=plugin, recorded=is_recorded, optional=optional))
    return tuple(roots)


def agent_context_roots(project: Project, *, home: str) -> tuple[SkillRoot, ...]:
    """Return the roots of the agent-context tools: `.agents/skills` in the project's directories and in the home."""
    own = [(Source.PROJECT, path) for path in in_each_directory(project, AGENTS_SKILLS, home)]
    return distinct_roots([*own, (Source.USER, os.path.join(home, ".agents", "skills"))], projects=(project,))


def is_at_or_below(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies in it. Compares the paths only."""
    return path == directory or path.startswith(os.path.join(directory, ""))


def _of_project(places: Collection[str], project: Project, home: str) -> Iterator[str]:
    if "project" in places:
        yield from project_places(project, home)
    if "claude" in places:
        yield from in_each_directory(project, os.path.join(".claude", "skills"), home)


def project_places(project: Project, home: str) -> Iterator[str]:
    """Yield the directories in which every client finds a project's skills."""
    yield from in_each_directory(project, AGENTS_SKILLS, home)
    if project.exists and not _is_home(project.root, home):
        yield os.path.join(project.root, ".agent", "skills")


def in_each_directory(project: Project, below: str, home: str) -> Iterator[str]:
    """Yield the path `below` each directory of the project, the nearest to the working directory first."""
    for directory in reversed(project.chain):
        # Desktop clients start the server in the home directory: the user's own skills belong to no project.
        if not _is_home(directory, home):
            yield os.path.join(directory, below)


def _is_home(directory: str, home: str) -> bool:
    return bool(home) and os.path.realpath(directory) == os.path.realpath(home)
