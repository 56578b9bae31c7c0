"""Roots that are somewhere else now: a directory that was renamed, or the whole disk on another machine.

Keys of skills do not name their root's place, so the rows stay; only what the state says of its place is another.
"""

from __future__ import annotations

import os
from dataclasses import replace

from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

# So many of the known skills are looked for, evenly chosen.
_SAMPLE = 50
# So many of these have to be there with the size that they had: others were changed on the way.
_SHARE = 0.75


def has_moved(memory: ScanCache, before: str, now: str) -> bool:
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


def relocated(memory: ScanCache, before: str, now: str) -> dict[str, CachedSkillFile]:
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
