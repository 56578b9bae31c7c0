"""Which state file and which table belong to a database and an embedder.

A directory may hold several databases, and a database several indexes, one for each embedder. The first index of a
directory has `index_state.json`, the first of a database the table `skills`; every other has names of its own. A state
file says whose it is, so that no index takes another's state or overwrites another's table.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from skillhub_mcp.index.state_file import IndexState, StateHead, decode_state

log = logging.getLogger(__name__)

STATE_FILE = "index_state.json"
FIRST_TABLE = "skills"

_OWN_DIGITS = 12

StateStamp = tuple[int, int, int]


class IndexPlace(NamedTuple):
    """Where an index lies: the path of its state file, and the name of its table."""

    state_path: str
    table: str


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: StateStamp
    head: StateHead | None
    state: IndexState | None


class IndexFiles:
    """The files of the index of one database for one embedder; `database` is a real path. Parses each state once."""

    def __init__(self, db_path: str, embedder: str) -> None:
        self.database = os.path.realpath(db_path)
        self.embedder = embedder
        self._read: dict[str, _Read] = {}

    @property
    def directory(self) -> str:
        """The directory of the database, in which its state files and its lock lie."""
        return os.path.dirname(self.database)

    @property
    def database_name(self) -> str:
        """The database's name in its directory, which survives a move of the directory."""
        return os.path.basename(self.database)

    def find(self) -> IndexPlace | None:
        """Return the files of this index, or None if none was committed yet."""
        path, state = self._state_path(), self.state()
        return None if path is None or state is None else IndexPlace(path, state.table)

    def _state_path(self) -> str | None:
        for path in (self._own_path, self._first_path):
            read = self._look(path)
            if read is not None and read.head is not None and self._owns(read.head):
                return path
        return None

    def state(self) -> IndexState | None:
        """Return the committed state; None also if a newer version of SkillHub wrote it."""
        path = self._state_path()
        read = None if path is None else self._look(path)
        return None if read is None else read.state

    def stamp(self) -> StateStamp | None:
        """Return what changes when another state is committed; None if there is none. Parses no file twice."""
        path = self._state_path()
        return None if path is None else _stamp(path)

    def newer(self) -> StateHead | None:
        """Return the head of this index's state file if a newer version of SkillHub wrote it."""
        for path in (self._own_path, self._first_path):
            read = self._look(path)
            if read is not None and read.head is not None and read.head.is_newer and self._owns(read.head):
                return read.head
        return None

    def claim(self) -> IndexPlace:
        """Return the files to write, choosing free names for a new index. The caller holds the writer's lock."""
        found = self.find()
        if found is not None:
            return found
        path = self._state_path()
        if path is None:
            first = self._look(self._first_path)
            # What is no state of this format is ignored and overwritten.
            taken = first is not None and first.head is not None and (first.state is not None or first.head.is_newer)
            path = self._own_path if taken else self._first_path
        used = {other.table for other in self.others()}
        return IndexPlace(path, f"{FIRST_TABLE}_{_digest(self.embedder)}" if FIRST_TABLE in used else FIRST_TABLE)

    def others(self) -> Iterator[IndexState]:
        """Yield the states of the same database for other embedders."""
        for path in self._state_paths():
            read = self._look(path)
            state = None if read is None else read.state
            if state is not None and state.database == self.database_name and state.embedder != self.embedder:
                yield state

    def committed(self, path: str, state: IndexState) -> None:
        """Keep a state that was just written, so that it is not parsed again."""
        stamp = _stamp(path)
        if stamp is not None:
            self._read[path] = _Read(stamp, state.head, state)

    def _state_paths(self) -> list[str]:
        stem, ending = os.path.splitext(STATE_FILE)
        try:
            names = sorted(os.listdir(self.directory))
        except OSError:
            return []
        return [os.path.join(self.directory, one) for one in names if one.startswith(stem) and one.endswith(ending)]

    def _owns(self, head: StateHead) -> bool:
        return head.database == self.database_name and head.embedder == self.embedder

    def _look(self, path: str) -> _Read | None:
        stamp = _stamp(path)
        if stamp is None:
            return None
        known = self._read.get(path)
        if known is None or known.stamp != stamp:
            try:
                with open(path, "rb") as file:
                    head, state = decode_state(file.read())
            except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                log.warning("%s is not an index state and is ignored: %s", path, error)
                head, state = None, None
            known = self._read[path] = _Read(stamp, head, state)
        return known

    @property
    def _first_path(self) -> str:
        return os.path.join(self.directory, STATE_FILE)

    @property
    def _own_path(self) -> str:
        stem, ending = os.path.splitext(STATE_FILE)
        own = _digest(self.database_name, self.embedder)
        return os.path.join(self.directory, f"{stem}.{own}{ending}")


def _stamp(path: str) -> StateStamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_OWN_DIGITS]
