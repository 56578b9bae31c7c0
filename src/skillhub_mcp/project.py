"""The project of a working directory: its root, found by markers, and the directories from the root down."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Project:
    """A project's `root`, the working directory `cwd`, and `chain`: every directory from the root down to `cwd`.

    All are canonical. If the working directory lies outside the root, the chain is the root alone.
    """

    root: str
    cwd: str
    chain: tuple[str, ...]


def find_project(cwd: str, *, root: str = "", markers: Sequence[str] = DEFAULT_MARKERS, home: str = "") -> Project:
    """Return the project of `cwd`.

    The root is `root`, relative to `cwd`, or else the nearest directory at or above `cwd` that contains one of
    `markers`, or else `cwd`. Markers in `home` and in the directories of settings below it do not count.
    """
    here = os.path.realpath(cwd)
    found = os.path.realpath(os.path.join(here, expand_home(root))) if root else _marked(here, markers, home)
    return Project(root=found, cwd=here, chain=_chain(found, here))


def _marked(here: str, markers: Sequence[str], home: str) -> str:
    no_projects = {os.path.realpath(os.path.join(home, name)) for name in _NO_PROJECTS} if home else set()
    directory = here
    while True:
        marked = any(os.path.lexists(os.path.join(directory, marker)) for marker in markers)
        if marked and directory not in no_projects:
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return here
        directory = parent


def _chain(root: str, here: str) -> tuple[str, ...]:
    prefix = os.path.join(root, "")
    if here == root or not here.startswith(prefix):
        return (root,)
    chain = [root]
    for name in here.removeprefix(prefix).split(os.sep):
        chain.append(os.path.join(chain[-1], name))
    return tuple(chain)
