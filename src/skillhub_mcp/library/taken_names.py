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

_REPLACE = "--replace puts that one into the trash"
_REPLACE_BELOW = "--replace gives the name to the new one"


def displaced(
    root: str,
    lock: Lock,
    coming: Mapping[str, str],
    *,
    updated: Collection[str] = (),
    allowed: Collection[str] = (),
    replace: bool = False,
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, SkillConflict]]:
    """Return the directories of the root that lose their name to each skill that comes in, by its directory's name,
    and why a skill cannot come in: it would take the name of another one, and `replace` is not set.

    `coming` are the names that the skills have in their SKILL.md, by directory; those in `updated` are there already.
    The directories in `allowed` may lose their names.
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
        others = [
            os.path.relpath(skill.directory, top)
            for skill in here
            if os.path.relpath(skill.directory, top) not in coming
            and _loses(skill, name, directory, updated=directory in updated)
        ]
        others = [other for other in others if other not in allowed]
        twins = [other for other, its in coming.items() if its == name and not {other, directory} <= set(allowed)]
        if len(twins) > 1:
            what = f"would be the name of {' and '.join(sorted(twins))}"
            refused[directory] = SkillConflict(name, what, hint="choose one of them")
        elif others and not replace:
            refused[directory] = _taken(name, others[0], top, lock, updated=directory in updated)
        else:
            found[directory] = [other for other in others if is_plain_name(other)]
    return found, refused


def _loses(skill: Skill, name: str, directory: str, *, updated: bool) -> bool:
    if name not in (skill.name, skill.alias):
        return False
    # One whose directory carries the name keeps it, unless the other's does so too.
    names = (name, safe_alias(name))
    return updated or directory in names or os.path.basename(skill.directory) not in names


def _taken(name: str, other: str, root: str, lock: Lock, *, updated: bool) -> SkillConflict:
    locked = lock.find(other)
    known = (
        "is there, and no lock says where it is from" if locked is None else f"is installed from {shown_source(locked)}"
    )
    place = os.path.join(root, other)
    if updated:
        hint = f"give the skill in {place} another name, or remove it"
    else:
        hint = _REPLACE if is_plain_name(other) else _REPLACE_BELOW
    return SkillConflict(name, f"{known} (in {place})", hint=hint)
