"""Where are entries kept between two questions, and between two starts? In one small file beside the index.

It is a cache: what is missing or cannot be read is made anew, and where the file cannot be written entries are kept in
memory for as long as the process lives.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence

from skillhub_mcp.publishing.entries import Entry, PublishedFile

log = logging.getLogger(__name__)

PUBLICATION_FILE = "publication.sqlite"

_FORMAT = 1
_IN_MEMORY = ":memory:"
_PATIENCE_SECONDS = 5.0
# As many as every SQLite takes in one statement.
_AT_ONCE = 500


class KeptEntries:
    """Entries by the skill's directory. Safe to call from threads, and from several processes on one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def of(self, directories: Sequence[str]) -> dict[str, Entry]:
        """Return the entries that are kept of these skills."""
        found: dict[str, Entry] = {}
        with self._lock:
            for first in range(0, len(directories), _AT_ONCE):
                some = directories[first : first + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._read(
                    f"SELECT directory, entry FROM entries WHERE directory IN ({marks})",  # noqa: S608 - marks alone
                    [os.fsencode(directory) for directory in some],
                )
                for directory, written in rows:
                    entry = _from_json(written)
                    if entry is not None:
                        found[os.fsdecode(directory)] = entry
        return found

    def directories(self) -> frozenset[str]:
        """Return which skills an entry is kept of."""
        with self._lock:
            return frozenset(os.fsdecode(row[0]) for row in self._read("SELECT directory FROM entries", []))

    def keep(self, entries: Mapping[str, Entry]) -> None:
        """Keep these entries in place of what was kept of their skills."""
        rows = [(os.fsencode(directory), _to_json(entry)) for directory, entry in entries.items()]
        with self._lock:
            self._write("INSERT OR REPLACE INTO entries VALUES (?, ?)", rows)

    def forget(self, directories: Iterable[str]) -> None:
        """Keep nothing more of these skills."""
        with self._lock:
            self._write("DELETE FROM entries WHERE directory = ?", [(os.fsencode(one),) for one in directories])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _read(self, statement: str, values: Sequence[bytes]) -> list[tuple[bytes, str]]:
        try:
            return self._opened().execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self._go_on_in_memory(error)
            return []

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if not rows:
            return
        try:
            with self._opened() as transaction:
                transaction.executemany(statement, rows)
        except sqlite3.Error as error:
            self._go_on_in_memory(error)
            with self._opened() as transaction:
                transaction.executemany(statement, rows)

    def _go_on_in_memory(self, error: sqlite3.Error) -> None:
        log.warning("%s cannot be used (%s): digests are kept in memory until the next start", self._path, error)
        if self._database is not None:
            self._database.close()
        self._database = _open(_IN_MEMORY)

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            try:
                os.makedirs(os.path.dirname(self._path), exist_ok=True)
                self._database = _open(self._path)
            except (OSError, sqlite3.Error) as error:
                log.warning("%s cannot be opened (%s): digests are kept in memory", self._path, error)
                self._database = _open(_IN_MEMORY)
        return self._database


def _open(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, check_same_thread=False)
    try:
        if database.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            with database:
                database.execute("DROP TABLE IF EXISTS entries")
                database.execute(f"PRAGMA user_version = {_FORMAT}")
        database.execute("PRAGMA journal_mode = WAL")
        # What a crash may lose here is made anew.
        database.execute("PRAGMA synchronous = OFF")
        with database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS entries (directory BLOB PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID"
            )
    except sqlite3.Error:
        database.close()
        raise
    return database


def _to_json(entry: Entry) -> str:
    written = {
        "name": entry.name,
        "stamps": entry.stamps,
        "frontmatter": entry.frontmatter,
        "files": [[file.path, file.size, file.digest] for file in entry.files],
        "changes": list(entry.changes),
        "withheld": entry.withheld,
    }
    return json.dumps(written, separators=(",", ":"))


def _from_json(written: str) -> Entry | None:
    try:
        read = json.loads(written)
        return Entry(
            name=read["name"],
            stamps={path: (stamp[0], stamp[1], stamp[2]) for path, stamp in read["stamps"].items()},
            frontmatter=read["frontmatter"],
            files=tuple(PublishedFile(path, size, digest) for path, size, digest in read["files"]),
            changes=tuple(read["changes"]),
            withheld=read["withheld"],
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        # Of another version, or damaged: it is made anew.
        return None
