"""Bringing skills into a root: unpacked beside it, looked at, planned, and then, when a person agrees, all or none.

What is shown is what comes in: the files that were looked at are those that are copied into the root, by their digest.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from skillhub_mcp.errors import IntegrityFailed, SkillConflict, SkillUnreadable
from skillhub_mcp.library.bounds import BOUNDS
from skillhub_mcp.library.candidates import Candidate
from skillhub_mcp.library.changes.own_places import is_plain_name, places_of
from skillhub_mcp.library.changes.refusals import unwritable
from skillhub_mcp.library.changes.transaction import changing
from skillhub_mcp.library.entry_rules import entry_problem
from skillhub_mcp.library.looking import NO_POWERS, Look, Powers, accept, look_at
from skillhub_mcp.library.plan import (
    FileChanges,
    Files,
    InstalledSkill,
    Merge,
    Settlement,
    Verb,
    changes,
    plan_step,
    same,
)
from skillhub_mcp.library.skill_files import skill_files
from skillhub_mcp.library.sources.git_tree import GitTree
from skillhub_mcp.library.sources.locked_source import document_of, entry_from, is_same_place, place_of, shown_source
from skillhub_mcp.library.sources.signatures import Signature, SignatureState, check_signer, signature_of
from skillhub_mcp.library.sources.source import SkillSource
from skillhub_mcp.library.taken_names import displaced
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import unpack_skill
from skillhub_mcp.locks.content_digest import digest_of, executables_of, irregular_of, regular_of
from skillhub_mcp.locks.file_digests import digests_of, states_of
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, lock_text
from skillhub_mcp.locks.npx_hash import computed_hash
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.locks.receipts import InstallReceipt, read_receipt, receipt_text
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import is_specified_name, safe_alias
from skillhub_mcp.version import version

_ELSEWHERE = "move it elsewhere, then try again"
_ONLY_GIT = Signature(SignatureState.UNSIGNED, reason="only commits of a repository are signed")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person settled beforehand: names that may be replaced, edits, rules of the audit, and signers."""

    replace: bool = False
    settled: Settlement = Settlement.ASK
    accepted: frozenset[str] = frozenset()
    accept_signer: bool = False
    require_signed: bool = False


@dataclass(frozen=True, slots=True)
class Incoming:
    """A skill of a tree that is to be installed as `name`: where it lies there, and where it is from.

    `source` has its ref settled. It `updates` what a lock has from there; `moved_from` is where it lay before in its
    source, if that is elsewhere.
    """

    name: str
    tree: Tree
    path: str
    source: SkillSource
    title: str = ""
    description: str = ""
    updates: bool = False
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What installing one skill does, looked at and not done yet.

    `directory` has the files as they will be, edits that stay among them, and `digest` is theirs; `files` are the
    source's, and `locked_files` those that the lock will say: edits among them only where those were locked before. Of
    what is there now `before` are the files, `locked` the entry and `document` the SKILL.md, each None
    for nothing. `news` are the powers that what is there has not. `displaced` are the directories of other skills that
    have its name, and that it replaces.
    """

    incoming: Incoming
    verb: Verb
    entry: LockedSkill
    directory: str
    digest: str
    files: Files
    locked_files: Files
    before: Files | None
    locked: LockedSkill | None
    document: str | None
    merge: Merge
    changes: FileChanges
    look: Look
    news: Powers
    signature: Signature
    notes: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that it is installed under."""
        return self.incoming.name


def install_name(candidate: Candidate) -> str:
    """Return the name of the directory that a skill is installed as: its own, in the specification's letters."""
    name = candidate.name
    plain = is_specified_name(name) and name.isascii() and is_plain_name(name)
    safe = name if plain else safe_alias(name) or safe_alias(candidate.path.rpartition("/")[2]) or "skill"
    # What is a device on Windows could not be cloned there.
    return safe if entry_problem(safe) is None else f"{safe}-skill"


def refuse_name(name: str) -> None:
    """Raise SkillConflict for what cannot be the name of a directory that a skill is installed as, on some system."""
    if not is_plain_name(name) or entry_problem(name) is not None:
        raise SkillConflict(name, "cannot be the name of a skill's directory", hint="choose one with --name")


def refuse_unusable(candidate: Candidate, tree: Tree) -> None:
    """Raise what is wrong with a skill that cannot be had: ArchiveRefused, or SkillUnreadable."""
    if candidate.problem:
        skill_files(tree.entries, candidate.path, BOUNDS, name=candidate.name)
        raise SkillUnreadable(candidate.name, path=candidate.path, reason=candidate.problem)


def refuse_what_cannot_stay(root: str, name: str) -> None:
    """Raise what keeps any other files from taking the place of those that are installed under `name`.

    That is SkillConflict for something that could not stay beside them, such as a FIFO, or LibraryUnwritable.
    """
    place = os.path.join(root, name)
    if not os.path.isdir(place):
        return
    try:
        states = states_of(place)
    except OSError as error:
        raise unwritable(place, error) from error
    for path, state in states.items():
        if not stat.S_ISREG(state.mode) and not stat.S_ISLNK(state.mode):
            raise _cannot_stay(name, path)


def installed_skill(root: str, name: str, locked: LockedSkill | None) -> InstalledSkill:
    """Return what is under a name in a root. Raises SkillConflict for a file, and LibraryUnwritable."""
    place = os.path.join(root, name)
    source = None if locked is None else shown_source(locked)
    if not os.path.lexists(place):
        return InstalledSkill(name, source=source)
    if not os.path.isdir(place):
        raise SkillConflict(name, f"is not a directory in {root}", hint=f"move {place} elsewhere, then try again")
    try:
        files = digests_of(place)
    except OSError as error:
        raise unwritable(place, error) from error
    receipt = read_receipt(places_of(root).root, name)
    installed = None if receipt is None else receipt.from_source
    if os.name == "nt" and installed is not None:
        # There is no such bit: a file has the one that it was installed with.
        files = {path: replace(one, executable=installed.get(path, one).executable) for path, one in files.items()}
    if locked is not None and locked.ours is not None:
        has_no_origin = receipt is not None and receipt.origin is None and locked.ours.origin != ""
        if receipt is not None and (receipt.digest != locked.ours.digest or has_no_origin):
            # The lock is another than the one that this machine installed by, or nobody knows what the source gave.
            installed = None
        if installed is None and digest_of(files) == locked.ours.from_source:
            installed = regular_of(files)
    elif locked is not None and installed is None and locked.computed_hash and _is_hashed_so(place, locked):
        # Installed by npx skills, which leaves no receipt.
        installed = regular_of(files)
    return InstalledSkill(name, files, installed, source)


def _is_hashed_so(place: str, locked: LockedSkill) -> bool:
    try:
        return computed_hash(place) == locked.computed_hash
    except OSError as error:
        raise unwritable(place, error) from error


def prepare(
    root: str, lock_path: str, incoming: Sequence[Incoming], terms: Terms, scratch: str
) -> tuple[Proposal, ...]:
    """Unpack skills into the directory `scratch`, look at each, and return what installing them would do.

    Raises SkillConflict, SkillWithheld, IntegrityFailed for a signer, LockUnreadable, ArchiveRefused,
    SourceUnreachable and LibraryUnwritable.
    """
    lock = read_lock(lock_path) or Lock(lock_path)
    lock_text(lock)  # one of a newer version is refused before anything is fetched
    signatures: dict[int, Signature] = {}
    found: list[Proposal] = []
    for one in incoming:
        refuse_name(one.name)
        signature = signatures.setdefault(id(one.tree), signature_in(one.tree))
        found.append(_prepared(root, lock, one, terms, os.path.join(scratch, str(len(found))), signature))
    # With its SKILL.md a skill keeps its name.
    kept = (Verb.NOTHING, Verb.LOCK)
    wanted = [one for one in found if one.verb not in kept and SKILL_FILE not in one.merge.kept]
    others = displaced(
        root,
        lock,
        {one.name: one.look.name for one in wanted},
        updated={one.name for one in wanted if one.incoming.updates},
        replace=terms.replace,
    )
    return tuple(replace(one, displaced=tuple(others.get(one.name, ()))) for one in found)


def install(root: str, lock_path: str, proposals: Sequence[Proposal]) -> None:
    """Bring in what was proposed, all or none, if the root is still as it was looked at.

    Raises SkillConflict, IntegrityFailed, LockUnreadable, LibraryBusy and LibraryUnwritable.
    """
    wanted = [one for one in proposals if one.verb is not Verb.NOTHING]
    if not wanted:
        return
    with changing(root) as change:
        lock = change.read_lock(lock_path)
        for one in wanted:
            _check_unchanged(root, lock, one)
        puts = {}
        for one in wanted:
            if one.before is None or digest_of(one.before) != one.digest or one.changes:
                _copy(one.directory, change.staged(one.name), root)
                puts[one.name] = one.digest
        entries = [_with_foreign_fields(one, lock) for one in wanted]
        gone = {name for one in wanted for name in one.displaced}
        change.commit(
            puts,
            gone,
            lock_path=lock_path,
            lock_text=lock_text(lock.without(gone).having(*entries)),
            receipts={one.name: receipt_text(_receipt(one)) for one in wanted},
        )


def signature_in(tree: Tree) -> Signature:
    """Return what signs the commit of a tree; of what is no commit, that nothing does. Raises SourceUnreachable."""
    return signature_of(tree) if isinstance(tree, GitTree) else _ONLY_GIT


def put_back(root: str, staged: Mapping[str, tuple[str, Files]], gone: Collection[str] = ()) -> None:
    """Bring in skills by name, each from a directory with the files given, and put others into the trash; the lock
    stays as it is.

    Raises IntegrityFailed, SkillConflict, LibraryBusy and LibraryUnwritable.
    """
    with changing(root) as change:
        for name, (place, _) in staged.items():
            _copy(place, change.staged(name), root)
        puts = {name: digest_of(files) for name, (_, files) in staged.items()}
        receipts = {name: receipt_text(InstallReceipt(name, files)) for name, (_, files) in staged.items()}
        change.commit(puts, gone, receipts=receipts)


def check_as_locked(locked: LockedSkill, files: Files) -> None:
    """Raise IntegrityFailed where files are not those of a lock."""
    if locked.ours is None:
        raise IntegrityFailed(
            locked.name,
            expected="a digest in the lock",
            found="none",
            hint="`skillhub lock` writes it where it is right",
        )
    found = digest_of(files)
    if found != locked.ours.digest:
        if locked.ours.origin:
            hint = "edits were locked, and are only where they were made: bring that directory here, with its files"
        elif locked.ours.commit:
            hint = "that commit has other files: the lock was edited"
        else:
            hint = "its source has other files: `skillhub update` shows which"
        raise IntegrityFailed(locked.name, expected=locked.ours.digest, found=found, hint=hint)
    runs = executables_of(files)
    if runs != tuple(sorted(locked.ours.executable)):
        raise IntegrityFailed(
            f"what may be run of {locked.name}", expected=", ".join(locked.ours.executable) or "nothing",
            found=", ".join(runs) or "nothing",
        )  # fmt: skip
    irregular, locked_so = _listed(irregular_of(files)), _listed(dict(locked.ours.irregular))
    if irregular != locked_so:
        raise IntegrityFailed(
            f"what is no regular file of {locked.name}", expected=locked_so or "nothing", found=irregular or "nothing",
            hint="no source brings that: it is only where it was locked" if locked_so else None,
        )  # fmt: skip


def _listed(irregular: Mapping[str, str]) -> str:
    return ", ".join(f"{path} ({what})" for path, what in sorted(irregular.items()))


def _prepared(root: str, lock: Lock, one: Incoming, terms: Terms, place: str, signature: Signature) -> Proposal:
    os.mkdir(place)
    unpacked = unpack_skill(one.tree, one.path, place, name=str(one.source))
    files, digest = unpacked.files, digest_of(unpacked.files)
    locked = lock.find(one.name)
    entry = entry_from(one.name, one.tree, one.path, one.source)
    there = installed_skill(root, one.name, locked)
    is_same = locked is not None and (one.updates or is_same_place(locked, entry))
    if locked is not None and not is_same and there.source == str(one.source):
        # Two skills of one source, unless the one that is here has left its place there.
        before = place_of(locked)
        is_same = not any(found.path == document_of(before) for found in one.tree.entries)
        there = there if is_same else replace(there, source=f"{there.source}, where it is {before or '.'!r}")
    step = plan_step(
        replace(there, source=str(one.source)) if is_same else there,
        files,
        str(one.source),
        replace=terms.replace and not is_same,
        settled=terms.settled,
    )
    here = os.path.join(root, one.name)
    if step.verb is Verb.UPDATE and os.path.islink(here):
        raise SkillConflict(
            one.name,
            f"is a link in {root}, to {os.readlink(here)!r}, and what is elsewhere is not updated from here",
            hint="update it there, or take the link away with `skillhub remove` and add the skill anew",
        )
    if step.verb is Verb.NOTHING and locked is not None and (locked.ours is None or not _is_as_named(locked, entry)):
        # The same bytes, from another place or ref of the source, or by a lock of others: the lock is to say so.
        step = replace(step, verb=Verb.LOCK)
    before_ours = locked.ours if locked is not None and is_same else None
    check_signer(
        one.name,
        signature,
        locked=None if before_ours is None else (before_ours.signer, before_ours.principal),
        accepted=terms.accept_signer,
        required=terms.require_signed,
    )
    look = look_at(place, one.name)
    accepted = accept(one.name, look, digest, terms.accepted, dict(before_ours.findings) if before_ours else {})
    hashed = computed_hash(place) or ""
    is_there = there.files is not None
    stays_locked = before_ours is not None and before_ours.origin != "" and _is_locked_so(there.files, before_ours)
    look_before = look_at(here, one.name) if is_there else None
    _apply_merge(step.merge, here, place, name=one.name)
    after = digests_of(place)
    # Edits that a person locked stay locked. Others are theirs to lock: nobody but them said that they are meant.
    locked_files = after if stays_locked else files
    ours = LockedByHub(
        digest_of(locked_files),
        origin="" if same(locked_files, files) else digest,
        commit=one.tree.commit,
        tree=one.tree.tree_id(one.path),
        executable=executables_of(locked_files),
        irregular=tuple(irregular_of(locked_files).items()),
        fetched=f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        signer=signature.fingerprint,
        principal=signature.principal,
        findings=tuple(accepted.items()),
        installed_by=f"skillhub {version()}",
    )
    return Proposal(
        incoming=one,
        verb=step.verb,
        entry=replace(entry, computed_hash=(computed_hash(place) or "") if stays_locked else hashed, ours=ours),
        directory=place,
        digest=digest_of(after),
        files=files,
        locked_files=locked_files,
        before=there.files,
        locked=locked,
        document=look_before.document if look_before is not None else None,
        merge=step.merge,
        changes=changes(there.files or {}, after),
        look=look,
        news=look.powers.beyond(look_before.powers if look_before is not None else NO_POWERS),
        signature=signature,
        notes=unpacked.notes,
    )


def _is_locked_so(files: Files | None, ours: LockedByHub) -> bool:
    if files is None or digest_of(files) != ours.digest:
        return False
    return executables_of(files) == tuple(sorted(ours.executable)) and irregular_of(files) == dict(ours.irregular)


def _receipt(one: Proposal) -> InstallReceipt:
    origin = None if same(one.locked_files, one.files) else one.files
    return InstallReceipt(one.name, one.locked_files, origin)


def _is_as_named(locked: LockedSkill, entry: LockedSkill) -> bool:
    return is_same_place(locked, entry) and locked.ref == entry.ref


def _apply_merge(merge: Merge, here: str, place: str, *, name: str) -> None:
    """Bring the edits of the skill `name` that stay into what was unpacked. Raises SkillConflict."""
    for path in merge.dropped:
        there = os.path.join(place, *path.split("/"))
        if os.path.lexists(there):
            os.unlink(there)
            _remove_empty(os.path.dirname(there), place)
    for path in merge.kept:
        there, own = os.path.join(place, *path.split("/")), os.path.join(here, *path.split("/"))
        if not os.path.islink(own) and not os.path.isfile(own):
            raise _cannot_stay(name, path)
        try:
            os.makedirs(os.path.dirname(there), exist_ok=True)
            if os.path.islink(own) and os.path.lexists(there):
                os.unlink(there)
            shutil.copy(own, there, follow_symlinks=False)
        except OSError as error:
            what = f"has {path!r}, which was edited here and cannot stay: {error.strerror}"
            raise SkillConflict(name, what, files=[path], hint=_ELSEWHERE) from error


def _cannot_stay(name: str, path: str) -> SkillConflict:
    what = f"has {path!r}, which is neither a file nor a link, and cannot stay"
    return SkillConflict(name, what, files=[path], hint=_ELSEWHERE)


def _remove_empty(directory: str, top: str) -> None:
    """Remove a directory below `top`, and those that it was the last entry of, if nothing is in it."""
    while directory != top and not os.listdir(directory):
        os.rmdir(directory)
        directory = os.path.dirname(directory)


def _check_unchanged(root: str, lock: Lock, one: Proposal) -> None:
    there = os.path.join(root, one.name)
    now = digests_of(there) if os.path.isdir(there) else None
    if not _is_as_seen(now, one.before) or lock.find(one.name) != one.locked:
        raise SkillConflict(one.name, "was changed while it was looked at", hint="run the command again")


def _is_as_seen(now: Files | None, before: Files | None) -> bool:
    if now is None or before is None:
        return now is before
    return digest_of(now) == digest_of(before) and irregular_of(now) == irregular_of(before)


def _copy(directory: str, destination: str, root: str) -> None:
    """Copy what was unpacked, which has no links but those that stay. Raises LibraryUnwritable."""
    try:
        for top, directories, files in os.walk(directory):
            there = os.path.join(destination, os.path.relpath(top, directory))
            links = [name for name in directories if os.path.islink(os.path.join(top, name))]
            for name in set(directories).difference(links):
                os.mkdir(os.path.join(there, name))
            for name in (*files, *links):
                # Not `copytree`, which tells its errors as one text.
                shutil.copy2(os.path.join(top, name), os.path.join(there, name), follow_symlinks=False)
    except OSError as error:
        raise unwritable(root, error) from error


def _with_foreign_fields(one: Proposal, lock: Lock) -> LockedSkill:
    """Return the new entry, with what others wrote into the one before, if that is of the same source."""
    before = lock.find(one.name)
    return one.entry if before is None or one.verb is Verb.REPLACE else replace(one.entry, kept=before.kept)
