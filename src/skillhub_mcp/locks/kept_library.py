"""The locks of the libraries that are served, and whether each skill is still as its lock says. Thread-safe.

A lock lies in its root; that of a project's `.agents/skills` in the project, where npx skills has it too. Locks are
read again when they change, and files when the system says that one was written.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.errors import LockUnreadable, SkillChanged, SkillHubError
from skillhub_mcp.locks.file_digests import FileState, KnownDigests, digests_of, states_of
from skillhub_mcp.locks.lock_file import Lock, LockedSkill
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.locks.receipts import InstallReceipt, read_receipt
from skillhub_mcp.locks.states import NO_DIFFERENCES, Differences, LockState, differences

if TYPE_CHECKING:
    from skillhub_mcp.skills.model import FileStamp, Skill

LOCK_NAME = "skills-lock.json"

_AGENTS_SKILLS = os.path.join(".agents", "skills")
# What a list names is looked at again by every call; of a large library so many in turn, with a rest behind
# them. What is returned of a skill is looked at whatever its turn is.
_MOST_LOOKED_AT = 100
_REST_FACTOR = 20
_HAS_MODES = os.name != "nt"


@dataclass(frozen=True, slots=True)
class LockStanding:
    """A skill held against its lock: the entry and the lock that has it, if one does, and what differs.

    `problem` is why a lock that may name it cannot be read; `unread` why one of its files cannot be.
    """

    state: LockState
    locked: LockedSkill | None = None
    lock_path: str = ""
    differs: Differences = NO_DIFFERENCES
    problem: LockUnreadable | None = None
    unread: str = ""

    def told(self) -> dict[str, object]:
        """Return what is told of it, as plain JSON values: the state, where the skill is from, and what differs."""
        ours = None if self.locked is None else self.locked.ours
        value: dict[str, object] = {"state": self.state.value}
        if self.locked is not None:
            value |= {"source": self.locked.source_url or self.locked.source, "ref": self.locked.ref or None}
        if ours is not None:
            value |= {
                "commit": ours.commit or None,
                "digest": ours.digest,
                "signer": ours.principal or ours.signer or None,
                "file": self.differs.first or None,
            }
        if self.problem is not None:
            value["problem"] = self.problem.message
        return value

    def sentence(self) -> str:
        """Return the same for a person, in one line; empty where no lock is about it."""
        if self.problem is not None:
            return self.problem.message
        if self.locked is None:
            return ""
        told = self.told()
        at = str(told.get("commit") or "")[:12]
        parts = [
            self.state.value + (f" ({told['file']})" if told.get("file") else ""),
            f"from {told['source']}" + (f" at {at}" if at else ""),
            f"signed by {told['signer']}" if told.get("signer") else "",
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class _Judged:
    """Why a skill is withheld, if it is, by its entry and its SKILL.md at that time."""

    skill: Skill
    locked: LockedSkill
    stamp: FileStamp
    error: SkillHubError | None


def lock_paths(root: str) -> tuple[str, ...]:
    """Return where the lock of the skills right below `root` may lie: in it, and in the project whose root it is."""
    own = os.path.join(root, LOCK_NAME)
    above = os.path.dirname(os.path.dirname(root))
    if not root.endswith(os.sep + _AGENTS_SKILLS) or above == os.path.realpath(os.path.expanduser("~")):
        return (own,)
    return (own, os.path.join(above, LOCK_NAME))


class KeptLibrary:
    """Holds skills against their locks. With `only`, what no lock of ours names is withheld, too."""

    def __init__(self, *, only: bool = False) -> None:
        self._only = only
        self._mutex = threading.RLock()
        self._locks: dict[str, tuple[FileState | None, Lock | LockUnreadable | None]] = {}
        self._names: dict[str, dict[str, LockedSkill]] = {}
        self._roots: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._judged: dict[str, _Judged] = {}
        self._clean: dict[str, InstallReceipt] = {}
        self._changes = 0
        self._look_again = 0.0
        self._turn: list[str] = []
        self.digests = KnownDigests()

    def standing(self, directory: str) -> LockStanding:
        """Return how the skill in `directory` stands against its lock, by its files as they are now."""
        self._refresh()
        return self._standing(directory)

    def differs(self, skill: Skill, *, now: bool = False) -> SkillHubError | None:
        """Return the error with which `skill` is withheld, if it is: SkillChanged, or LockUnreadable.

        With `now` by all of its files as they are, else by its SKILL.md and by what was last seen of the others.
        """
        found = self._entry(skill.directory)
        if isinstance(found, LockUnreadable):
            return found
        if found is None or found[1].ours is None:
            self._judged.pop(skill.directory, None)
            if not self._only:
                return None
            named = "" if found is None else "its lock has no digest of SkillHub's"
            return SkillChanged(skill.name, reason=named, hint="its user can lock it with `skillhub lock`")
        known = self._judged.get(skill.directory)
        if not now and known is not None and (known.locked, known.stamp) == (found[1], skill.stamp):
            return known.error
        error = _error(skill.name, self._standing(skill.directory))
        with self._mutex:
            self._judged[skill.directory] = _Judged(skill, found[1], skill.stamp, error)
            # One that is judged for the first time was not served before.
            if known is not None and (known.error is None) != (error is None):
                self._changes += 1
        return error

    def state(self, skill: Skill) -> object:
        """Return a value that is another one where a file of a locked skill was written since. Opens no file."""
        found = self._entry(skill.directory)
        if found is None or isinstance(found, LockUnreadable):
            return None
        try:
            return states_of(skill.directory)
        except OSError as error:
            return error

    def changes(self) -> object:
        """Return a value that is another one where other skills may be withheld. Looks at some of them again."""
        self._refresh()
        began = time.monotonic()
        if began >= self._look_again:
            turn = self._next_in_turn()
            for directory in turn:
                judged = self._judged.get(directory)
                if judged is not None:
                    self.differs(judged.skill, now=True)
            ended = time.monotonic()
            self._look_again = ended + _REST_FACTOR * (ended - began) if len(turn) >= _MOST_LOOKED_AT else 0.0
        return self._changes, tuple(sorted((path, state) for path, (state, _) in self._locks.items()))

    def _next_in_turn(self) -> Sequence[str]:
        """Return the directories of what is withheld, and of some others that were judged before."""
        with self._mutex:
            if not self._turn:
                self._turn = list(self._judged)
            some, self._turn = self._turn[:_MOST_LOOKED_AT], self._turn[_MOST_LOOKED_AT:]
            withheld = [directory for directory, one in self._judged.items() if one.error is not None]
        return list(dict.fromkeys((*withheld[:_MOST_LOOKED_AT], *some)))

    def _standing(self, directory: str) -> LockStanding:
        found = self._entry(directory)
        if isinstance(found, LockUnreadable):
            return LockStanding(LockState.UNLOCKED, lock_path=found.path, problem=found)
        if found is None:
            return LockStanding(LockState.UNLOCKED)
        root, locked, path = found
        if locked.ours is None:
            return LockStanding(LockState.UNLOCKED, locked, path)
        try:
            files = digests_of(directory, self.digests)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return LockStanding(LockState.EDITED, locked, path, Differences(unknown=True), unread=reason)
        receipt = read_receipt(root, locked.name)
        if receipt is None or receipt.digest != locked.ours.digest:
            receipt = self._clean.get(directory)
        found_differences = differences(locked, files, receipt, modes=_HAS_MODES)
        if not found_differences:
            # What is right now tells later which file is not.
            self._clean[directory] = InstallReceipt(locked.name, files)
        state = LockState.EDITED if found_differences else LockState.UNCHANGED
        return LockStanding(state, locked, path, found_differences)

    def _entry(self, directory: str) -> tuple[str, LockedSkill, str] | LockUnreadable | None:
        """Return the root of the skill in `directory`, its entry and where the lock lies; or why that is not known.

        A directory of a locked name counts where it is a link, too: else a link would be no change.
        """
        parent, name = os.path.split(directory)
        found = self._entry_in(parent, name)
        if found is None and os.path.islink(directory):
            parent, name = os.path.split(os.path.realpath(directory))
            found = self._entry_in(parent, name)
        return found

    def _entry_in(self, parent: str, name: str) -> tuple[str, LockedSkill, str] | LockUnreadable | None:
        if parent not in self._roots:
            root = os.path.realpath(parent)
            self._roots[parent] = (root, lock_paths(root))
            self._read(self._roots[parent][1])
        root, paths = self._roots[parent]
        unreadable: LockUnreadable | None = None
        for path in paths:
            lock = self._locks[path][1]
            if isinstance(lock, LockUnreadable):
                unreadable = unreadable or lock
            elif lock is not None and (locked := self._names[path].get(name)) is not None:
                return root, locked, path
        return unreadable

    def _refresh(self) -> None:
        """Read the locks that changed, and see where links to roots lead now."""
        with self._mutex:
            for parent, (root, _) in list(self._roots.items()):
                if os.path.realpath(parent) != root:
                    del self._roots[parent]
            self._read(tuple(self._locks))

    def _read(self, paths: Sequence[str]) -> None:
        with self._mutex:
            for path in paths:
                state = _state_of(path)
                known = self._locks.get(path)
                if known is not None and known[0] == state:
                    continue
                lock: Lock | LockUnreadable | None
                try:
                    lock = read_lock(path)
                except LockUnreadable as error:
                    lock = error
                self._names[path] = {one.name: one for one in lock.skills} if isinstance(lock, Lock) else {}
                self._locks[path] = (state, lock)


def _error(name: str, standing: LockStanding) -> SkillHubError | None:
    if standing.state is not LockState.EDITED:
        return None
    if standing.unread:
        return SkillChanged(name, reason=f"its files cannot be read: {standing.unread}")
    first = standing.differs.first
    reason = "" if first else "its files are not those that were locked, and no receipt here says which one"
    return SkillChanged(name, first, reason=reason)


def _state_of(path: str) -> FileState | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
