"""The cache of published entries: one SQLite file next to the index, shared by requests, processes and restarts.

Entries that are missing, unreadable or from another version of SkillHub are computed again. If the file cannot be
written, entries are cached in memory for the lifetime of the process.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from skillhub_mcp._util.file_modes import make_private, make_private_directory, private_mode
from skillhub_mcp.publishing.entries import PublishedEntry, PublishedFile
from skillhub_mcp.version import version

log = logging.getLogger(__name__)

PUBLICATION_FILE = "publication.sqlite"

_FORMAT = 1
_IN_MEMORY = ":memory:"
_BUSY_TIMEOUT_SECONDS = 5.0
# The number of parameters that every SQLite accepts in one statement.
_BATCH = 500


class EntryCache:
    """Entries by skill directory. Thread-safe; several processes may use the same file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._closed = False

    def get(self, directories: Sequence[str]) -> dict[str, PublishedEntry]:
        """Return the cached entries of the skills in these directories."""
        rows = []
        with self._lock:
            for first in range(0, len(directories), _BATCH):
                batch = directories[first : first + _BATCH]
                marks = ",".join("?" * len(batch))
                rows += self._read(
                    f"SELECT directory, entry FROM entries WHERE directory IN ({marks})",  # noqa: S608 - marks alone
                    [os.fsencode(directory) for directory in batch],
                )
        read = {os.fsdecode(directory): _from_json(written) for directory, written in rows}
        return {directory: entry for directory, entry in read.items() if entry is not None}

    def directories(self) -> frozenset[str]:
        """Return the directories of all cached entries."""
        with self._lock:
            return frozenset(os.fsdecode(row[0]) for row in self._read("SELECT directory FROM entries", []))

    def put(self, entries: Mapping[str, PublishedEntry]) -> None:
        """Store entries by directory, replacing those of the same skills."""
        rows = [(os.fsencode(directory), _to_json(entry)) for directory, entry in entries.items()]
        with self._lock:
            self._write("INSERT OR REPLACE INTO entries VALUES (?, ?)", rows)

    def delete(self, directories: Iterable[str]) -> None:
        """Delete the entries of these skills."""
        rows = [(os.fsencode(one),) for one in directories]
        with self._lock:
            self._write("DELETE FROM entries WHERE directory = ?", rows)

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Delete the entries of the directories that are forgotten."""
        self.delete([directory for directory in self.directories() if is_forgotten(directory)])

    def close(self) -> None:
        """Close the file. From then on, nothing is found or stored."""
        with self._lock:
            self._closed = True
            if self._database is not None:
                self._database.close()
                self._database = None

    def _read(self, statement: str, values: Sequence[bytes]) -> list[Any]:
        if self._closed:
            return []
        try:
            return self._opened().execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self._reopen(error)
            return []

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if self._closed or not rows:
            return
        try:
            with self._opened() as transaction:
                transaction.executemany(statement, rows)
        except sqlite3.Error as error:
            with self._reopen(error) as transaction:
                transaction.executemany(statement, rows)

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            try:
                make_private_directory(os.path.dirname(self._path))
                self._database = _open(self._path)
            except (OSError, sqlite3.Error) as error:
                self._database = self._reopen(error)
        return self._database

    def _reopen(self, error: Exception) -> sqlite3.Connection:
        """Replace the database after a failure: by a new file if the old one is damaged, otherwise by one in memory."""
        if self._database is not None:
            self._database.close()
        if type(error) is sqlite3.DatabaseError:
            log.info("%s is damaged (%s); creating it again", self._path, error)
            try:
                os.remove(self._path)
                self._database = _open(self._path)
            except (OSError, sqlite3.Error) as again:
                error = again
            else:
                return self._database
        log.warning("%s cannot be used (%s); caching digests in memory until the next start", self._path, error)
        self._database = _open(_IN_MEMORY)
        return self._database


def _open(path: str) -> sqlite3.Connection:
    if path != _IN_MEMORY:
        # SQLite would leave the mode to the umask; its journals get that of the file.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, private_mode(os.path.dirname(path)) or 0o666))
        make_private([path])
    database = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_SECONDS, check_same_thread=False)
    try:
        # If a power failure damages the file, it is created again.
        database.execute("PRAGMA synchronous = OFF")
        # Of two processes that start at once, the second waits until the first has created the table.
        database.execute("BEGIN IMMEDIATE")
        with database:
            if database.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                database.execute("DROP TABLE IF EXISTS entries")
                database.execute(f"PRAGMA user_version = {_FORMAT}")
            database.execute(
                "CREATE TABLE IF NOT EXISTS entries (directory BLOB PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID"
            )
    except sqlite3.Error:
        database.close()
        raise
    return database


def _to_json(entry: PublishedEntry) -> str:
    written = {
        "by": version(),
        "name": entry.name,
        "stamps": entry.stamps,
        "frontmatter": entry.frontmatter,
        "files": [[file.path, file.size, file.digest, file.is_text] for file in entry.files],
        "changes": list(entry.changes),
        "withheld": entry.withheld,
    }
    return json.dumps(written, separators=(",", ":"))


def _from_json(written: str) -> PublishedEntry | None:
    try:
        read = json.loads(written)
        if read["by"] != version():
            return None  # another version may normalize the SKILL.md differently
        return PublishedEntry(
            name=read["name"],
            stamps={path: (stamp[0], stamp[1], stamp[2]) for path, stamp in read["stamps"].items()},
            frontmatter=read["frontmatter"],
            files=tuple(PublishedFile(*file) for file in read["files"]),
            changes=tuple(read["changes"]),
            withheld=read["withheld"],
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # A damaged entry is computed again.
        return None
