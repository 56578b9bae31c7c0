"""The digests of locked skills' files in a SQLite file beside the index, so that a later process hashes none of them.

Only skills that were as they were locked are in it. It is a cache: what is missing, damaged or of another form is read
from the skills again, and so is all of it where somebody else may write the file. Whoever may write it could pass an
edited file off as unchanged, so nothing that installs, locks or verifies looks at it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.file_modes import changeable_by_others, make_private, private_mode
from skillhub_mcp.locks.content_digest import FileDigest
from skillhub_mcp.locks.file_digests import FileState, KnownFile
from skillhub_mcp.skills.model import SKILL_FILE

log = logging.getLogger(__name__)

KEPT_FILE = "digests.sqlite"

_FORMAT = 1
_BUSY_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class KeptSkill:
    """A skill that was as it was locked: `entry` says which entry of a lock that was, `files` are by path with `/`."""

    entry: str
    files: Mapping[str, KnownFile]

    @property
    def stamp(self) -> str:
        """The state of its SKILL.md, as `stamp_text` writes it; empty where that is no file of its own."""
        file = self.files.get(SKILL_FILE)
        return "" if file is None else stamp_text(file.state.mtime_ns, file.state.ctime_ns, file.state.size)


def stamp_text(mtime_ns: int, ctime_ns: int, size: int) -> str:
    """Return the state of a SKILL.md as it is compared."""
    return f"{mtime_ns}:{ctime_ns}:{size}"


class KeptDigests:
    """The file at `path`. Thread-safe; several processes may use it. Nothing is opened before it is asked for.

    A file that cannot be used finds nothing and keeps nothing: that costs time at the next start, and nothing else.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._is_read = False

    def find(self, directory: str) -> KeptSkill | None:
        """Return what is kept of the skill in `directory`."""
        rows = self._read("SELECT entry, files FROM skills WHERE root = ? AND name = ?", *_key(directory))
        return _from_row(*rows[0]) if rows else None

    def unchanged(self, root: str) -> dict[str, tuple[str, str]]:
        """Return for each skill right below `root` its entry and the stamp of its SKILL.md, by name."""
        rows = self._read("SELECT name, entry, stamp FROM skills WHERE root = ?", os.fsencode(root))
        with contextlib.suppress(TypeError, ValueError):
            return {os.fsdecode(name): (entry, stamp) for name, entry, stamp in rows}
        return {}

    def write(self, found: Mapping[str, KeptSkill | None], locked: Mapping[str, Collection[str]]) -> None:
        """Keep these skills by directory, and drop those that are None.

        Dropped are, too, those of roots that are gone, and what is gone of the roots in `locked`, which has the names
        that their locks have. Nothing is written where there is no index.
        """
        if not os.path.isdir(os.path.dirname(self._path)):
            return
        with self._lock:
            try:
                try:
                    self._write(found, locked)
                except sqlite3.Error as error:
                    if not _is_damage(error):
                        raise
                    self._close()
                    os.remove(self._path)
                    self._write(found, locked)
            except (OSError, sqlite3.Error) as error:
                log.debug("Digests are not kept in %s: %s", self._path, error)

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Drop what is kept of the directories that are forgotten."""
        rows = self._read("SELECT root, name FROM skills")
        kept = [os.path.join(os.fsdecode(root), os.fsdecode(name)) for root, name in rows]
        gone = {directory: None for directory in kept if is_forgotten(directory)}
        if gone:
            self.write(gone, {})

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _read(self, statement: str, *values: bytes) -> list[tuple[str, ...]]:
        with self._lock:
            try:
                if not self._is_read:
                    self._is_read = True
                    self._database = self._opened_to_read()
                return [] if self._database is None else self._database.execute(statement, values).fetchall()
            except (OSError, sqlite3.Error) as error:
                self._close()
                log.debug("What %s has is not used: %s", self._path, error)
                return []

    def _opened_to_read(self) -> sqlite3.Connection | None:
        if not os.path.isfile(self._path) or not self._is_ours():
            return None
        # Nothing is written by looking, also where the directory is read-only.
        place = f"{Path(self._path).absolute().as_uri()}?mode=ro"
        database = sqlite3.connect(place, uri=True, timeout=_BUSY_TIMEOUT_SECONDS, check_same_thread=False)
        with contextlib.ExitStack() as unused:
            unused.callback(database.close)
            database.execute("PRAGMA trusted_schema = OFF")
            if _version(database) != _FORMAT:
                return None
            unused.pop_all()
            return database

    def _write(self, found: Mapping[str, KeptSkill | None], locked: Mapping[str, Collection[str]]) -> None:
        kept = [(*_key(at), one.entry, one.stamp, _to_json(one)) for at, one in found.items() if one is not None]
        with self._opened_to_write() as database, database:
            database.executemany("INSERT OR REPLACE INTO skills VALUES (?, ?, ?, ?, ?)", kept)
            gone = [_key(directory) for directory, one in found.items() if one is None] + _gone(database, locked)
            database.executemany("DELETE FROM skills WHERE root = ? AND name = ?", gone)

    @contextlib.contextmanager
    def _opened_to_write(self) -> Iterator[sqlite3.Connection]:
        # SQLite would leave the mode to the umask; its journals get that of the file.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(self._path, flags, private_mode(os.path.dirname(self._path)) or 0o666))
        make_private([self._path])
        if not self._is_ours():
            raise OSError(0, "others may write it")
        with contextlib.closing(sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_SECONDS)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            # If a power failure damages the file, it is made again.
            database.execute("PRAGMA synchronous = OFF")
            # Of two processes that start at once, the second waits until the first has made the table.
            database.execute("BEGIN IMMEDIATE")
            version = _version(database)
            if version > _FORMAT:
                raise sqlite3.Error("a newer SkillHub wrote it")
            if version < _FORMAT:
                database.execute("DROP TABLE IF EXISTS skills")
                database.execute(f"PRAGMA user_version = {_FORMAT}")
            database.execute(
                "CREATE TABLE IF NOT EXISTS skills (root BLOB, name BLOB, entry TEXT NOT NULL, stamp TEXT NOT NULL, "
                "files TEXT NOT NULL, PRIMARY KEY (root, name))"
            )
            yield database

    def _is_ours(self) -> bool:
        exposed = changeable_by_others(self._path)
        if exposed is not None:
            log.debug("%s is not used: %s", self._path, exposed.reason)
        return exposed is None


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _is_damage(error: sqlite3.Error) -> bool:
    return type(error) is sqlite3.DatabaseError


def _gone(database: sqlite3.Connection, locked: Mapping[str, Collection[str]]) -> list[tuple[bytes, bytes]]:
    gone: list[tuple[bytes, bytes]] = []
    for (root,) in database.execute("SELECT DISTINCT root FROM skills").fetchall():
        path = os.fsdecode(root)
        names = locked.get(path)
        is_root = os.path.isdir(path)
        if is_root and names is None:
            # Of another library, which tidies up for itself.
            continue
        for (name,) in database.execute("SELECT name FROM skills WHERE root = ?", (root,)).fetchall():
            own = os.fsdecode(name)
            if not is_root or (own not in (names or ()) and not os.path.lexists(os.path.join(path, own))):
                gone.append((root, name))
    return gone


def _key(directory: str) -> tuple[bytes, bytes]:
    root, name = os.path.split(directory)
    return os.fsencode(root), os.fsencode(name)


def _to_json(skill: KeptSkill) -> str:
    files = [[path, one.digest.irregular or one.digest.sha256, *one.state] for path, one in skill.files.items()]
    return json.dumps(files, separators=(",", ":"))


def _from_row(entry: str, files: str) -> KeptSkill | None:
    try:
        found = {path: _known_file(told, FileState(*state)) for path, told, *state in json.loads(files)}
    except (ValueError, TypeError, RecursionError):
        return None
    return KeptSkill(entry, found)


def _known_file(told: str, state: FileState) -> KnownFile:
    if not isinstance(told, str) or not all(isinstance(one, int) for one in state):
        raise TypeError(told)
    if not stat.S_ISREG(state.mode):
        return KnownFile(state, FileDigest("", 0, executable=False, irregular=told))
    return KnownFile(state, FileDigest(told, state.size, state.is_executable))
