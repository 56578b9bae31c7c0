"""What a killed command left is completed, or taken back, by the next command and by a server that starts."""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass

from skillhub_mcp.errors import LibraryBusy, LibraryUnwritable
from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.fingerprint import see
from skillhub_mcp.library.changes.journal import BadJournal, Journal, Move, parse_journal
from skillhub_mcp.library.changes.locking import locked
from skillhub_mcp.library.changes.own_places import OwnPlaces, places_of, refuse_other
from skillhub_mcp.library.changes.refusals import unwritable
from skillhub_mcp.library.changes.steps import ASIDE, LOCK, RECEIPTS, SKILLS, take_back
from skillhub_mcp.library.changes.trash import prune
from skillhub_mcp.locks.plain_files import read_plain
from skillhub_mcp.skills.own_directory import has_journal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a change that was interrupted: whether it was completed, and its skills."""

    completed: bool
    skills: tuple[str, ...]


def recover(root: str) -> Recovery | None:
    """Complete or take back a change of `root` that was interrupted; None if there is none, or it is still going on.

    Costs one look at one path where there is none. Raises LibraryUnwritable.
    """
    places = places_of(root)
    if not has_journal(places.root):
        return None
    places.make()
    try:
        with locked(places, wait_seconds=0):
            return recover_locked(places, Disk())
    except LibraryBusy:
        return None


def recover_locked(places: OwnPlaces, disk: Disk) -> Recovery | None:
    """Do the same while the root is locked, and delete what was staged and never used. Raises LibraryUnwritable."""
    try:
        found = read_journal(places)
        recovery = None
        if found is not None:
            _refuse_links(found, places)
            recovery = Recovery(is_committed(found, places), tuple(step.name for step in found.steps))
            if recovery.completed:
                complete(found, places, disk)
            else:
                undo(found, places, disk)
            log.info(
                "A change of %s that was interrupted is %s: %s",
                places.root,
                "completed" if recovery.completed else "taken back",
                ", ".join(recovery.skills),
            )
        disk.remove_file(f"{places.journal}.new")
        for name in os.listdir(places.staging):
            disk.remove_tree(os.path.join(places.staging, name))
    except OSError as error:
        raise unwritable(places.root, error) from error
    return recovery


def complete(journal: Journal, places: OwnPlaces, disk: Disk) -> None:
    """Do what follows the commit: the receipts, the trash, the end of the journal. Raises OSError."""
    for name in journal.receipts:
        new = places.staged(journal.change, RECEIPTS, f"{name}.json")
        if os.path.lexists(new):
            disk.replace(new, places.receipt(name))
    for step in journal.steps:
        if step.move is Move.REMOVE:
            disk.remove_file(places.receipt(step.name))
    disk.sync(places.receipts)
    if _has_entries(places.staged(journal.change, SKILLS)):
        _into_trash(journal, places, disk)
    _end(journal, places, disk)
    prune(places, disk)


def undo(journal: Journal, places: OwnPlaces, disk: Disk) -> None:
    """Take back the steps that were done, and end the journal. Raises OSError.

    What somebody wrote meanwhile where a skill came or went is not deleted: it goes into the trash.
    """
    if os.path.lexists(places.staged(journal.change)):
        take_back(journal, places, disk)
    disk.sync(places.root)
    if _holds_something_else(journal, places):
        _into_trash(journal, places, disk)
    _end(journal, places, disk)


def _refuse_links(journal: Journal, places: OwnPlaces) -> None:
    """Raise LibraryUnwritable where a path that is moved from or to leads elsewhere: the journal is somebody else's."""
    change = journal.change
    refuse_other(places.trashed(change))
    for below in ((), (SKILLS,), (ASIDE,), (RECEIPTS,)):
        refuse_other(places.staged(change, *below))
    for source in {step.source for step in journal.steps if step.source}:
        refuse_other(places.trashed(source))
        refuse_other(places.trashed(source, SKILLS))


def _into_trash(journal: Journal, places: OwnPlaces, disk: Disk) -> None:
    disk.move(places.staged(journal.change), places.trashed(journal.change))
    disk.sync(places.trash)
    disk.sync(places.staging)


def _end(journal: Journal, places: OwnPlaces, disk: Disk) -> None:
    """End the journal, and then delete what is staged: half of it would say nothing about the steps."""
    disk.remove_file(places.journal)
    disk.sync(places.top)
    disk.remove_tree(places.staged(journal.change))


def _holds_something_else(journal: Journal, places: OwnPlaces) -> bool:
    """Whether something is staged that is not what the change itself brought."""
    if _has_entries(places.staged(journal.change, ASIDE)):
        return True
    brought = {step.name: step.fingerprint for step in journal.steps if step.move in (Move.PUT, Move.SWAP)}
    staged = places.staged(journal.change, SKILLS)
    return any(see(os.path.join(staged, name)).fingerprint != brought.get(name) for name in _names(staged))


def _has_entries(directory: str) -> bool:
    return bool(_names(directory))


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def lock_of(journal: Journal, places: OwnPlaces) -> str:
    """Return the path of the lock that a change commits by; empty where it has none."""
    return os.path.normpath(os.path.join(places.root, journal.lock_path)) if journal.lock_path else ""


def read_journal(places: OwnPlaces) -> Journal | None:
    """Return the journal of a root, None if it has none. Raises OSError, and LibraryUnwritable for another file."""
    try:
        content = read_plain(places.journal)
        return None if content is None else parse_journal(content.decode("utf-8"))
    except (BadJournal, UnicodeDecodeError) as error:
        reason = f"it is no journal that this version reads ({error})"
        mend = "update SkillHub, or look at the directory beside it and remove the journal"
        raise LibraryUnwritable(places.journal, reason, hint=mend) from error


def is_committed(journal: Journal, places: OwnPlaces) -> bool:
    """Whether a change is made, as far as what the disk has now says.

    Only the commit takes the new lock from where it was staged: another program may have written the lock since.
    """
    if not journal.lock_digest:
        return journal.committed
    for place in (places.staged(journal.change), places.trashed(journal.change)):
        if os.path.lexists(place) and not os.path.lexists(os.path.join(place, LOCK)):
            return True
    try:
        lock = read_plain(lock_of(journal, places))
    except OSError:
        # Nothing that could have been written as the lock.
        return False
    return lock is not None and hashlib.sha256(lock).hexdigest() == journal.lock_digest
