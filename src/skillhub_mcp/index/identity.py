"""Whose an index is: which state file and which table belong to a database and an embedder.

A directory may hold several databases, and a database several indexes, one for each embedder. The first index of a
directory has `index_state.json`, the first of a database the table `skills`; every other has names of its own. A state
file says whose it is, so that no index takes another's state or overwrites another's table.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from skillhub_mcp.index.lance_store import SCHEMA_VERSION
from skillhub_mcp.index.state import (
    FIRST_TABLE,
    NAMED_SINCE,
    STATE_FILE,
    STATE_FORMAT,
    StateHead,
    read_state_head,
    state_path,
)

_OWN_DIGITS = 12


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """Where an index lies: the path of its state file, and the name of its table in the database."""

    state_path: str
    table: str


@dataclass(frozen=True, slots=True)
class IndexIdentity:
    """A database, by its real path, and an embedder. Two names of one database are one identity."""

    database: str
    embedder: str

    @classmethod
    def of(cls, db_path: str, embedder: str) -> IndexIdentity:
        """Return the identity of the index at `db_path`, which need not exist, for an embedder's identity."""
        return cls(os.path.realpath(db_path), embedder)

    @property
    def directory(self) -> str:
        """The directory of the database, in which its state files and its lock lie."""
        return os.path.dirname(self.database)

    @property
    def database_name(self) -> str:
        """The database's name in its directory, which survives a move of the directory."""
        return os.path.basename(self.database)

    def find(self) -> IndexFiles | None:
        """Return the files of this index, or None if none was published yet, or its state file names another."""
        for path in (self._own_state_path, self._first_state_path):
            head = read_state_head(path)
            if head is not None and self._owns(head):
                return IndexFiles(path, head.table)
        return None

    def claim(self) -> IndexFiles:
        """Return the files of this index, choosing free ones where it has none. The caller holds the writer's lock."""
        found = self.find()
        if found is not None:
            return found
        table, *_ = self.possible_tables()
        first = read_state_head(self._first_state_path)
        taken = first is not None and (_is_newer(first) or self._owner(first) is not None)
        return IndexFiles(self._own_state_path if taken else self._first_state_path, table)

    def possible_tables(self) -> tuple[str, ...]:
        """Return the names that the table of this index may have where it has no state, the one to use first."""
        own = f"{FIRST_TABLE}_{_digest(self.embedder)}"
        used = {head.table for _, head in self.others()}
        return (own,) if FIRST_TABLE in used else (FIRST_TABLE, own)

    def newer(self) -> StateHead | None:
        """Return the head of this index's state file if a newer version of SkillHub wrote it."""
        for path in (self._own_state_path, self._first_state_path):
            head = read_state_head(path)
            if head is not None and _is_newer(head) and (not head.database or self._owns(head)):
                return head
        return None

    def others(self) -> Iterator[tuple[str, StateHead]]:
        """Yield the state files of the same database's other indexes, with their heads."""
        try:
            names = sorted(os.listdir(self.directory))
        except OSError:
            # Nothing can be published there, or nothing was yet; the writer names what is wrong.
            return
        stem, ending = os.path.splitext(STATE_FILE)
        for name in names:
            if name.startswith(stem) and name.endswith(ending):
                path = os.path.join(self.directory, name)
                head = read_state_head(path)
                owner = None if head is None else self._owner(head)
                if head is not None and owner is not None and owner.database == self.database and owner != self:
                    yield path, head

    def _owns(self, head: StateHead) -> bool:
        return self._owner(head) == self

    def _owner(self, head: StateHead) -> IndexIdentity | None:
        """Return whose state it is, or None where nobody can tell: an older format beside several databases."""
        if head.format >= NAMED_SINCE:
            return IndexIdentity(os.path.join(self.directory, head.database), head.embedder)
        databases = self._databases()
        return IndexIdentity(databases[0], head.embedder) if len(databases) == 1 else None

    def _databases(self) -> list[str]:
        try:
            with os.scandir(self.directory) as entries:
                return [path for path in map(os.fspath, entries) if os.path.isdir(_table_directory(path))]
        except OSError:
            return []

    @property
    def _first_state_path(self) -> str:
        return state_path(self.database)

    @property
    def _own_state_path(self) -> str:
        stem, ending = os.path.splitext(self._first_state_path)
        return f"{stem}.{_digest(self.database_name, self.embedder)}{ending}"


def _table_directory(database: str) -> str:
    return os.path.join(database, f"{FIRST_TABLE}.lance")


def _is_newer(head: StateHead) -> bool:
    return head.format > STATE_FORMAT or head.schema > SCHEMA_VERSION


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_OWN_DIGITS]
