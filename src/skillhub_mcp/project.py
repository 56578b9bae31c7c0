"""The project of a working directory: its root, found by markers, and the directories from the root down."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_MARKERS = (".codelia", ".git", ".jj")

# In the home directory, `.codelia` contains the user's own settings and does not mark a project.
_SETTINGS_DIRECTORY = ".codelia"


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

    `root`, if given, is the project's root; a relative one is relative to `cwd`. Otherwise the root is the nearest
    directory, `cwd` or above it, that contains one of `markers` as a file or a directory; without any, it is `cwd`
    itself. An unreadable directory counts as one without markers.
    """
    here = os.path.realpath(cwd)
    found = os.path.realpath(os.path.join(here, os.path.expanduser(root))) if root else _marked(here, markers, home)
    return Project(root=found, cwd=here, chain=_chain(found, here))


def _marked(here: str, markers: Sequence[str], home: str) -> str:
    home = os.path.realpath(home) if home else ""
    directory = here
    while True:
        candidates = [marker for marker in markers if directory != home or marker != _SETTINGS_DIRECTORY]
        if any(os.path.lexists(os.path.join(directory, marker)) for marker in candidates):
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
