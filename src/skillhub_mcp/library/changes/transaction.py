"""A change of a root: skills are staged, then all of them come in, go out or are replaced, or none.

    with changing(root) as change:
        unpack(..., change.staged("pdf"))
        change.commit({"pdf": digest}, lock_path=..., lock_text=..., receipts={"pdf": ...})

Staged is in the root, on its file system, and synced and compared with its digest before the first step. The lock of
skills is replaced last: that is the commit. What went out lies in the root's trash.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.errors import IntegrityFailed, LibraryBusy, LibraryUnwritable, SkillConflict
from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.fingerprint import see
from skillhub_mcp.library.changes.journal import Journal, Move, Step, journal_text
from skillhub_mcp.library.changes.locking import locked
from skillhub_mcp.library.changes.own_places import OwnPlaces, is_plain_name, new_change, places_of
from skillhub_mcp.library.changes.recovery import complete, is_committed, lock_of, read_journal, recover_locked, undo
from skillhub_mcp.library.changes.refusals import is_no_room, unwritable
from skillhub_mcp.library.changes.steps import ASIDE, BEFORE, ENTRY, LOCK, RECEIPTS, SKILLS, do
from skillhub_mcp.library.changes.trash import entry_values
from skillhub_mcp.locks.lock_file import Lock, parse_lock
from skillhub_mcp.locks.plain_files import read_lock_text, read_plain

log = logging.getLogger(__name__)

# Less than the ten seconds within which a person is to be told.
WAIT_SECONDS = 8.0
_DISK = Disk()


class Change:
    """One change of a root that is locked for it. It is committed once, or leaves nothing."""

    def __init__(self, places: OwnPlaces, disk: Disk) -> None:
        self._places = places
        self._disk = disk
        self._name = new_change()
        self._made = False
        # What the locks were when they were read, by canonical path.
        self._locks_read: dict[str, bytes | None] = {}

    @property
    def root(self) -> str:
        """The canonical path of the root."""
        return self._places.root

    @property
    def places(self) -> OwnPlaces:
        """Where the hub's own things in the root are."""
        return self._places

    def staged(self, name: str) -> str:
        """Make an empty directory for the skill that is to be `name`, and return its path. Raises LibraryUnwritable,
        and SkillConflict for a name that cannot be a skill's directory.
        """
        if not is_plain_name(name):
            raise SkillConflict(name, "cannot be the name of a skill's directory", hint="choose one with --name")
        try:
            self._make()
            place = self._places.staged(self._name, SKILLS, name)
            self._disk.make_directory(place)
        except OSError as error:
            raise unwritable(self.root, error) from error
        return place

    def read_lock(self, path: str) -> Lock:
        """Return the lock at `path`, where there is none an empty one. Raises LockUnreadable.

        `commit` then refuses where another program has written it since.
        """
        text = read_lock_text(path)
        self._locks_read[os.path.realpath(path)] = None if text is None else text.encode()
        return Lock(path) if text is None else parse_lock(text, path)

    def commit(
        self,
        puts: Mapping[str, str],
        removals: Collection[str] = (),
        *,
        lock_path: str = "",
        lock_text: str | None = None,
        receipts: Mapping[str, str] | None = None,
        restores: Mapping[str, str] | None = None,
    ) -> str:
        """Bring in, replace and remove skills, all or none, and return the change's name, which its trash has.

        `puts` are the digests of what is staged, by name; `restores` the changes from whose trash a skill comes back,
        by name. `lock_text` is the lock's new text, None where it stays as it is; `receipts` are the new receipts by
        name. A removal of what is not there changes the lock alone.

        Raises IntegrityFailed where staged files have another digest; SkillConflict where a name is taken by a file, or
        by one that differs in case; LibraryBusy where the lock was written since `read_lock`; LibraryUnwritable.
        Whatever it raises, nothing was changed.
        """
        receipts, restores = receipts or {}, restores or {}
        lock_path = os.path.realpath(lock_path) if lock_path else ""
        try:
            self._make()
            journal = self._journal(puts, removals, restores, lock_path, lock_text, receipts)
            self._stage(journal, receipts, lock_text)
            self._disk.write(self._places.journal, journal_text(journal).encode())
            self._disk.sync(self._places.top)
        except OSError as error:
            self._forget_journal()
            raise unwritable(self.root, error) from error
        except BaseException:
            self._forget_journal()
            raise
        try:
            self._steps(journal)
            self._commit_lock(journal)
        except BaseException as error:
            if not self._is_committed():
                self._undo(journal, error)
                if isinstance(error, OSError):
                    raise unwritable(self.root, error) from error
                raise
            if not isinstance(error, OSError):
                raise
        try:
            complete(journal, self._places, self._disk)
        except OSError as error:
            # The change is made; only what follows it is left to the next command.
            log.warning("%s is changed, and could not be tidied: %s", self.root, error)
        return self._name

    def abandon(self) -> None:
        """Delete what was staged and is not in use."""
        if self._made and not os.path.lexists(self._places.journal):
            with suppress(OSError):  # the next command deletes it
                self._disk.remove_tree(self._places.staged(self._name))

    def _make(self) -> None:
        if not self._made:
            self._made = True
            self._disk.make_directory(self._places.staged(self._name))
            for name in (SKILLS, ASIDE, RECEIPTS, BEFORE):
                self._disk.make_directory(self._places.staged(self._name, name))
            self._disk.make_directory(self._places.staged(self._name, BEFORE, RECEIPTS))

    def _journal(
        self,
        puts: Mapping[str, str],
        removals: Collection[str],
        restores: Mapping[str, str],
        lock_path: str,
        lock_text: str | None,
        receipts: Mapping[str, str],
    ) -> Journal:
        there = os.listdir(self.root)
        _refuse_clashes([*puts, *restores], there)
        steps = [self._put(name, puts[name]) for name in sorted(puts)]
        for name in sorted(restores):
            if os.path.lexists(self._places.skill(name)):
                place = self._places.skill(name)
                hint = f"move {place} elsewhere, then try again; `skillhub remove --undo NAME` brings another back"
                raise SkillConflict(name, f"is in {self.root} again", hint=hint)
            steps.append(Step(Move.RESTORE, name, source=restores[name]))
        for name in sorted(removals):
            if os.path.lexists(self._places.skill(name)):
                self._refuse_file(name)
                steps.append(Step(Move.REMOVE, name))
        now = read_plain(lock_path) if lock_path else None
        if lock_path in self._locks_read and now != self._locks_read[lock_path]:
            # By a program that does not know our lock of the root: what it wrote would be lost.
            raise LibraryBusy(self.root)
        new = None if lock_text is None else lock_text.encode()
        digest = "" if new is None or new == now else hashlib.sha256(new).hexdigest()
        return Journal(self._name, tuple(steps), _from(self.root, lock_path), digest, tuple(sorted(receipts)))

    def _put(self, name: str, digest: str) -> Step:
        staged = self._places.staged(self._name, SKILLS, name)
        seen = see(staged)
        if seen.digest != digest:
            raise IntegrityFailed(name, expected=digest, found=seen.digest, hint="run the command again")
        if not os.path.lexists(self._places.skill(name)):
            return Step(Move.PUT, name, seen.fingerprint)
        self._refuse_file(name)
        return Step(Move.SWAP, name, seen.fingerprint)

    def _refuse_file(self, name: str) -> None:
        place = self._places.skill(name)
        kind = os.lstat(place).st_mode
        if not (stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
            raise SkillConflict(
                name, f"is not a directory in {self.root}, but a file", hint=f"move {place} elsewhere, then try again"
            )

    def _stage(self, journal: Journal, receipts: Mapping[str, str], lock_text: str | None) -> None:
        """Write all that the steps and what follows them need, and sync it."""
        change, disk, places = self._name, self._disk, self._places
        for name in sorted(receipts):
            _write(places.staged(change, RECEIPTS, f"{name}.json"), receipts[name].encode())
        lock = lock_of(journal, places)
        before = read_plain(lock) if lock else None
        if before is not None:
            _write(places.staged(change, BEFORE, LOCK), before)
        for step in journal.steps:
            receipt = None
            with suppress(OSError):  # something else in the place of a receipt is none
                receipt = read_plain(places.receipt(step.name))
            if receipt is not None:
                _write(places.staged(change, BEFORE, RECEIPTS, f"{step.name}.json"), receipt)
        moves = {step.move for step in journal.steps}
        entry = entry_values(removed=moves == {Move.REMOVE})
        _write(places.staged(change, ENTRY), json.dumps(entry).encode())
        if journal.lock_digest and lock_text is not None:
            _write(places.staged(change, LOCK), lock_text.encode())
            if before is not None:
                os.chmod(places.staged(change, LOCK), stat.S_IMODE(os.stat(lock).st_mode))
        disk.sync_tree(places.staged(change))
        disk.sync(places.staging)

    def _steps(self, journal: Journal) -> None:
        for step in journal.steps:
            do(step, self._name, self._places, self._disk)
        self._disk.sync(self.root)
        self._disk.sync(self._places.staged(self._name, SKILLS))
        for source in {step.source for step in journal.steps if step.source}:
            self._disk.sync(self._places.trashed(source, SKILLS))

    def _commit_lock(self, journal: Journal) -> None:
        if not journal.lock_digest:
            self._disk.write(self._places.journal, journal_text(replace(journal, committed=True)).encode())
            self._disk.sync(self._places.top)
            return
        new = self._places.staged(self._name, LOCK)
        lock = lock_of(journal, self._places)
        directory = os.path.dirname(lock)
        try:
            if os.stat(directory).st_dev == os.stat(new).st_dev:
                self._disk.replace(new, lock)
            else:
                with open(new, "rb") as file:
                    mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                    atomic_write(lock, file.read(), mode=mode, locked=True)
                # That it is gone says that the change is made, whatever the lock says later.
                self._disk.remove_file(new)
            self._disk.sync(directory)
        except OSError as error:
            # The system names what is staged, and the lock is what cannot be written.
            raise OSError(error.errno, error.strerror, lock) from error

    def _undo(self, journal: Journal, cause: BaseException) -> None:
        try:
            undo(journal, self._places, self._disk)
        except OSError as error:
            raise LibraryUnwritable(
                self.root,
                error.strerror or type(error).__name__,
                hint="mend that: the next command takes back what was begun",
                begun=True,
            ) from cause

    def _is_committed(self) -> bool:
        journal = read_journal(self._places)
        return journal is not None and is_committed(journal, self._places)

    def _forget_journal(self) -> None:
        with suppress(OSError):
            self._disk.remove_file(self._places.journal)


@contextmanager
def changing(root: str, *, wait_seconds: float = WAIT_SECONDS, disk: Disk = _DISK) -> Iterator[Change]:
    """Yield a change of `root`, which is made if it is not there, while no other command changes it.

    What a killed command left is completed or taken back first. Raises LibraryBusy where another does not end in time,
    LibraryUnwritable, and SkillConflict where the root is itself a skill.
    """
    places = places_of(root)
    places.make()
    with locked(places, wait_seconds=wait_seconds):
        recover_locked(places, disk)
        change = Change(places, disk)
        try:
            yield change
        except OSError as error:
            if is_no_room(error):
                # Of whoever writes what is staged.
                raise unwritable(places.root, error) from error
            raise
        finally:
            change.abandon()


def _refuse_clashes(names: Sequence[str], there: Sequence[str]) -> None:
    """Raise SkillConflict for names that one file system or another takes for the same."""
    known = {_folded(name): name for name in there}
    for name in names:
        if name in there:
            continue
        other = known.setdefault(_folded(name), name)
        if other != name:
            raise SkillConflict(
                name,
                f"differs from {other!r} in letter case alone, and some file systems take the two for one",
                hint="choose another name with --name",
            )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _from(root: str, path: str) -> str:
    """Return a path from `root` on, so that it holds where both are moved; on another drive of Windows as it is."""
    try:
        return os.path.relpath(path, root) if path else ""
    except ValueError:
        return path


def _write(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
