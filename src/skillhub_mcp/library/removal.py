"""Removing skills from a root into its trash, and bringing the last removal back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.errors import InvalidArgument, SkillConflict
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.places import TrashEntry, entries, is_plain_name, last_with, places_of, unwritable
from skillhub_mcp.locks.lock_file import Lock, lock_at, lock_text, parse_lock, read_plain
from skillhub_mcp.skills.names import not_found


@dataclass(frozen=True, slots=True)
class MovedSkill:
    """A skill that is removed or restored, whether the lock names it, and the target of a link."""

    name: str
    directory: str
    locked: bool
    is_there: bool = True
    linked_to: str = ""


def remove(
    root: str, lock_path: str, names: Sequence[str], *, force: bool = False, dry_run: bool = False
) -> tuple[MovedSkill, ...]:
    """Move skills into the trash and out of the lock, all or none; without `force` only locked ones."""
    found = _to_remove(root, lock_at(lock_path), names, force=force)
    if dry_run:
        return found
    with changing(root) as change:
        lock = lock_at(lock_path)
        found = _to_remove(root, lock, names, force=force)
        gone = [one.name for one in found]
        text = lock_text(lock.without(gone)) if any(one.locked for one in found) else None
        change.commit((), [name for name in gone if is_plain_name(name)], lock_path=lock_path, lock_text=text)
    return found


def bring_back(
    root: str, lock_path: str, names: Sequence[str] = (), *, dry_run: bool = False
) -> tuple[MovedSkill, ...]:
    """Restore skills with their lock entries, all or none: the latest of each of `names`, or the last removal."""
    found = _to_bring_back(root, lock_path, names)
    if dry_run:
        return tuple(found)
    with changing(root) as change:
        found = _to_bring_back(root, lock_path, names)
        lock = lock_at(lock_path)
        entries_before = (_lock_before(entry, lock_path).find(moved.name) for moved, entry in found.items())
        locked = [one for one in entries_before if one is not None]
        text = lock_text(lock.having(*locked)) if locked else None
        restores = {one.name: entry for one, entry in found.items()}
        change.commit((), lock_path=lock_path, lock_text=text, restores=restores)
    return tuple(found)


def _to_remove(root: str, lock: Lock, names: Sequence[str], *, force: bool) -> tuple[MovedSkill, ...]:
    locked = frozenset(one.name for one in lock.skills)
    found = [_found(root, name, locked) for name in dict.fromkeys(names)]
    for one in found:
        if not (one.locked or force):
            reason = f"is not named by {lock.path}: nothing says that it was installed"
            hint = "--force puts it into the trash all the same, and --undo brings it back"
            raise SkillConflict(one.name, reason, hint=hint)
    return tuple(found)


def _found(root: str, name: str, locked: frozenset[str]) -> MovedSkill:
    place = os.path.join(root, name)
    if not is_plain_name(name) and name in locked:
        # It is in the lock, and cannot be in the root.
        return MovedSkill(name, "", locked=True, is_there=False)
    there = os.path.isdir(place) or os.path.islink(place)
    if is_plain_name(name) and (name in locked or there):
        link = os.readlink(place) if os.path.islink(place) else ""
        return MovedSkill(name, place, name in locked, there, link)
    beside = os.listdir(root) if os.path.isdir(root) else []
    names = locked | {one for one in beside if is_plain_name(one) and os.path.isdir(os.path.join(root, one))}
    raise not_found(name, names, search_tool="`skillhub list`", reason=f"{root} has no directory of that name")


def _to_bring_back(root: str, lock_path: str, names: Sequence[str]) -> Mapping[MovedSkill, TrashEntry]:
    places = places_of(root)
    try:
        there = [one for one in entries(places) if one.skills and (names or one.removed)]
        if not there:
            hint = "`skillhub remove NAME` puts skills there"
            raise InvalidArgument("--undo", f"finds nothing: no removed skill lies in the trash of {root}", hint=hint)
        found: dict[MovedSkill, TrashEntry] = {}
        for name in dict.fromkeys(names or there[0].skills):
            entry = last_with(places, name) if names else there[0]
            if entry is None:
                known = {skill for one in there for skill in one.skills}
                reason = f"the trash of {root} has no directory of that name"
                raise not_found(name, known, search_tool="", reason=reason)
            locked = _lock_before(entry, lock_path).find(name) is not None
            found[MovedSkill(name, os.path.join(root, name), locked)] = entry
    except OSError as error:
        raise unwritable(places.trash, error) from error
    return found


def _lock_before(entry: TrashEntry, path: str) -> Lock:
    """Return the lock as it was before a change. Raises OSError and LockUnreadable."""
    content = read_plain(entry.lock_before)
    return Lock(path) if content is None else parse_lock(content.decode("utf-8", "replace"), path)
