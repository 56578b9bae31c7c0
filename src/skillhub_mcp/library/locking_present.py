"""Locking the skills that are there: those that came by hand, by another program, or were edited on purpose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from skillhub_mcp.errors import LibraryUnwritable, SkillNotFound
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.install import locked_as
from skillhub_mcp.library.sources.upstream import is_its_own_source
from skillhub_mcp.library.verifying import present, verify_skill
from skillhub_mcp.locks.file_digests import digests_of
from skillhub_mcp.locks.lock_file import UNKNOWN_ORIGIN, Lock, LockedByHub, LockedSkill, lock_text
from skillhub_mcp.locks.npx_hash import computed_hash
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.skills.names import near_names


class Locking(str, Enum):
    """What is done with a skill: locked, locked again with its edits, or left as it is, unchanged or edited."""

    LOCKED = "locked"
    LOCKED_ANEW = "locked again"
    UNCHANGED = "unchanged"
    EDITED = "edited"


@dataclass(frozen=True, slots=True)
class PresentSkill:
    """A skill of a root, what is done with it, its entry, and the files that differ from the lock."""

    name: str
    done: Locking
    locked: LockedSkill | None = None
    files: tuple[str, ...] = ()
    problem: str = ""


def lock_present(
    root: str, lock_path: str, names: Sequence[str] = (), *, dry_run: bool = False
) -> tuple[PresentSkill, ...]:
    """Lock the skills of a root that no lock of ours names; edited ones only if they are in `names`.

    Raises SkillNotFound, LockUnreadable, LibraryBusy and LibraryUnwritable.
    """
    there = present(root)
    for name in names:
        if name not in there:
            reason = f"{root} has no skill in a directory so named"
            raise SkillNotFound(name, near=near_names(name, there), reason=reason)
    wanted = tuple(dict.fromkeys(names)) or there
    if dry_run:
        lock = read_lock(lock_path) or Lock(lock_path)
        lock_text(lock)  # a later version is refused
        return tuple(_present(root, lock, name, named=bool(names)) for name in wanted)
    if not os.path.isdir(root):
        raise LibraryUnwritable(root, "it is not there", hint="skillhub roots lists the directories that are searched")
    with changing(root) as change:
        lock = change.read_lock(lock_path)
        found = tuple(_present(root, lock, name, named=bool(names)) for name in wanted)
        changed = [
            one.locked for one in found if one.done in (Locking.LOCKED, Locking.LOCKED_ANEW) and one.locked is not None
        ]
        if changed:
            change.commit({}, lock_path=lock_path, lock_text=lock_text(lock.having(*changed)))
    return found


def _present(root: str, lock: Lock, name: str, *, named: bool) -> PresentSkill:
    before = lock.find(name)
    directory = os.path.join(root, name)
    done = Locking.LOCKED
    entry = LockedSkill(name, _relative(directory, lock.path), "local", ours=LockedByHub(""))
    if before is not None:
        verified = verify_skill(root, before)
        if verified.npx_differs:
            return PresentSkill(name, Locking.LOCKED, replace(before, computed_hash=computed_hash(directory) or ""))
        if verified.ok and before.ours is not None:
            return PresentSkill(name, Locking.UNCHANGED, before)
        if not verified.ok and not named:
            shown = verified.differs.shown(verified.differs.first)
            return PresentSkill(name, Locking.EDITED, before, (shown,) if shown else (), problem=verified.problem)
        done = Locking.LOCKED if verified.ok else Locking.LOCKED_ANEW
        # Its source and its signer stay: only the files here are others.
        ours = before.ours or LockedByHub("")
        known = ours.from_source if before.ours is not None else "" if verified.ok else UNKNOWN_ORIGIN
        own = is_its_own_source(before, root, os.path.dirname(lock.path))
        entry = replace(before, ours=replace(ours, origin="" if own else known, findings={}))
    try:
        return PresentSkill(name, done, locked_as(entry, directory, digests_of(directory)))
    except OSError as error:
        return PresentSkill(name, Locking.EDITED, before, problem=f"it cannot be read: {error.strerror or error}")


def _relative(directory: str, lock_path: str) -> str:
    """Return the directory as npx skills writes a source on this machine: relative to the lock, with `/`."""
    try:
        path = os.path.relpath(os.path.realpath(directory), os.path.dirname(os.path.realpath(lock_path)))
    except ValueError:  # another drive
        return directory.replace(os.sep, "/")
    path = path.replace(os.sep, "/")
    return path if path.startswith("..") else f"./{path}"
