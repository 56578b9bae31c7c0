"""Comparing the files of a root with its lock, and locking the skills that are there."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from skillhub_mcp.errors import LibraryUnwritable, LockUnreadable
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.install import locked_as
from skillhub_mcp.library.places import is_plain_name, last_with, places_of
from skillhub_mcp.library.sources.upstream import is_its_own_source
from skillhub_mcp.locks.file_digests import (
    NO_DIFFERENCES,
    Differences,
    computed_hash,
    differences,
    digest_of,
    digests_of,
)
from skillhub_mcp.locks.lock_file import UNKNOWN_ORIGIN, Lock, LockedByHub, LockedSkill, lock_at, lock_text, read_lock
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import is_utf_8, not_found


@dataclass(frozen=True, slots=True)
class VerifiedSkill:
    """One entry of a lock: what differs, or the `problem` for which that is not known.

    `in_trash` means that the trash has what was locked, and `npx_differs` that the files fit our digest and not the
    `computedHash` of npx skills.
    """

    locked: LockedSkill
    differs: Differences = NO_DIFFERENCES
    problem: str = ""
    is_missing: bool = False
    in_trash: bool = False
    npx_differs: bool = False

    @property
    def ok(self) -> bool:
        """Whether the files are those that were locked."""
        return not self.problem and not self.differs


@dataclass(frozen=True, slots=True)
class VerifiedLibrary:
    """The entries of a lock, and the names of the skills beside it that it does not name."""

    skills: tuple[VerifiedSkill, ...]
    unlocked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every locked skill is as it was locked."""
        return all(one.ok for one in self.skills)


def verify(
    root: str, lock_path: str, names: Collection[str] = (), *, lock_command: str = "skillhub lock"
) -> VerifiedLibrary:
    """Compare the skills of a root, or those of `names`, with its lock. Raises LockUnreadable and SkillNotFound."""
    lock = read_lock(lock_path)
    if lock is None:
        raise LockUnreadable(lock_path, hint=f"run {lock_command} to create one")
    for name in names:
        if lock.find(name) is None:
            locked = (one.name for one in lock.skills)
            raise not_found(name, locked, search_tool="", reason=f"{lock_path} does not name it")
    wanted = [one for one in lock.skills if not names or one.name in names]
    unlocked = () if names else tuple(name for name in present(root) if lock.find(name) is None)
    return VerifiedLibrary(tuple(verify_skill(root, one) for one in wanted), unlocked)


def present(root: str) -> tuple[str, ...]:
    """Return the names of the skills right below a root, sorted; without those that no server serves: not UTF-8."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return ()
    plain = (one for one in names if is_plain_name(one) and is_utf_8(one))
    return tuple(one for one in plain if os.path.isfile(os.path.join(root, one, SKILL_FILE)))


def verify_skill(root: str, locked: LockedSkill) -> VerifiedSkill:
    """Hold one skill against its entry."""
    if not is_plain_name(locked.name):
        return VerifiedSkill(locked, problem="its name is not that of a directory")
    directory = os.path.join(root, locked.name)
    if not os.path.isdir(directory):
        in_trash = _is_in_trash(root, locked)
        problem = "it is missing; the trash has it" if in_trash else "it is missing"
        return VerifiedSkill(locked, problem=problem, is_missing=True, in_trash=in_trash)
    try:
        hashed = computed_hash(directory) if locked.computed_hash else None
        npx_fits = hashed in (None, locked.computed_hash)
        if locked.ours is None:
            return VerifiedSkill(locked, Differences(files_differ=not npx_fits))
        differs = differences(locked.ours, digests_of(directory), directory)
    except OSError as error:
        named = os.path.relpath(error.filename, directory) if error.filename else "it"
        return VerifiedSkill(locked, problem=f"{named} cannot be read: {error.strerror or type(error).__name__}")
    in_trash = bool(differs) and _is_in_trash(root, locked)
    npx_differs = not (differs or differs.line_ends or npx_fits)
    return VerifiedSkill(locked, differs, in_trash=in_trash, npx_differs=npx_differs)


def _is_in_trash(root: str, locked: LockedSkill) -> bool:
    try:
        entry = last_with(places_of(root), locked.name)
        if entry is None or locked.ours is None:
            return entry is not None
        return digest_of(digests_of(entry.skill(locked.name))) == locked.ours.digest
    except OSError:
        return False


class Locking(str, Enum):
    """What is done with a skill: locked, locked again with its edits, or left as it is, unchanged or edited."""

    LOCKED = "locked"
    LOCKED_AGAIN = "locked again"
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
    """Lock the skills of a root without a digest of ours; edited ones only if they are in `names`."""
    there = present(root)
    for name in names:
        if name not in there:
            reason = f"{root} has no skill in a directory so named"
            raise not_found(name, there, search_tool="`skillhub list`", reason=reason)
    wanted = tuple(dict.fromkeys(names)) or there
    if dry_run:
        lock = lock_at(lock_path)
        return tuple(_present(root, lock, name, named=bool(names)) for name in wanted)
    if not os.path.isdir(root):
        raise LibraryUnwritable(root, "it is not there", hint="skillhub roots lists the directories that are searched")
    with changing(root) as change:
        lock = lock_at(lock_path)
        found = tuple(_present(root, lock, name, named=bool(names)) for name in wanted)
        done = (Locking.LOCKED, Locking.LOCKED_AGAIN)
        changed = [one.locked for one in found if one.done in done and one.locked is not None]
        if changed:
            change.commit((), lock_path=lock_path, lock_text=lock_text(lock.having(*changed)))
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
            return PresentSkill(name, Locking.EDITED, before, verified.differs.modes, problem=verified.problem)
        done = Locking.LOCKED if verified.ok else Locking.LOCKED_AGAIN
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
    try:
        path = os.path.relpath(os.path.realpath(directory), os.path.dirname(os.path.realpath(lock_path)))
    except ValueError:  # another drive
        path = directory
    path = path.replace(os.sep, "/")
    return path if path.startswith("..") or os.path.isabs(path) else f"./{path}"
