"""Locking what is there already: skills that came in by hand, by another program, or were edited on purpose."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.errors import ArchiveRefused, LibraryUnwritable, SkillNotFound
from skillhub_mcp.library.candidates import Candidate, candidates
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.install import install_name, locked_as, signature_in
from skillhub_mcp.library.sources.locked_source import entry_from
from skillhub_mcp.library.sources.opening import OpenOptions, open_source, settled
from skillhub_mcp.library.sources.signatures import Signature, check_signer
from skillhub_mcp.library.sources.source import SkillSource
from skillhub_mcp.library.sources.upstream import is_its_own_source
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import unpack_skill
from skillhub_mcp.library.verifying import present, verify_skill
from skillhub_mcp.locks.content_digest import FileDigest
from skillhub_mcp.locks.file_digests import digests_of
from skillhub_mcp.locks.lock_file import UNKNOWN_ORIGIN, Lock, LockedByHub, LockedSkill, lock_text
from skillhub_mcp.locks.npx_hash import computed_hash
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.skills.suggestions import near_names


class Locking(str, Enum):
    """What becomes of a skill: locked, locked anew with its edits, or left as the lock has it: unchanged or edited.

    DIFFERENT is one whose files are not those of the source that it should be adopted from.
    """

    LOCKED = "locked"
    LOCKED_ANEW = "locked anew"
    UNCHANGED = "unchanged"
    EDITED = "edited"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class PresentSkill:
    """A skill of a root, what becomes of it, its entry, and the files that differ from the lock or the source."""

    name: str
    done: Locking
    locked: LockedSkill | None = None
    files: tuple[str, ...] = ()
    problem: str = ""


def lock_present(
    root: str, lock_path: str, names: Sequence[str] = (), *, dry_run: bool = False
) -> tuple[PresentSkill, ...]:
    """Lock the skills of a root that no lock of ours has; what was edited since only where it is one of `names`.

    Raises SkillNotFound, LockUnreadable, LibraryBusy and LibraryUnwritable.
    """
    wanted = _wanted(root, names)

    def each(lock: Lock) -> list[PresentSkill]:
        return [_present(root, lock_path, lock, name, named=bool(names)) for name in wanted]

    return _written(root, lock_path, each, dry_run=dry_run)


def adopt(
    root: str,
    lock_path: str,
    source: SkillSource,
    options: OpenOptions,
    names: Sequence[str] = (),
    *,
    dry_run: bool = False,
) -> tuple[PresentSkill, ...]:
    """Lock the skills of a root as those of a source, each whose every byte is what the source has; of `names`, or all
    that both have.

    Raises what `lock_present` and `open_source` raise, ArchiveRefused, and IntegrityFailed for a signature that does
    not fit.
    """
    there = _wanted(root, names)
    with closing(open_source(source, options)) as tree:
        found = candidates(tree, source.path, name=str(source)).skills
        shared = [(one, name) for name in there if (one := _named(found, name)) is not None]
        missing = [name for name in names if name not in {name for _, name in shared}]
        if missing or not shared:
            name = missing[0] if missing else str(source)
            near = near_names(name, sorted(one.name for one in found))
            raise SkillNotFound(name, near=near, reason=f"{source} has no skill that is there, too")
        whence, signature = settled(source, tree, options), signature_in(tree)
        check_signer(str(source), signature)
        adopted = [_adopted(root, lock_path, tree, whence, signature, one, name) for one, name in shared]
    return _written(root, lock_path, lambda _: adopted, dry_run=dry_run)


def _wanted(root: str, names: Sequence[str]) -> Sequence[str]:
    there = present(root)
    for name in names:
        if name not in there:
            raise SkillNotFound(
                name, near=near_names(name, there), reason=f"{root} has no skill in a directory so named"
            )
    return tuple(dict.fromkeys(names)) or there


def _written(
    root: str, lock_path: str, each: Callable[[Lock], Sequence[PresentSkill]], *, dry_run: bool
) -> tuple[PresentSkill, ...]:
    if dry_run:
        lock = read_lock(lock_path) or Lock(lock_path)
        # What cannot be written is told now as it would be then.
        lock_text(lock)
        return tuple(each(lock))
    if not os.path.isdir(root):
        raise LibraryUnwritable(root, "it is not there", hint="skillhub roots lists the directories that are searched")
    with changing(root) as change:
        lock = change.read_lock(lock_path)
        found = tuple(each(lock))
        changed = [one for one in found if one.done in (Locking.LOCKED, Locking.LOCKED_ANEW) and one.locked is not None]
        if changed:
            now = lock.having(*(one.locked for one in changed if one.locked is not None))
            change.commit({}, lock_path=lock_path, lock_text=lock_text(now))
    return found


def _present(root: str, lock_path: str, lock: Lock, name: str, *, named: bool) -> PresentSkill:
    before = lock.find(name)
    directory = os.path.join(root, name)
    done = Locking.LOCKED
    entry = LockedSkill(name, _relative(directory, lock_path), "local", ours=LockedByHub(""))
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
        # Its source and its signer stay what they were: only the files here are others.
        ours = before.ours or LockedByHub("")
        known = ours.from_source if before.ours is not None else "" if verified.ok else UNKNOWN_ORIGIN
        own = is_its_own_source(before, root, os.path.dirname(lock_path))
        entry = replace(before, ours=replace(ours, origin="" if own else known, findings={}))
    try:
        return PresentSkill(name, done, locked_as(entry, directory, digests_of(directory)))
    except OSError as error:
        return PresentSkill(name, Locking.EDITED, before, problem=f"it cannot be read: {error.strerror or error}")


def _adopted(
    root: str,
    lock_path: str,
    tree: Tree,
    source: SkillSource,
    signature: Signature,
    candidate: Candidate,
    name: str,
) -> PresentSkill:
    directory = os.path.join(root, name)
    entry = entry_from(name, tree, candidate.path, source)
    if entry.source_type == "local":
        entry = replace(entry, source=_relative(entry.source, lock_path))
    try:
        with scratch_directory("adopt") as place:
            theirs = unpack_skill(tree, candidate.path, place, name=str(source)).files
        ours = digests_of(directory)
    except ArchiveRefused as error:
        return PresentSkill(name, Locking.DIFFERENT, problem=error.message)
    except OSError as error:
        return PresentSkill(name, Locking.DIFFERENT, problem=f"it cannot be read: {error.strerror or error}")
    if different := _different(theirs, ours):
        return PresentSkill(name, Locking.DIFFERENT, files=different)
    by_hub = LockedByHub(
        "",
        commit=tree.commit,
        tree=tree.tree_id(candidate.path),
        signer=signature.fingerprint,
        principal=signature.principal,
    )
    return PresentSkill(name, Locking.LOCKED, locked_as(replace(entry, ours=by_hub), directory, ours))


def _different(theirs: Mapping[str, FileDigest], ours: Mapping[str, FileDigest]) -> tuple[str, ...]:
    """Return the paths whose kind, bytes or executable bits are not the same in both."""

    def seen(files: Mapping[str, FileDigest], path: str) -> tuple[str, str, bool] | None:
        one = files.get(path)
        return None if one is None else (one.irregular, one.sha256, one.executable and os.name != "nt")

    return tuple(sorted(path for path in theirs.keys() | ours.keys() if seen(theirs, path) != seen(ours, path)))


def _named(found: Sequence[Candidate], name: str) -> Candidate | None:
    return next((one for one in found if not one.problem and install_name(one) == name), None)


def _relative(directory: str, lock_path: str) -> str:
    """Return the directory as npx skills writes a source on this machine: relative to the lock, with `/`."""
    try:
        path = os.path.relpath(os.path.realpath(directory), os.path.dirname(os.path.realpath(lock_path)))
    except ValueError:
        return directory.replace(os.sep, "/")
    path = path.replace(os.sep, "/")
    return path if path.startswith("..") else f"./{path}"
