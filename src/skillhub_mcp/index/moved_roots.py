"""Roots that are somewhere else now: a directory that was renamed, or the whole disk on another machine.

Keys of skills do not name their root's place, so the rows stay; only what the state says of its place is another.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace

from skillhub_mcp.index.state import IndexState, root_digest
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

log = logging.getLogger(__name__)

# So many of the known skills are looked for, evenly chosen.
_SAMPLE = 50
# So many of these have to be there with the size that they had: others were changed on the way.
_SHARE = 0.75


def located_anew(state: IndexState, sources: Mapping[str, str]) -> IndexState:
    """Return `state` with the roots that moved where they are now.

    A root has moved where it is gone, and one of those whose `sources` are given, by path, that is not known yet has
    its skills.
    """
    moved: dict[str, str] = {}
    for root, source in sources.items():
        if root in state.roots:
            continue
        for before, own in state.roots.items():
            word = own.label == source or own.label.startswith(f"{source}-")
            if word and before not in moved and before not in sources and _has_moved(own.memory, before, root):
                moved[before] = root
                break
    if not moved:
        return state
    for before, now in moved.items():
        log.info("The skills of %s are now in %s", before, now)
    roots = {moved.get(root, root): own for root, own in state.roots.items()}
    for before, now in moved.items():
        memory = _relocated(roots[now].memory, before, now)
        if any(memory.keys() & own.memory.keys() for root, own in roots.items() if root != now):
            # Another root has them, too: each skill has one row.
            return state
        roots[now] = replace(roots[now], digest=root_digest(memory, now), memory=memory)
    return replace(state, roots=roots)


def _has_moved(memory: ScanCache, before: str, now: str) -> bool:
    """Whether the root `before` is gone, and nearly all of its skills, which `memory` has, are below `now`."""
    above = os.path.join(before, "")
    below = [directory for directory in memory if directory.startswith(above)]
    chosen = below[:: max(1, len(below) // _SAMPLE)]
    if not chosen or os.path.lexists(before):
        return False
    found = sum(
        _size(os.path.join(now, directory.removeprefix(above), SKILL_FILE)) == memory[directory].stamp.size
        for directory in chosen
    )
    return found >= _SHARE * len(chosen)


def _relocated(memory: ScanCache, before: str, now: str) -> dict[str, CachedSkillFile]:
    """Return what was read below the root `before` as of the root `now`. What only links led to stays where it is."""
    above = os.path.join(before, "")
    moved: dict[str, CachedSkillFile] = {}
    for directory, entry in memory.items():
        place = directory
        if directory == before:
            place = now
        elif directory.startswith(above):
            place = os.path.join(now, directory.removeprefix(above))
        skill = None if entry.skill is None else replace(entry.skill, directory=place, root=now)
        moved[place] = entry._replace(root=now, skill=skill)
    return moved


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
