"""The locks of what is served, and whether each skill is as its lock says. Thread-safe.

A lock lies in its root; that of a project's `.agents/skills` in the project, where npx skills has it too. Locks and
files are read again when they change.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import LockUnreadable, SkillChanged, SkillHubError
from skillhub_mcp.locks.file_digests import (
    NO_DIFFERENCES,
    Differences,
    FileState,
    LockState,
    differences,
    digests_of,
    file_state,
    states_of,
)
from skillhub_mcp.locks.lock_file import LOCK_NAME, LockedSkill, lock_at
from skillhub_mcp.redaction import redacted

if TYPE_CHECKING:
    from skillhub_mcp.skills.model import Skill

_AGENTS_SKILLS = os.path.join(".agents", "skills")
# A list checks so many skills again, in turn. A skill that is returned is always checked.
_CHECKED_AT_ONCE = 100
_RETRY_SECONDS, _RETRY_EVERY_SECONDS = 0.05, 1.0
_SHOWN_DIGITS = 12
# A source that is a path of the machine on which it was written.
_PATH = re.compile(r"(?i)file:|[./~\\]|[a-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class LockStanding:
    """A skill compared with its lock: the entry, the lock that has it, and what differs.

    `problem` is why a lock that may name it cannot be read, and `unread` why one of its files cannot.
    """

    state: LockState
    locked: LockedSkill | None = None
    lock_path: str = ""
    differs: Differences = NO_DIFFERENCES
    problem: LockUnreadable | None = None
    unread: str = ""

    def facts(self, *, with_paths: bool = True) -> dict[str, object]:
        """Return what is reported of it, as JSON values; without `with_paths` without paths of this machine."""
        value: dict[str, object] = {"state": self.state.value}
        if self.differs.line_ends:
            value["line_ends"] = True
        if self.locked is not None:
            ours, source = self.locked.ours, redacted(self.locked.source_url or self.locked.source)
            value["source"] = source if with_paths or not _PATH.match(source) else None
            value["ref"] = self.locked.ref or None
            if ours is None:
                value |= {"recorded_by": "npx skills", "verified": False}
            else:
                signer = ours.principal or ours.signer or None
                value |= {"commit": ours.commit or None, "digest": ours.digest, "signer": signer}
                value["file"] = self.differs.first or None
        if self.problem is not None:
            value["problem"] = self.problem.message if with_paths else "its lock cannot be read"
        return value

    def sentence(self) -> str:
        """Return the same in one line; empty if nothing is known."""
        if self.problem is not None or self.locked is None:
            return self.problem.message if self.problem is not None else ""
        ours, first = self.locked.ours, self.differs.first
        text = self.state.value + (f" ({first})" if ours is not None and first else "")
        text += " but for its line ends" if self.differs.line_ends else ""
        text += f", from {redacted(self.locked.source_url or self.locked.source)}"
        if at := (ours.commit[:_SHOWN_DIGITS] if ours is not None else "") or self.locked.ref:
            text += f" at {at}"
        if ours is None:
            return f"{text}, as npx skills says: not verified"
        signer = ours.principal or ours.signer
        return f"{text}, signed by {signer}" if signer else text


class _Known(NamedTuple):
    """The standing of a skill by its entry in a lock and the states of its files."""

    locked: LockedSkill
    files: Mapping[str, FileState]
    standing: LockStanding


def lock_paths(root: str) -> tuple[str, ...]:
    """Return where the lock of the skills right below `root` may lie: in it, and in the project whose root it is."""
    own = os.path.join(root, LOCK_NAME)
    above = os.path.dirname(os.path.dirname(root))
    if not root.endswith(os.sep + _AGENTS_SKILLS) or above == os.path.realpath(expand_home("~")):
        return (own,)
    return (own, os.path.join(above, LOCK_NAME))


class LockVerifier:
    """Compares skills with their locks. With `only`, unlocked skills are withheld, too."""

    def __init__(self, *, only: bool = False, option_of: Callable[[str], str] = lambda _: "") -> None:
        self._only = only
        self._option_of = option_of
        self._mutex = threading.RLock()
        self._locks: dict[str, tuple[FileState | None, dict[str, LockedSkill] | LockUnreadable]] = {}
        # Where the locks of the skills in each directory may lie.
        self._roots: dict[str, tuple[str, ...]] = {}
        self._known: dict[str, _Known] = {}
        self._turn: list[str] = []
        # The lock at the last pause for a command, and when that was.
        self._paused: tuple[object, float] = (None, 0.0)

    def standings(self, directories: Iterable[str]) -> Iterator[LockStanding]:
        """Yield the standing of each skill, by the locks as they are when the first is asked for."""
        self._refresh()
        yield from map(self._standing, directories)

    def differs(self, skill: Skill) -> SkillHubError | None:
        """Return why `skill` is withheld, if it is, by its files as they are."""
        standing = self._standing(skill.directory)
        if standing.problem is not None:
            return standing.problem
        if standing.state is LockState.UNLOCKED:
            return self._unlocked(skill, is_named=standing.locked is not None) if self._only else None
        if standing.state is LockState.UNCHANGED:
            return None
        first = standing.differs.first
        reason = "" if first else "its files are not those that were locked"
        if standing.unread:
            reason = f"its files cannot be read: {standing.unread}"
        return SkillChanged(skill.name, first, reason=reason, option=self._option_of(standing.lock_path))

    def state(self, skill: Skill) -> object:
        """Return a value that changes if a file of a locked skill is written. Opens no file."""
        if not isinstance(self._entry(skill.directory), tuple):
            return None
        try:
            return states_of(skill.directory)
        except OSError as error:
            return error

    def changes(self) -> object:
        """Return a value that changes if other skills may be withheld. Checks some of them again, in turn."""
        self._refresh()
        turn = self._turn or list(self._known)
        some, self._turn = turn[:_CHECKED_AT_ONCE], turn[_CHECKED_AT_ONCE:]
        for directory in some:
            self._standing(directory)
        edited = [path for path, known in list(self._known.items()) if known.standing.state is LockState.EDITED]
        return edited, sorted((path, state) for path, (state, _) in self._locks.items())

    def _unlocked(self, skill: Skill, *, is_named: bool) -> SkillHubError:
        paths = self._roots.get(os.path.dirname(skill.directory))
        option = "" if paths is None else self._option_of(paths[-1])
        lock = f"skillhub lock {option}".rstrip()
        reason = "its lock has no digest of SkillHub's" if is_named else ""
        return SkillChanged(skill.name, reason=reason, hint=f"its user can lock it with `{lock}`")

    def _standing(self, directory: str) -> LockStanding:
        known = self._known.get(directory)
        found = self._compared(directory)
        if known is None or (known.standing.state, found.state) != (LockState.UNCHANGED, LockState.EDITED):
            return found
        # A command replaces the files and then writes the lock: between these the two do not fit.
        lock, (paused_for, paused_at) = self._locks.get(found.lock_path), self._paused
        if lock != paused_for or time.monotonic() - paused_at > _RETRY_EVERY_SECONDS:
            # One pause is enough for all skills that changed together.
            time.sleep(_RETRY_SECONDS)
            self._paused = lock, time.monotonic()
        self._refresh()
        return self._compared(directory)

    def _compared(self, directory: str) -> LockStanding:
        entry = self._entry(directory)
        if isinstance(entry, LockUnreadable):
            return LockStanding(LockState.UNLOCKED, lock_path=entry.path, problem=entry)
        if entry is None or (ours := entry[0].ours) is None:
            return LockStanding(LockState.UNLOCKED, *(entry or ()))
        locked, path = entry
        states: Mapping[str, FileState] = {}
        try:
            states = states_of(directory)
            known = self._known.get(directory)
            if known is not None and (known.locked, known.files) == (locked, states):
                return known.standing
            found = differences(ours, digests_of(directory), directory)
            standing = LockStanding(LockState.EDITED if found else LockState.UNCHANGED, locked, path, found)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            standing = LockStanding(LockState.EDITED, locked, path, Differences(files_differ=True), unread=reason)
        self._known[directory] = _Known(locked, states, standing)
        return standing

    def _entry(self, directory: str) -> tuple[LockedSkill, str] | LockUnreadable | None:
        """Return the entry and the lock of the skill in `directory`. A link counts under its own name first."""
        found = self._entry_in(*os.path.split(directory))
        if found is None and os.path.islink(directory):
            found = self._entry_in(*os.path.split(os.path.realpath(directory)))
        return found

    def _entry_in(self, parent: str, name: str) -> tuple[LockedSkill, str] | LockUnreadable | None:
        paths = self._roots.get(parent)
        if paths is None:
            paths = lock_paths(os.path.realpath(parent))
            with self._mutex:
                # Other threads use the paths without the mutex, so the locks are read first.
                self._read(paths)
                self._roots[parent] = paths
        unreadable: LockUnreadable | None = None
        for path in paths:
            lock = self._locks[path][1]
            if isinstance(lock, LockUnreadable):
                unreadable = unreadable or lock
            elif name in lock:
                return lock[name], path
        return unreadable

    def _refresh(self) -> None:
        with self._mutex:
            # A link to a root may lead elsewhere by now.
            self._roots.clear()
            self._read(tuple(self._locks))

    def _read(self, paths: Sequence[str]) -> None:
        for path in paths:
            state = file_state(path)
            if path in self._locks and self._locks[path][0] == state:
                continue
            try:
                lock = lock_at(path)
                self._locks[path] = (state, {one.name: one for one in lock.skills})
            except LockUnreadable as error:
                self._locks[path] = (state, error)
