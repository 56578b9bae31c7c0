"""Where are skills looked for? Roots are an ordered list of directories: an earlier one wins over a later one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A directory that is searched for skills. `path` is canonical; `given` is what the person wrote."""

    path: str
    given: str


def make_roots(directories: Sequence[str]) -> tuple[SkillRoot, ...]:
    """Return the roots for `directories` in order, each real directory once (DECISIONS 7)."""
    roots: dict[str, SkillRoot] = {}
    for given in directories:
        path = os.path.realpath(os.path.expanduser(given))
        roots.setdefault(path, SkillRoot(path=path, given=given))
    return tuple(roots.values())
