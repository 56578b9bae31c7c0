"""The project of a working directory: its root, found by markers, and the directories from the root down."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from skillhub_mcp.environment import expand_home

DEFAULT_MARKERS = (".codelia", ".git", ".jj")

# The home directory, and those below it in which programs keep a user's own settings and data. A marker there is the
# settings of a program (`.codelia`) or a repository of settings (`.git`), and what lies below is no part of a project.
_NO_PROJECTS = (
    "",
    ".codelia",
    ".config",
    ".cache",
    ".local",
    ".local/share",
    ".local/state",
    "Library",
    "Library/Application Support",
)


# Clients start the servers of their plugins there.
_PLUGIN_DIRECTORIES = (
    ".claude/plugins",
    ".codex/plugins",
    ".cursor/plugins",
    ".copilot/installed-plugins",
    ".gemini/extensions",
)

# What clients tell a server of the project that they work on.
_CLIENT_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS")


@dataclass(slots=True)
class ClientDirectories:
    """The directories in which the client of a stdio server works, the first one first. They change with the client."""

    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """A project's `root`, the working directory `cwd`, and `chain`: every directory from the root down to `cwd`.

    All are canonical. If the working directory lies outside the root, the chain is the root alone. Where the working
    directory belongs to no project, `exists` is false, the root is that directory and the chain is empty.
    """

    root: str
    cwd: str
    chain: tuple[str, ...]
    exists: bool = True


def find_project(cwd: str, *, root: str = "", markers: Sequence[str] = DEFAULT_MARKERS, home: str = "") -> Project:
    """Return the project of `cwd`: `root`, else the nearest directory with a marker, else `cwd`."""
    here = os.path.realpath(cwd)
    found = os.path.realpath(os.path.join(here, expand_home(root))) if root else _marked(here, markers, home)
    return Project(root=found, cwd=here, chain=_chain(found, here))


def is_no_project(directory: str, *, home: str) -> bool:
    """Return whether a server in `directory` was given no project: `/`, the home, settings or plugins."""
    here = os.path.realpath(directory)
    if os.path.dirname(here) == here:
        return True
    return here in _no_projects(home) or any(
        here.startswith(os.path.join(os.path.realpath(os.path.join(home, name)), "")) for name in _PLUGIN_DIRECTORIES
    )


def directories_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the directories that the first usable variable of a client names."""
    named = (existing_directories(environment.get(name, "").split(os.pathsep)) for name in _CLIENT_VARIABLES)
    return next(filter(None, named), ())


def existing_directories(named: Iterable[str]) -> tuple[str, ...]:
    """Return the directories of this machine among paths and URIs. An unexpanded variable is none."""
    paths = map(_path, named)
    return tuple(path for path in dict.fromkeys(paths) if os.path.isabs(path) and os.path.isdir(path))


def _path(named: str) -> str:
    if not named.startswith("file:"):
        return named
    try:
        url = urlsplit(named)
    except ValueError:
        return ""
    return url2pathname(url.path) if url.netloc in ("", "localhost") else ""


def _no_projects(home: str) -> set[str]:
    return {os.path.realpath(os.path.join(home, name)) for name in _NO_PROJECTS} if home else set()


def _marked(here: str, markers: Sequence[str], home: str) -> str:
    no_projects = _no_projects(home)
    for directory in map(str, (Path(here), *Path(here).parents)):
        is_marked = any(os.path.lexists(os.path.join(directory, marker)) for marker in markers)
        if is_marked and directory not in no_projects:
            return directory
    return here


def _chain(root: str, here: str) -> tuple[str, ...]:
    inside = [str(one) for one in (Path(here), *Path(here).parents) if one.is_relative_to(root)]
    return tuple(reversed(inside)) or (root,)
