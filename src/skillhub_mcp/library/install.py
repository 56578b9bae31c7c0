"""Bringing skills into a root: unpacked aside, inspected, planned, and installed when a person agrees.

The files that were inspected are those that are copied into the root.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache

from skillhub_mcp.errors import (
    IntegrityFailed,
    LibraryUnwritable,
    SkillConflict,
    SkillHubError,
    SkillUnreadable,
)
from skillhub_mcp.library.candidates import Candidate
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.inspection import NO_CAPABILITIES, Capabilities, Look, accept, look_at
from skillhub_mcp.library.places import is_plain_name, unwritable
from skillhub_mcp.library.plan import (
    FileChanges,
    Files,
    InstalledSkill,
    Settlement,
    Verb,
    changes,
    different,
    plan_step,
)
from skillhub_mcp.library.sources.git_tree import Signature, check_signer, signature_of
from skillhub_mcp.library.sources.opening import OpenOptions, open_source
from skillhub_mcp.library.sources.source import (
    SkillSource,
    SourceKind,
    document_of,
    is_same_place,
    locked_from,
    place_of,
    shown_source,
    source_of,
)
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import SkillFiles, entry_problem, unpack_skill
from skillhub_mcp.locks.file_digests import (
    FileDigest,
    computed_hash,
    differences,
    digest_of,
    digests_of,
    executables_of,
    files_below,
)
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, lock_at, lock_text
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import is_specified_name, safe_alias
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import read_snapshot
from skillhub_mcp.validation.fixes import renamed
from skillhub_mcp.version import version

_BRINGS_FILES = (Verb.ADD, Verb.UPDATE, Verb.REPLACE)


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """What a person settled beforehand: names that may be replaced, edits, rules of the audit, and signers."""

    replace: bool = False
    settled: Settlement = Settlement.ASK
    accepted: frozenset[str] = frozenset()
    accept_signer: bool = False
    require_signed: bool = False


@dataclass(frozen=True, slots=True)
class Incoming:
    """A skill at `path` of a tree that is to be installed as `name`.

    It `updates` what a lock has from there; `moved_from` is where it lay before in its source. With `rename` its
    SKILL.md gets the new name, too.
    """

    name: str
    tree: Tree
    path: str
    source: SkillSource
    title: str = ""
    description: str = ""
    updates: bool = False
    moved_from: str | None = None
    rename: bool = False

    @property
    def known_as(self) -> str:
        """The name by which agents know the skill."""
        return self.name if self.rename else self.title or self.name


@dataclass(frozen=True, slots=True)
class Proposal:
    """What installing one skill does.

    `directory` has the source's `files`; `after` will be in the root: these, or the edited ones that stay. Of what is
    there now, `before` are the files, `locked` the entry and `document` the SKILL.md. `lost` are edits that the
    source's files replace, `news` are new capabilities.
    """

    incoming: Incoming
    verb: Verb
    entry: LockedSkill
    directory: str
    files: Files
    after: Files
    before: Files | None
    locked: LockedSkill | None
    document: str | None
    lost: tuple[str, ...]
    changes: FileChanges
    look: Look
    news: Capabilities
    signature: Signature
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that it is installed under."""
        return self.incoming.name

    @property
    def kept(self) -> tuple[str, ...]:
        """The paths of edited files that stay as they are."""
        return different(self.after, self.files)


@dataclass(frozen=True, slots=True)
class Refused:
    """A skill that cannot be installed or updated, and why; it stops no other."""

    name: str
    error: SkillHubError


@dataclass(frozen=True, slots=True)
class Prepared:
    """What installing several skills would do, and which of them cannot be installed."""

    proposals: tuple[Proposal, ...]
    refused: tuple[Refused, ...] = ()


def install_name(candidate: Candidate) -> str:
    """Return the name of the directory that a skill is installed as: its own, in the specification's letters."""
    name = candidate.name
    if not (is_specified_name(name) and name.isascii() and is_plain_name(name)):
        name = safe_alias(name) or safe_alias(candidate.path.rpartition("/")[2]) or "skill"
    # A device on Windows could not be cloned there.
    return name if entry_problem(name) is None else f"{name}-skill"


def refuse_name(name: str) -> None:
    """Raise SkillConflict for what cannot be the name of an installed skill's directory on some system."""
    if not is_plain_name(name) or entry_problem(name) is not None:
        raise SkillConflict(name, "cannot be the name of a skill's directory", hint="choose one with --name")


def refuse_unusable(candidate: Candidate, tree: Tree) -> None:
    """Raise ArchiveRefused or SkillUnreadable for a skill that cannot be installed."""
    if candidate.problem:
        SkillFiles(tree.entries, candidate.path, name=candidate.name)
        raise SkillUnreadable(candidate.name, path=candidate.path, reason=candidate.problem)


def installed_skill(root: str, name: str, locked: LockedSkill | None) -> InstalledSkill:
    """Return what is under a name in a root. Raises SkillConflict for a file, and LibraryUnwritable."""
    place = os.path.join(root, name)
    source = None if locked is None else shown_source(locked)
    if not os.path.lexists(place):
        return InstalledSkill(name, source=source)
    if not os.path.isdir(place):
        raise SkillConflict(name, f"is not a directory in {root}", hint=f"move {place} elsewhere, then try again")
    try:
        # Python writes bytecode when an agent runs a script.
        files = {path: one for path, one in digests_of(place).items() if "__pycache__" not in path.split("/")}
        if locked is None:
            return InstalledSkill(name, files, source)
        if locked.ours is None:
            # Only npx skills has locked it.
            return InstalledSkill(name, files, source, edited=computed_hash(place) != (locked.computed_hash or "?"))
    except OSError as error:
        raise unwritable(place, error) from error
    edited = locked.ours.has_edits or bool(differences(locked.ours, files, place))
    return InstalledSkill(name, files, source, locked.ours.from_source, edited)


def prepare(root: str, lock_path: str, incoming: Sequence[Incoming], options: InstallOptions, scratch: str) -> Prepared:
    """Unpack skills into the directory `scratch`, inspect each, and return what installing them would do.

    A skill that is refused stops no other, but a single one raises its error. Raises LockUnreadable and
    LibraryUnwritable.
    """
    lock = lock_at(lock_path)
    signed = cache(signature_of)
    found: list[Proposal] = []
    names = Counter(one.name for one in incoming)
    refused = [_namesakes(name, incoming) for name, count in names.items() if count > 1]
    for number, one in enumerate(incoming):
        if names[one.name] > 1:
            continue
        try:
            refuse_name(one.name)
            place = os.path.join(scratch, str(number))
            found.append(_prepared(root, lock, one, options, place, signed(one.tree)))
        except LibraryUnwritable:
            raise
        except SkillHubError as error:
            refused.append(Refused(one.name, error))
    refused += _taken_names(root, lock, found)
    if len(incoming) == 1 and refused:
        raise refused[0].error
    taken = {one.name for one in refused}
    return Prepared(tuple(one for one in found if one.name not in taken), tuple(refused))


def _namesakes(name: str, incoming: Sequence[Incoming]) -> Refused:
    paths = [one.path or "." for one in incoming if one.name == name]
    reason = f"is the name of {len(paths)} skills of the source that differ: {', '.join(paths)}"
    return Refused(name, SkillConflict(name, reason, hint="choose one with --skill PATH; --name NEW installs another"))


def install(root: str, lock_path: str, proposals: Sequence[Proposal]) -> None:
    """Install what was proposed, all or none. Raises SkillConflict for what changed since it was inspected."""
    with changing(root) as change:
        lock = lock_at(lock_path)
        for one in proposals:
            if lock.find(one.name) != one.locked or installed_skill(root, one.name, None).files != one.before:
                raise SkillConflict(one.name, "was changed while it was inspected", hint="run the command again")
        puts = [one for one in proposals if one.verb in _BRINGS_FILES and (one.before is None or one.changes)]
        for one in puts:
            copy_skill(one.directory, change.staged(one.name), root)
        text = lock_text(lock.having(*(one.entry for one in proposals)))
        change.commit([one.name for one in puts], lock_path=lock_path, lock_text=text)


def _ours(locked: LockedSkill) -> LockedByHub:
    """Return what we locked of a skill. Raises IntegrityFailed if that is nothing."""
    if locked.ours is None:
        hint = "`skillhub lock` writes it"
        raise IntegrityFailed(locked.name, expected="a digest in the lock", found="none", hint=hint)
    return locked.ours


def _check_as_locked(name: str, ours: LockedByHub, files: Files) -> None:
    """Raise IntegrityFailed if the files of the skill `name` are not those of a lock."""
    found = digest_of(files)
    if found != ours.digest:
        hint = "its source has other files: `skillhub update` shows which"
        if ours.has_edits:
            hint = "edits were locked, and are only where they were made: bring that directory here, with its files"
        elif ours.commit:
            hint = "that commit has other files: the lock was edited"
        raise IntegrityFailed(name, expected=ours.digest, found=found, hint=hint)
    if differs := differences(ours, files, modes=True):
        expected, found = "the executable bit of the lock", "another"
        raise IntegrityFailed(f"{name}/{differs.first}", expected=expected, found=found)


def locked_as(entry: LockedSkill, directory: str, files: Files) -> LockedSkill:
    """Return an entry for the files in a directory, as of now; its source stays."""
    ours = entry.ours or LockedByHub("")
    digest = digest_of(files)
    ours = replace(
        ours,
        digest=digest,
        origin="" if ours.origin == digest else ours.origin,
        executable=executables_of(files),
        fetched=f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        installed_by=f"skillhub {version()}",
    )
    return replace(entry, computed_hash=computed_hash(directory) or "", ours=ours)


def _prepared(
    root: str, lock: Lock, one: Incoming, options: InstallOptions, place: str, signature: Signature
) -> Proposal:
    os.mkdir(place)
    unpacked = unpack_skill(one.tree, one.path, place, name=str(one.source))
    given = digest_of(unpacked.files)
    locked = lock.find(one.name)
    # Only a skill of a site's index has a path there.
    artifact = one.tree.digests.get(one.path, "") if one.path else ""
    entry = locked_from(one.name, one.source, one.path, artifact=artifact)
    there, is_same = _there(root, locked, one, entry)
    before_ours = locked.ours if locked is not None and is_same else None
    one = replace(one, rename=one.rename or bool(before_ours and before_ours.renamed))
    files = renamed_files(place, one.name, unpacked.files) if one.rename else unpacked.files
    may_replace = options.replace and not is_same
    verb = plan_step(there, files, str(one.source), given=given, replace=may_replace, settled=options.settled)
    here = os.path.join(root, one.name)
    if verb is Verb.UPDATE and os.path.islink(here):
        reason = f"is a link in {root}, to {os.readlink(here)!r}, and what is elsewhere is not updated from here"
        hint = "update it there, or remove the link with `skillhub remove` and add the skill again"
        raise SkillConflict(one.name, reason, hint=hint)
    is_named = locked is not None and is_same_place(locked, entry) and locked.ref == entry.ref
    if verb is Verb.NOTHING and locked is not None and (locked.ours is None or not is_named):
        # The same bytes, from another place or ref of the source, or by a lock of others.
        verb = Verb.LOCK
    check_signer(
        one.name,
        signature,
        locked=None if before_ours is None else (before_ours.signer, before_ours.principal),
        accepted=options.accept_signer,
        required=options.require_signed,
    )
    look = look_at(place, one.name)
    accepted = accept(one.name, look, given, options.accepted, before_ours.findings if before_ours else {})
    before = there.files
    look_before = None if before is None else look_at(here, one.name)
    after = files if before is None or verb in _BRINGS_FILES else before
    # Edits stay locked; of others only the person knows whether they are meant.
    keeps_lock = before_ours is not None and before_ours.has_edits and not differences(before_ours, after)
    locked_files, locked_at = (after, here) if keeps_lock else (files, place)
    kept = locked.kept if locked is not None and verb is not Verb.REPLACE else {}
    ours = LockedByHub(
        "",
        origin="" if locked_files == unpacked.files else given,
        renamed={} if files == unpacked.files else {one.title: digest_of(files)},
        commit=one.tree.commit,
        signer=signature.fingerprint,
        principal=signature.principal,
        findings=accepted,
    )
    return Proposal(
        incoming=one,
        verb=verb,
        entry=locked_as(replace(entry, ours=ours, kept=kept), locked_at, locked_files),
        directory=place,
        files=files,
        after=after,
        before=before,
        locked=locked,
        document=look_before.document if look_before is not None else None,
        lost=different(before, files) if before is not None and verb is Verb.UPDATE and there.edited else (),
        changes=changes(before or {}, after),
        look=look,
        news=look.powers.beyond(look_before.powers if look_before is not None else NO_CAPABILITIES),
        signature=signature,
        notes=unpacked.notes,
    )


def renamed_files(directory: str, name: str, files: Files) -> Files:
    """Write a skill's new name into the SKILL.md in a directory, and return the files. Raises SkillConflict."""
    skill_file = skill_file_in(directory) or SKILL_FILE
    with open(os.path.join(directory, skill_file), "r+b") as file:
        content = renamed(file.read(), name)
        if content is None:
            reason = "cannot be the name of this skill: the name in its SKILL.md cannot be replaced"
            raise SkillConflict(name, reason, hint="install it without --name")
        file.seek(0)
        file.truncate()
        file.write(content)
    digest = FileDigest(hashlib.sha256(content).hexdigest(), len(content), files[skill_file].executable)
    return {**files, skill_file: digest}


def _there(root: str, locked: LockedSkill | None, one: Incoming, entry: LockedSkill) -> tuple[InstalledSkill, bool]:
    """Return what is under the name of a skill, and whether it is that same skill of that same source."""
    there = installed_skill(root, one.name, locked)
    if locked is None:
        return there, False
    is_same = one.updates or is_same_place(locked, entry)
    if not is_same and there.source == str(one.source):
        # Two skills of one source, unless the one that is here has left its place there.
        before = place_of(locked)
        is_same = not any(found.path == document_of(before) for found in one.tree.entries)
        there = there if is_same else replace(there, source=f"{there.source}, where it is {before or '.'!r}")
    return replace(there, source=str(one.source)) if is_same else there, is_same


def copy_skill(directory: str, destination: str, root: str) -> None:
    """Copy what was unpacked into an empty directory of `root`. Raises LibraryUnwritable."""
    try:
        for path, place, _ in files_below(directory):
            target = os.path.join(destination, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(place, target)
    except OSError as error:
        raise unwritable(root, error) from error


def _taken_names(root: str, lock: Lock, found: Sequence[Proposal]) -> Iterator[Refused]:
    """Yield the skills that come in with a name, in their SKILL.md, that a skill in another directory has."""
    wanted = [one for one in found if one.verb in _BRINGS_FILES]
    top = os.path.realpath(root)
    here = read_snapshot((SkillRoot(top, root),)).everything if wanted else ()
    before = {skill.directory: skill.name for skill in here}
    coming = {os.path.realpath(os.path.join(top, one.name)): one for one in wanted}
    for directory, one in coming.items():
        name = one.look.name
        others = [skill.directory for skill in here if name in (skill.name, skill.alias)]
        other = next((os.path.relpath(path, top) for path in others if path not in coming), None)
        if other is None or before.get(directory) == name:
            continue
        locked, place = lock.find(other), os.path.join(root, other)
        known = f"is installed from {shown_source(locked)}" if locked else "is there, and no lock says where it is from"
        hint = f"give the skill in {place} another name, or remove it"
        yield Refused(one.name, SkillConflict(name, f"{known} (in {place})", hint=hint))


def missing_of(root: str, lock_path: str, *, replace: bool = False) -> tuple[tuple[LockedSkill, ...], tuple[str, ...]]:
    """Return the skills of a lock that are not in the root as it says, and the names of those with other line ends.

    Raises SkillConflict for one with other files, unless it may be replaced; LockUnreadable; and IntegrityFailed for an
    entry without a digest.
    """
    missing: list[LockedSkill] = []
    line_ends: list[str] = []
    for locked in lock_at(lock_path).skills:
        refuse_name(locked.name)
        ours, place = _ours(locked), os.path.join(root, locked.name)
        is_dangling = os.path.islink(place) and not os.path.exists(place)
        files = None if replace and is_dangling else installed_skill(root, locked.name, locked).files
        differs = None if files is None else differences(ours, files, place)
        if differs is None or (differs and replace):
            missing.append(locked)
        elif differs:
            hint = "--replace puts what is there into the trash"
            raise SkillConflict(locked.name, "is there with other files than the lock says", hint=hint)
        elif differs.line_ends:
            line_ends.append(locked.name)
    return tuple(missing), tuple(line_ends)


def restore(
    root: str, skills: Sequence[LockedSkill], opening: OpenOptions, terms: InstallOptions, scratch: str
) -> None:
    """Fetch skills at the commits of their lock, and install them, all or none; the lock stays as it is.

    Raises IntegrityFailed for any other byte or signer, and what `prepare` and a change of the root raise.
    """
    staged = dict[str, str]()
    with ExitStack() as until_done:
        trees: dict[str, Tree] = {}
        for number, locked in enumerate(skills):
            ours, source = _ours(locked), source_of(locked, insecure=opening.insecure)
            if source.kind is SourceKind.GIT and ours.commit:
                source = replace(source, ref=ours.commit)
            key = str(source)
            if key not in trees:
                trees[key] = open_source(source, opening)
                until_done.callback(trees[key].close)
            check_signer(locked.name, signature_of(trees[key]), required=terms.require_signed)
            place = os.path.join(scratch, str(number))
            os.mkdir(place)
            files = unpack_skill(trees[key], place_of(locked), place, name=key).files
            if ours.renamed:
                files = renamed_files(place, locked.name, files)
            _check_as_locked(locked.name, ours, files)
            accept(locked.name, look_at(place, locked.name), ours.from_source, terms.accepted, ours.findings)
            staged[locked.name] = place
    with changing(root) as change:
        for name, place in staged.items():
            copy_skill(place, change.staged(name), root)
        change.commit(staged)
