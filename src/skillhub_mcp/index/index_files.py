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
from typing import NamedTuple

from skillhub_mcp.index.lance import IN_MEMORY
from skillhub_mcp.index.state_file import IndexState, StateHead, decode_state, write_state

log = logging.getLogger(__name__)

STATE_FILE = "index_state.json"
FIRST_TABLE = "skills"

_OWN_DIGITS = 12


class IndexPlace(NamedTuple):
    """Where an index lies: the path of its state file, and the name of its table."""

    state_path: str
    table: str


class _Read(NamedTuple):
    """What a state file with a stamp (inode, mtime, size) has; without a head it is no state file."""

    stamp: tuple[int, int, int] | None
    head: StateHead | None = None
    state: IndexState | None = None


class IndexFiles:
    """The files of the index of one database for one embedder; `database` is a real path. Parses each state once."""

    def __init__(self, db_path: str, embedder: str) -> None:
        self.database = os.path.realpath(db_path)
        # The name survives a move of the directory, in which the state files and the locks lie.
        self.directory, self.database_name = os.path.split(self.database)
        self.embedder = embedder
        self._in_memory = db_path == IN_MEMORY
        self._read: dict[str, _Read] = {}

    def state(self) -> IndexState | None:
        """Return the committed state; None also if a newer version of SkillHub wrote it."""
        return self._own()[1].state

    def newer(self) -> StateHead | None:
        """Return the head of this index's state file if a newer version of SkillHub wrote it."""
        head = self._own()[1].head
        return head if head is not None and head.is_newer else None

    def place(self) -> IndexPlace:
        """Return the files of the index; for a new one, free names. To write there, hold the writer's lock."""
        path, read = self._own()
        if read.state is not None:
            return IndexPlace(path, read.state.table)
        used = {other.table for other in self.others()}
        return IndexPlace(path, f"{FIRST_TABLE}_{_digest(self.embedder)}" if FIRST_TABLE in used else FIRST_TABLE)

    def others(self) -> Iterator[IndexState]:
        """Yield the states of the same database for other embedders."""
        stem, ending = os.path.splitext(STATE_FILE)
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(self.directory)):
                if name.startswith(stem) and name.endswith(ending):
                    state = self._look(os.path.join(self.directory, name)).state
                    if state is not None and state.database == self.database_name and state.embedder != self.embedder:
                        yield state

    def write(self, state: IndexState) -> None:
        """Commit a state, and keep it, so that it is not parsed again. Raises OSError."""
        path = self.place().state_path
        if not self._in_memory:
            write_state(path, state)
        self._read[path] = _Read(_stamp(path), state.head, state)

    def _own(self) -> tuple[str, _Read]:
        """Return the path of the state file and its content; of a new index, a free path."""
        stem, ending = os.path.splitext(STATE_FILE)
        first_path = os.path.join(self.directory, STATE_FILE)
        own_path = os.path.join(self.directory, f"{stem}.{_digest(self.database_name, self.embedder)}{ending}")
        for path in (own_path, first_path):
            read = self._look(path)
            if read.head is not None and read.head[2:] == (self.database_name, self.embedder):
                return path, read
        # The last one is the first path's. A file that is not a state of this format is ignored and overwritten.
        is_taken = read.head is not None and (read.state is not None or read.head.is_newer)
        return own_path if is_taken else first_path, _NOTHING

    def _look(self, path: str) -> _Read:
        if self._in_memory:
            return self._read.get(path, _NOTHING)
        stamp = _stamp(path)
        if stamp is None:
            return _NOTHING
        known = self._read.get(path)
        if known is None or known.stamp != stamp:
            try:
                with open(path, "rb") as file:
                    known = _Read(stamp, *decode_state(file.read()))
            except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                log.warning("%s is not an index state and is ignored: %s", path, error)
                known = _Read(stamp)
            self._read[path] = known
        return known


_NOTHING = _Read(None)


def something_else(database: str) -> str | None:
    """Return the name of something in a directory that is not a database; None where an index may be written."""
    with contextlib.suppress(OSError):
        names = os.listdir(database)
        if not any(name.endswith(".lance") for name in names):
            # Statistics are what an index that was never finished leaves.
            others = (name for name in names if not name.startswith((".", "statistics-")) and name != "lost+found")
            return min(others, default=None)
    return None


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_OWN_DIGITS]
