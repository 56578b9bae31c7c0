"""Which state file and which table belong to a database and an embedder.

A directory may hold several databases, and a database several indexes, one for each embedder. The first index of a
directory has `index_state.json`, the first of a database the table `skills`; every other has names of its own. A state
file says whose it is, so that no index takes another's state or overwrites another's table.
"""

from __future__ import annotations

import contextlib
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
        path, read = self._own()
        return None if read is None or read.state is None else IndexPlace(path, read.state.table)

    def state(self) -> IndexState | None:
        """Return the committed state; None also if a newer version of SkillHub wrote it."""
        _, read = self._own()
        return None if read is None else read.state

    def newer(self) -> StateHead | None:
        """Return the head of this index's state file if a newer version of SkillHub wrote it."""
        _, read = self._own()
        return None if read is None or read.head is None or not read.head.is_newer else read.head

    def claim(self) -> IndexPlace:
        """Return the files to write, choosing free names for a new index. The caller holds the writer's lock."""
        found = self.find()
        if found is not None:
            return found
        path, _ = self._own()
        used = {other.table for other in self.others()}
        return IndexPlace(path, f"{FIRST_TABLE}_{_digest(self.embedder)}" if FIRST_TABLE in used else FIRST_TABLE)

    def _own(self) -> tuple[str, _Read | None]:
        """Return the path of the state file and its content; of a new index, a free path and None."""
        reads = {path: self._look(path) for path in (self._own_path, self._first_path)}
        for path, read in reads.items():
            if read is not None and read.head is not None and self._owns(read.head):
                return path, read
        first = reads[self._first_path]
        # A file that is not a state of this format is ignored and overwritten.
        taken = first is not None and first.head is not None and (first.state is not None or first.head.is_newer)
        return self._own_path if taken else self._first_path, None

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


def something_else(database: str) -> str | None:
    """Return the name of something in a directory that is not a database; None where an index may be written."""
    with contextlib.suppress(OSError):
        names = os.listdir(database)
        if not any(name.endswith(".lance") for name in names):
            # Statistics are what an index that was never finished leaves.
            others = (name for name in names if not name.startswith((".", "statistics-")) and name != "lost+found")
            return min(others, default=None)
    return None


def _stamp(path: str) -> StateStamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_OWN_DIGITS]
