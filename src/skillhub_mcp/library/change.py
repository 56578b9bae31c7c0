"""A change of a root: skills are staged, then moved into place, then the lock is written.

The directory before is moved into the root's trash first. An error moves everything back. A killed process leaves the
old skill, the new one, or the old one in the trash: `verify` reports which. The next command removes what is staged.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.tempdir import remove_tree
from skillhub_mcp.errors import LibraryBusy, LibraryUnwritable, SkillConflict
from skillhub_mcp.library.places import (
    OwnPlaces,
    TrashEntry,
    is_directory,
    new_entry,
    places_of,
    prune,
    unwritable,
)
from skillhub_mcp.locks.lock_file import read_plain

log = logging.getLogger(__name__)

# Less than the ten seconds within which a command must report something.
WAIT_SECONDS = 8.0
_NOTHING: Mapping[str, TrashEntry] = {}


class Change:
    """One change of the locked root with these `places`. It is committed once, or leaves nothing."""

    def __init__(self, places: OwnPlaces) -> None:
        self.places = places
        self.root = places.root
        self._moved: list[tuple[str, str]] = []

    def staged(self, name: str) -> str:
        """Create an empty directory for a skill, and return its path. Raises ValueError and LibraryUnwritable."""
        place = self.places.staged(name)
        try:
            os.mkdir(place)
        except OSError as error:
            raise unwritable(self.root, error) from error
        return place

    def commit(
        self,
        puts: Collection[str],
        removals: Collection[str] = (),
        *,
        lock_path: str = "",
        lock_text: str | None = None,
        restores: Mapping[str, TrashEntry] = _NOTHING,
    ) -> None:
        """Move staged skills into the root, others into the trash or out of it, and replace the lock, if it has a text.

        `restores` has the entry of the trash that each skill comes from. Raises SkillConflict and LibraryUnwritable.
        Whatever it raises, nothing was changed.
        """
        lock_path = os.path.realpath(lock_path) if lock_path else ""
        try:
            self._check(puts, removals, restores)
            before = read_plain(lock_path) if lock_path else None
            self._move_all(puts, removals, restores, before)
            if lock_text is not None and lock_text.encode() != before:
                mode = None if before is None else stat.S_IMODE(os.stat(lock_path).st_mode)
                atomic_write(lock_path, lock_text.encode(), mode=mode, locked=True)
        except BaseException as error:
            self._move_back(error)
            if isinstance(error, OSError):
                raise unwritable(self.root, error) from error
            raise
        try:
            prune(self.places)
        except OSError as error:
            log.warning("The trash of %s could not be pruned: %s", self.root, error)

    def _check(self, puts: Collection[str], removals: Collection[str], restores: Mapping[str, TrashEntry]) -> None:
        for name in (*puts, *removals, *restores):
            place = self.places.skill(name)
            hint = f"move {place} elsewhere, then try again"
            if name in restores and os.path.lexists(place):
                hint += "; `skillhub remove --undo NAME` brings another back"
                raise SkillConflict(name, f"is in {self.root} again", hint=hint)
            if os.path.lexists(place) and not (os.path.islink(place) or is_directory(place)):
                raise SkillConflict(name, f"is not a directory in {self.root}, but a file", hint=hint)

    def _move_all(
        self,
        puts: Collection[str],
        removals: Collection[str],
        restores: Mapping[str, TrashEntry],
        lock_before: bytes | None,
    ) -> None:
        entry = None
        for name in sorted({*puts, *removals}):
            here = self.places.skill(name)
            if os.path.lexists(here):
                entry = entry or new_entry(self.places, lock_before, removed=not puts)
                self._move(here, entry.skill(name))
            if name in puts:
                self._move(self.places.staged(name), here)
        for name, source in restores.items():
            self._move(source.skill(name), self.places.skill(name))

    def _move(self, source: str, target: str) -> None:
        self._moved.append((source, target))
        os.replace(source, target)

    def _move_back(self, cause: BaseException) -> None:
        try:
            while self._moved:
                source, target = self._moved[-1]
                if os.path.lexists(target) and not os.path.lexists(source):
                    os.replace(target, source)
                self._moved.pop()
        except OSError as error:
            hint = "fix that, then `skillhub verify` reports which skills are in the trash"
            reason = error.strerror or type(error).__name__
            raise LibraryUnwritable(self.root, reason, hint=hint, begun=True) from cause


@contextmanager
def changing(root: str, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[Change]:
    """Yield a change of `root`, which is created if it is missing, while no other command changes it.

    What a killed command staged is removed first. Raises LibraryBusy if another command does not end in time,
    LibraryUnwritable, and SkillConflict if the root is itself a skill.
    """
    places = places_of(root)
    places.make()
    with _locked(places, wait_seconds):
        try:
            _clear(places.staging)
        except OSError as error:
            raise unwritable(places.root, error) from error
        try:
            yield Change(places)
        finally:
            with suppress(OSError):  # the next command removes it
                _clear(places.staging)


@contextmanager
def _locked(places: OwnPlaces, wait_seconds: float) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(places.lock)
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        raise LibraryBusy(places.root) from error
    except NotImplementedError as error:
        hint = "choose a directory on another file system"
        raise LibraryUnwritable(places.lock, "its file system locks no files", hint=hint) from error
    except OSError as error:
        raise unwritable(places.lock, error) from error
    try:
        yield
    finally:
        lock.release()


def _clear(directory: str) -> None:
    for name in os.listdir(directory):
        place = os.path.join(directory, name)
        if is_directory(place):
            remove_tree(place)
        else:
            os.unlink(place)
