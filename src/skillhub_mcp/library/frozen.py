"""Restoring exactly what a lock says, at the commit that it names: every byte and executable bit, or nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from skillhub_mcp.errors import IntegrityFailed, SkillConflict, SkillNotFound
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.inspection import accept, look_at
from skillhub_mcp.library.install import (
    InstallOptions,
    check_as_locked,
    copy_skill,
    displaced,
    installed_skill,
    is_as_locked,
    refuse_name,
    renamed_files,
    signature_in,
)
from skillhub_mcp.library.sources.locked_source import place_of, source_of
from skillhub_mcp.library.sources.opening import OpenOptions, open_source
from skillhub_mcp.library.sources.signatures import check_signer
from skillhub_mcp.library.sources.source import SourceKind
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import unpack_skill
from skillhub_mcp.locks.content_digest import digest_of
from skillhub_mcp.locks.lock_file import Lock, LockedSkill
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.skills.names import typed_command


def missing_of(
    root: str, lock_path: str, *, replace: bool = False, verify: str
) -> tuple[tuple[LockedSkill, ...], tuple[str, ...]]:
    """Return the skills of a lock that are not in the root as it says, and the names of those with other line ends.

    `verify` is the command that names the files. Raises SkillConflict for one with other files, unless it may be
    replaced; LockUnreadable; and IntegrityFailed for an entry without a digest.
    """
    missing: list[LockedSkill] = []
    line_ends: list[str] = []
    lock = read_lock(lock_path)
    for locked in () if lock is None else lock.skills:
        refuse_name(locked.name)
        place = os.path.join(root, locked.name)
        if replace and os.path.islink(place) and not os.path.exists(place):
            missing.append(locked)
            continue
        there = installed_skill(root, locked.name, locked)
        try:
            check_as_locked(locked, there.files or {})
        except IntegrityFailed as error:
            if locked.ours is None:
                raise
            if there.files is not None and is_as_locked(there.files, locked.ours, place):
                line_ends.append(locked.name)
                continue
            if there.files is not None and not replace:
                hint = f"`{verify}` names the files; --replace puts what is there into the trash ({error.found})"
                raise SkillConflict(locked.name, "is there with other files than the lock says", hint=hint) from error
            missing.append(locked)
    return tuple(missing), tuple(line_ends)


def restore(
    root: str, lock_path: str, skills: Sequence[LockedSkill], opening: OpenOptions, terms: InstallOptions, scratch: str
) -> Sequence[str]:
    """Fetch skills at the commits of their lock, and install them, all or none; the lock stays as it is.

    Returns the directories of skills with the same names that they replace. Raises IntegrityFailed for any other byte
    or signer, and what `prepare` and a change of the root raise.
    """
    staged, digests, names = dict[str, str](), dict[str, str](), dict[str, str]()
    with ExitStack() as until_done:
        trees: dict[str, Tree] = {}
        for number, locked in enumerate(skills):
            source = source_of(locked, insecure=opening.insecure)
            if source.kind is SourceKind.GIT and locked.ours is not None and locked.ours.commit:
                source = replace(source, ref=locked.ours.commit)
            key = str(source)
            if key not in trees:
                trees[key] = open_source(source, opening)
                until_done.callback(trees[key].close)
            check_signer(locked.name, signature_in(trees[key]), required=terms.require_signed)
            below = place_of(locked)
            if not any(entry.path.startswith(f"{below}/" if below else "") for entry in trees[key].entries):
                hint = f"`{typed_command('skillhub update', locked.name)}` looks for it"
                raise SkillNotFound(locked.name, reason=f"{key} has nothing at {below or '.'!r}", hint=hint)
            place = os.path.join(scratch, str(number))
            os.mkdir(place)
            files = unpack_skill(trees[key], below, place, name=key).files
            if locked.ours is not None and locked.ours.renamed:
                files = renamed_files(place, locked.name, files)
            check_as_locked(locked, files)
            look = look_at(place, locked.name)
            if locked.ours is not None:
                accept(locked.name, look, locked.ours.from_source, terms.accepted, locked.ours.findings)
            staged[locked.name], digests[locked.name], names[locked.name] = place, digest_of(files), look.name
    lock = read_lock(lock_path) or Lock(lock_path)
    allowed = [one.name for one in lock.skills]
    others, taken = displaced(root, lock, names, allowed=allowed, replace=terms.replace)
    if taken:
        raise next(iter(taken.values()))
    gone = sorted({name for names in others.values() for name in names})
    with changing(root) as change:
        for name, place in staged.items():
            copy_skill(place, change.staged(name), root)
        change.commit(digests, gone)
    return gone
