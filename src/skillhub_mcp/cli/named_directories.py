"""The directories of a library that a person names: by their own name, by path, or by the name of the skill there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from skillhub_mcp.cli.arguments import decode_argument, path_argument
from skillhub_mcp.cli.library_place import LibraryPlace, place_of_root
from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.library.places import is_plain_name
from skillhub_mcp.library.verifying import present
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.model import skill_directory


def named_directories(
    typed: Sequence[str], place: LibraryPlace, options: Mapping[str, str], *, command: str
) -> list[str]:
    """Return the names of the directories of `place` that were meant; what names none stays as it was typed.

    Raises SkillNotFound for a skill of another root, with how `command` is given it, and for a name that the skills of
    several directories have; and LockUnreadable.
    """
    if not typed:
        return []
    settings = settings_of(options)
    lock = read_lock(place.lock_path)
    locked = {one.name for one in lock.skills} if lock is not None else set()
    return [_directory(one, place, locked, settings, command=command) for one in typed]


def _directory(typed: str, place: LibraryPlace, locked: set[str], settings: Settings, *, command: str) -> str:
    name, path = decode_argument(typed), path_argument(typed)
    if path is not None and name not in locked:
        path = skill_directory(path)
        root, name = os.path.split(path)
        if os.path.realpath(root) == os.path.realpath(place.root):
            return name
        if (hint := _in_another_root(name, place, settings, command=command, only=root)) is not None:
            raise SkillNotFound(decode_argument(typed), hint=hint, reason=f"it does not lie in {place.root}")
        return decode_argument(typed)
    if name in locked or not is_plain_name(name) or os.path.lexists(os.path.join(place.root, name)):
        return name
    found = _holding(place.root, name)
    if len(found) > 1:
        hint = f"give the directory: {' or '.join(map(repr, found))}"
        raise SkillNotFound(name, near=found, hint=hint, reason=f"several directories of {place.root} hold one")
    if found:
        return found[0]
    if (hint := _in_another_root(name, place, settings, command=command)) is not None:
        raise SkillNotFound(name, hint=hint, reason=f"{place.root} has no directory of that name")
    return name


def _holding(root: str, name: str) -> list[str]:
    """Return the directories right below a root whose skill has that name, or that safe alias."""
    from skillhub_mcp.skills.roots import make_roots
    from skillhub_mcp.skills.scanner import read_snapshot

    there = set(present(root))
    if not there:
        return []
    # Only where no directory has the name: reading every skill of a large library takes its time.
    skills = read_snapshot(make_roots([root])).named(name)
    real = os.path.realpath(root)
    below = (os.path.split(skill.directory) for skill in skills)
    return sorted(last for parent, last in below if os.path.realpath(parent) == real and last in there)


def _in_another_root(
    name: str, place: LibraryPlace, settings: Settings, *, command: str, only: str | None = None
) -> str | None:
    """Return how `command` is given the skill in a directory of that name below another root, or below `only` that."""
    from skillhub_mcp.chosen_roots import roots_of

    for root in roots_of(settings):
        if root.real == os.path.realpath(place.root) or (only is not None and root.real != os.path.realpath(only)):
            continue
        if is_plain_name(name) and os.path.isdir(os.path.join(root.path, name)):
            other = place_of_root(root.path, settings)
            return f"{root.path} has one: {other.command(*shlex.split(command), names=[name])}"
    return None
