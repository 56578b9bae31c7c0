"""The locks of the libraries that are served, and whether each skill is still as its lock says. Thread-safe.

A lock lies in its root; that of a project's `.agents/skills` in the project, where npx skills has it too. Locks are
read again when they change, and files when the system says that one was written. Digests are kept in memory only.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import LockUnreadable, SkillChanged, SkillHubError
from skillhub_mcp.locks.content_digest import FileDigest, digest_of, regular_of
from skillhub_mcp.locks.file_digests import (
    FileState,
    KnownDigests,
    digests_of,
    same_but_line_ends,
    states_of,
)
from skillhub_mcp.locks.foreign import (
    NPX,
    Provenance,
    global_lock_path,
    is_path,
    provenance_of,
    provenance_of_metadata,
    read_global_lock,
)
from skillhub_mcp.locks.lock_file import LOCK_NAME, Lock, LockedSkill
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.locks.states import NO_DIFFERENCES, Differences, LockState, differences
from skillhub_mcp.redaction import redacted

if TYPE_CHECKING:
    from skillhub_mcp.skills.model import Skill

_AGENTS_SKILLS = os.path.join(".agents", "skills")
# So many skills of a list are looked at again by every call, in turn. What is returned of a skill is always looked at.
_MOST_LOOKED_AT = 100
_HAS_MODES = os.name != "nt"
_RETRY_SECONDS = 0.05
_SHOWN_DIGITS = 12


@dataclass(frozen=True, slots=True)
class LockStanding:
    """A skill held against its lock: the entry and the lock that has it, if one does, and what differs.

    `provenance` is where another program says that a skill without a digest of ours is from, which is not verified.
    `problem` is why a lock that may name it cannot be read; `unread` why one of its files cannot be.
    """

    state: LockState
    locked: LockedSkill | None = None
    lock_path: str = ""
    differs: Differences = NO_DIFFERENCES
    problem: LockUnreadable | None = None
    unread: str = ""
    provenance: Provenance | None = None

    def told(self, *, with_paths: bool = True) -> dict[str, object]:
        """Return what is told of it, as plain JSON values: the state, where the skill is from, and what differs.

        Without `with_paths` no path of this machine is in it.
        """
        value: dict[str, object] = {"state": self.state.value}
        if self.differs.line_ends:
            value["line_ends"] = True
        if self.locked is not None and self.locked.ours is not None:
            ours, source = self.locked.ours, _source(self.locked)
            value |= {
                "source": source if with_paths or not is_path(source) else None,
                "ref": self.locked.ref or None,
                "commit": ours.commit or None,
                "digest": ours.digest,
                "signer": ours.principal or ours.signer or None,
                "file": self.differs.first or None,
            }
        elif self.provenance is not None:
            source = self.provenance.source
            value |= {
                "source": source if with_paths or not is_path(source) else None,
                "ref": self.provenance.ref or None,
                "commit": self.provenance.commit or None,
                "told_by": self.provenance.by,
                "verified": False,
            }
        if self.problem is not None:
            value["problem"] = self.problem.message if with_paths else "its lock cannot be read"
        return value

    def sentence(self) -> str:
        """Return the same for a person, in one line; empty where nothing tells of it."""
        if self.problem is not None:
            return self.problem.message
        told = self.told()
        if "source" not in told:
            return ""
        ref, commit = str(told["ref"] or ""), str(told["commit"] or "")[:_SHOWN_DIGITS]
        at = f" at {commit}" if commit else f" at {ref}" if ref else ""
        parts = [
            self.state.value
            + (f" ({self.differs.shown(self.differs.first)})" if told.get("file") else "")
            + (" but for its line ends" if self.differs.line_ends else ""),
            f"from {told['source']}{at}" + (f", as {told['told_by']} says: not verified" if "told_by" in told else ""),
            f"signed by {told['signer']}" if told.get("signer") else "",
        ]
        return ", ".join(filter(None, parts))


class _Judged(NamedTuple):
    """Why a skill is withheld, if it is, by its entry and its SKILL.md at that time."""

    skill: Skill
    locked: LockedSkill
    error: SkillHubError | None


class _Entry(NamedTuple):
    """The entry of a skill, and the path of the lock that has it."""

    locked: LockedSkill
    path: str


def lock_paths(root: str) -> tuple[str, ...]:
    """Return where the lock of the skills right below `root` may lie: in it, and in the project whose root it is."""
    own = os.path.join(root, LOCK_NAME)
    above = os.path.dirname(os.path.dirname(root))
    if not root.endswith(os.sep + _AGENTS_SKILLS) or above == os.path.realpath(expand_home("~")):
        return (own,)
    return (own, os.path.join(above, LOCK_NAME))


class LockVerifier:
    """Holds skills against their locks. With `only`, what no lock of ours names is withheld, too.

    `option_of` returns, for the path of a lock, the option with which a command reads that lock, as errors name it.
    """

    def __init__(self, *, only: bool = False, option_of: Callable[[str], str] = lambda _: "") -> None:
        self._only = only
        self._option_of = option_of
        self._mutex = threading.RLock()
        self._locks: dict[str, tuple[FileState | None, Lock | LockUnreadable | None]] = {}
        self._names: dict[str, dict[str, LockedSkill]] = {}
        self._roots: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._judged: dict[str, _Judged] = {}
        self._clean: dict[str, Mapping[str, FileDigest]] = {}
        # What was found of a skill's files, by their digest and that of the lock.
        self._line_ends: dict[tuple[str, str, str], bool] = {}
        # Where `npx skills` and `gh skill` install for all projects, as far as links lead.
        self._npx_root = ""
        self._global: tuple[str, FileState | None, Mapping[str, Provenance]] | None = None
        self._changes = 0
        self._turn: list[_Judged] = []
        self.digests = KnownDigests()

    def standing(self, directory: str, metadata: Mapping[str, object] | None = None) -> LockStanding:
        """Return how the skill in `directory` stands against its lock, by its files as they are now.

        With the `metadata` of its SKILL.md also where other programs say that it is from, if no lock of ours does.
        """
        self._refresh()
        return self._told_standing(directory, metadata)

    def standings(self, skills: Iterable[tuple[str, Mapping[str, object] | None]]) -> Iterator[LockStanding]:
        """Yield what `standing` would return of each, by the locks as they are when the first is asked for.

        Looking at all locks and roots again for each skill would take the square of their number.
        """
        self._refresh()
        for directory, metadata in skills:
            yield self._told_standing(directory, metadata)

    def differs(self, skill: Skill, *, now: bool = False) -> SkillHubError | None:
        """Return the error with which `skill` is withheld, if it is: SkillChanged, or LockUnreadable.

        With `now` by all of its files as they are, else by its SKILL.md and by what was last seen of the others.
        """
        known = self._judged.get(skill.directory)
        error = self._differs(skill, now=now)
        if error is None or not now or (known is not None and known.error is not None):
            return error
        # A command replaces a skill's files and then writes the lock: between these the two do not fit.
        time.sleep(_RETRY_SECONDS)
        self._refresh()
        return self._differs(skill, now=True)

    def _differs(self, skill: Skill, *, now: bool) -> SkillHubError | None:
        found = self._entry(skill.directory)
        if isinstance(found, LockUnreadable):
            return found
        if found is None or found.locked.ours is None:
            self._judged.pop(skill.directory, None)
            return self._unlocked(skill, found) if self._only else None
        known = self._judged.get(skill.directory)
        if not now and known is not None and (known.locked, known.skill.stamp) == (found.locked, skill.stamp):
            return known.error
        error = self._error(skill.name, self._standing(skill.directory))
        with self._mutex:
            self._judged[skill.directory] = _Judged(skill, found.locked, error)
            # One that is judged for the first time was not served before.
            if known is not None and (known.error is None) != (error is None):
                self._changes += 1
        return error

    def _unlocked(self, skill: Skill, found: _Entry | None) -> SkillHubError:
        named = "" if found is None else "its lock has no digest of SkillHub's"
        known_root = self._roots.get(os.path.dirname(skill.directory))
        option = "" if known_root is None else self._option_of(known_root[1][-1])
        lock = " ".join(filter(None, ["skillhub lock", option]))
        return SkillChanged(skill.name, reason=named, hint=f"its user can lock it with `{lock}`")

    def _error(self, name: str, standing: LockStanding) -> SkillHubError | None:
        if standing.state is not LockState.EDITED:
            return None
        option = self._option_of(standing.lock_path)
        if standing.unread:
            return SkillChanged(name, reason=f"its files cannot be read: {standing.unread}", option=option)
        first = standing.differs.first
        irregular = standing.differs.irregular.get(first)
        if irregular is not None:
            return SkillChanged(name, first, reason=irregular.reason(first), option=option)
        reason = "" if first else "its files are not those that were locked"
        return SkillChanged(name, first, reason=reason, option=option)

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
        """Return a value that is another one if other skills may be withheld. Looks at some of them again, in turn."""
        self._refresh()
        with self._mutex:
            if not self._turn:
                self._turn = list(self._judged.values())
            some, self._turn = self._turn[:_MOST_LOOKED_AT], self._turn[_MOST_LOOKED_AT:]
        for judged in some:
            self.differs(judged.skill, now=True)
        return self._changes, tuple(sorted((path, state) for path, (state, _) in self._locks.items()))

    def _told_standing(self, directory: str, metadata: Mapping[str, object] | None) -> LockStanding:
        found = self._standing(directory)
        if metadata is None or (found.locked is not None and found.locked.ours is not None):
            return found
        return replace(found, provenance=self._provenance(directory, found, metadata))

    def _standing(self, directory: str) -> LockStanding:
        entry = self._entry(directory)
        if isinstance(entry, LockUnreadable):
            return LockStanding(LockState.UNLOCKED, lock_path=entry.path, problem=entry)
        if entry is None:
            return LockStanding(LockState.UNLOCKED)
        locked, path = entry
        if locked.ours is None:
            return LockStanding(LockState.UNLOCKED, locked, path)
        try:
            files = digests_of(directory, self.digests)
            found = differences(
                locked,
                files,
                self._clean.get(directory),
                modes=_HAS_MODES,
                same_but_line_ends=partial(self._same_but_line_ends, directory, files, locked.ours.digest),
            )
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return LockStanding(LockState.EDITED, locked, path, Differences(unknown=True), unread=reason)
        if not found and not found.line_ends:
            # What is right now tells later which file is not.
            self._clean[directory] = regular_of(files)
        return LockStanding(LockState.EDITED if found else LockState.UNCHANGED, locked, path, found)

    def _same_but_line_ends(self, directory: str, files: Mapping[str, FileDigest], digest: str) -> bool:
        key = directory, digest_of(files), digest
        if key not in self._line_ends:
            self._line_ends[key] = same_but_line_ends(directory, files, digest)
        return self._line_ends[key]

    def _provenance(self, directory: str, found: LockStanding, metadata: Mapping[str, object]) -> Provenance | None:
        if found.locked is not None:
            return Provenance(_source(found.locked), found.locked.ref, found.locked.skill_path, by=NPX)
        parent, name = os.path.split(directory)
        if os.path.islink(directory):
            parent, name = os.path.split(os.path.realpath(directory))
        elif (known := self._roots.get(parent)) is not None:
            # Where it leads was found out when the lock was looked for.
            parent = known[0]
        if parent != self._npx_root:
            return provenance_of_metadata(metadata)
        path = global_lock_path(os.environ)
        state = _state_of(path)
        if self._global is None or self._global[:2] != (path, state):
            self._global = (path, state, {} if state is None else read_global_lock(path))
        return provenance_of(self._global[2].get(name), metadata)

    def _entry(self, directory: str) -> _Entry | LockUnreadable | None:
        """Return the entry of the skill in `directory`, or why that is not known.

        A directory of a locked name counts where it is a link, too: else a link would be no change.
        """
        parent, name = os.path.split(directory)
        found = self._entry_in(parent, name)
        if found is None and os.path.islink(directory):
            parent, name = os.path.split(os.path.realpath(directory))
            found = self._entry_in(parent, name)
        return found

    def _entry_in(self, parent: str, name: str) -> _Entry | LockUnreadable | None:
        found = self._roots.get(parent)
        if found is None:
            root = os.path.realpath(parent)
            found = (root, lock_paths(root))
            with self._mutex:
                # Who finds a root does so without the mutex, and its locks have been read by then.
                self._read(found[1])
                self._roots[parent] = found
        unreadable: LockUnreadable | None = None
        for path in found[1]:
            lock = self._locks[path][1]
            if isinstance(lock, LockUnreadable):
                unreadable = unreadable or lock
            elif lock is not None and (locked := self._names[path].get(name)) is not None:
                return _Entry(locked, path)
        return unreadable

    def _refresh(self) -> None:
        """Read the locks that changed, and see where links to roots lead now."""
        with self._mutex:
            for parent, (root, _) in list(self._roots.items()):
                if os.path.realpath(parent) != root:
                    del self._roots[parent]
            self._npx_root = os.path.realpath(os.path.join(expand_home("~"), _AGENTS_SKILLS))
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


def _source(locked: LockedSkill) -> str:
    return redacted(locked.source_url or locked.source)


def _state_of(path: str) -> FileState | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
