"""Which project is this? Its root, found upwards from a working directory, and the directories between the two."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_MARKERS = (".codelia", ".git", ".jj")

# In a home directory this is where Codelia keeps a person's own settings: it makes no project of the home.
_SETTINGS_DIRECTORY = ".codelia"


@dataclass(frozen=True, slots=True)
class Project:
    """A project's `root`, the working directory, and `chain`: every directory from the one to the other.

    All are canonical. Where the working directory lies outside the root, the chain is the root alone.
    """

    root: str
    cwd: str
    chain: tuple[str, ...]


def find_project(cwd: str, *, root: str = "", markers: Sequence[str] = DEFAULT_MARKERS, home: str = "") -> Project:
    """Return the project of `cwd` (seeds 000 §5.2 and 001 §4.2, DECISIONS 8).

    `root` decides where it is given; a relative one is taken from `cwd`. Else it is the nearest directory, `cwd` or
    above it, that holds one of `markers` as a file or a directory; without any it is `cwd` itself. A directory that
    cannot be looked into holds none.
    """
    here = os.path.realpath(cwd)
    found = os.path.realpath(os.path.join(here, os.path.expanduser(root))) if root else _marked(here, markers, home)
    return Project(root=found, cwd=here, chain=_chain(found, here))


def _marked(here: str, markers: Sequence[str], home: str) -> str:
    own = os.path.realpath(home) if home else ""
    directory = here
    while True:
        minded = [marker for marker in markers if directory != own or marker != _SETTINGS_DIRECTORY]
        if any(os.path.lexists(os.path.join(directory, marker)) for marker in minded):
            return directory
        above = os.path.dirname(directory)
        if above == directory:
            return here
        directory = above


def _chain(root: str, here: str) -> tuple[str, ...]:
    below = os.path.join(root, "")
    if here == root or not here.startswith(below):
        return (root,)
    chain = [root]
    for name in here.removeprefix(below).split(os.sep):
        chain.append(os.path.join(chain[-1], name))
    return tuple(chain)
