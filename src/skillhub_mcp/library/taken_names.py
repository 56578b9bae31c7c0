"""The skills of a root whose name another skill would take, although their directories differ."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from skillhub_mcp.errors import SkillConflict
from skillhub_mcp.library.places import is_plain_name
from skillhub_mcp.library.sources.locked_source import shown_source
from skillhub_mcp.locks.lock_file import Lock
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import read_snapshot


def displaced(
    root: str,
    lock: Lock,
    coming: Mapping[str, str],
    *,
    updated: Collection[str] = (),
    allowed: Collection[str] = (),
    replace: bool = False,
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, SkillConflict]]:
    """Return the directories that lose their name to each skill that comes in, and why a skill cannot come in.

    `coming` are the names in the SKILL.md of each directory that comes in, of which those in `updated` are there
    already. The directories in `allowed` may lose their names, with `replace` all.
    """
    top = os.path.realpath(root)
    if not coming or not os.path.isdir(top):
        return {}, {}
    here = read_snapshot((SkillRoot(top, root),)).everything
    before = {skill.directory: skill.name for skill in here}
    found, refused = dict[str, Sequence[str]](), dict[str, SkillConflict]()
    for directory, name in coming.items():
        if not name or before.get(os.path.join(top, directory)) == name:
            continue
        is_update = directory in updated
        losing = (os.path.relpath(one.directory, top) for one in here if _loses(one, name, directory, is_update))
        others = [other for other in losing if other not in coming and other not in allowed]
        twins = [other for other, its in coming.items() if its == name and not {other, directory} <= set(allowed)]
        if len(twins) > 1:
            what = f"would be the name of {' and '.join(sorted(twins))}"
            refused[directory] = SkillConflict(name, what, hint="choose one of them")
        elif others and not replace:
            refused[directory] = _taken(name, others[0], top, lock, is_update)
        else:
            found[directory] = [other for other in others if is_plain_name(other)]
    return found, refused


def _loses(skill: Skill, name: str, directory: str, is_update: bool) -> bool:
    if name not in (skill.name, skill.alias):
        return False
    # One whose directory carries the name keeps it, unless the other's does so too.
    names = (name, safe_alias(name))
    return is_update or directory in names or os.path.basename(skill.directory) not in names


def _taken(name: str, other: str, root: str, lock: Lock, is_update: bool) -> SkillConflict:
    locked = lock.find(other)
    known = f"is installed from {shown_source(locked)}" if locked else "is there, and no lock says where it is from"
    place = os.path.join(root, other)
    hint = "--replace puts that one into the trash"
    if is_update:
        hint = f"give the skill in {place} another name, or remove it"
    elif not is_plain_name(other):
        hint = "--replace gives the name to the new one"
    return SkillConflict(name, f"{known} (in {place})", hint=hint)
