"""`index_state.json`: the commit of an index, and what was read from each SKILL.md, as plain JSON.

It names the table version that readers open. A writer reads it, changes it and replaces it in one step, under the
writer's lock; the entries of other roots stay. A start without changes opens no SKILL.md.

A row's key is `LABEL/relative/path`, the same on every machine. A label stands for a root: its source's word, with a
number if another root has that. A skill that is its root has the label alone; one that a link leads to, its path.

A directory may hold several databases, and a database one index for each embedder. The first index of a directory has
`index_state.json`, the first of a database the table `skills`; every other has names of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import private_mode
from skillhub_mcp.index.lance import IN_MEMORY
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

log = logging.getLogger(__name__)

STATE_FILE = "index_state.json"
FIRST_TABLE = "skills"
SCHEMA_VERSION = 6
STATE_FORMAT = 9
NO_EMBEDDING = "none"

_OWN_DIGITS = 12
_ENTRY = TypeAdapter(CachedSkillFile)
# What a skill has of its file is written once, and what it has of its root not at all.
_NOT_WRITTEN: Any = {
    "root": True,
    "name": True,
    "skill": {"directory", "root", "stamp", "diagnostics", "trust", "source"},
}


def free_label(word: str, taken: Collection[str]) -> str:
    """Return `word`, or with `-2`, `-3`, … the first label that is not `taken`."""
    return next(label for number in count(1) if (label := f"{word}-{number}" if number > 1 else word) not in taken)


def label_of(key: str) -> str:
    """Return the label that a key starts with."""
    return key.partition("/")[0]


def make_key(label: str, root: str, directory: str) -> str:
    """Return the key of a skill that was found under a root."""
    return label if directory == root else f"{label}/{directory.removeprefix(os.path.join(root, ''))}"


@dataclass(frozen=True)
class LibraryKeys:
    """The keys of all skills of a database, and back. `labels` are those of its roots, by path."""

    labels: Mapping[str, str]

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        return {label: path for path, label in self.labels.items()}

    def directories(self, keys: Iterable[str]) -> list[str]:
        """Return the directory of each key, "" for one of no known root."""
        # One loop without calls: each search asks for hundreds.
        parts = [(self._roots.get(label, ""), below) for label, _, below in [key.partition("/") for key in keys]]
        return [os.path.join(root, below) if root and below else root for root, below in parts]

    def of(self, directory: str) -> list[str]:
        """Return the keys that the row of a directory may have: one for each root."""
        return [make_key(label, root, directory) for root, label in self.labels.items()]


class TableVersionId(NamedTuple):
    """A version of a table, by the random id that the table got when it was created."""

    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class RootState:
    """What the index has of one root: the label of its rows' keys, and an entry for each SKILL.md by directory.

    `statistics` is the name of the file with its statistics, `unembedded` how many of its rows have no vector, `seen`
    the time in seconds at which a server last had this root.
    """

    label: str
    files: ScanCache
    statistics: str
    unembedded: int
    seen: float


@dataclass(frozen=True, slots=True)
class IndexState:
    """A committed index: whose it is, its table and version, and its roots by path; of another format, only whose."""

    database: str
    embedder: str
    table: str
    published: TableVersionId
    roots: Mapping[str, RootState]
    format: int = STATE_FORMAT
    schema: int = SCHEMA_VERSION

    @property
    def is_readable(self) -> bool:
        """Whether this version of SkillHub wrote it."""
        return (self.format, self.schema) == (STATE_FORMAT, SCHEMA_VERSION)

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of SkillHub wrote it."""
        return self.format > STATE_FORMAT or self.schema > SCHEMA_VERSION

    def among(self, roots: Iterable[SkillRoot]) -> dict[str, RootState]:
        """Return what the index has of some roots by path, without those that it has nothing of."""
        return {root.path: self.roots[root.path] for root in roots if root.path in self.roots}

    def memory_of(self, roots: Iterable[SkillRoot]) -> dict[str, CachedSkillFile]:
        """Return the entries of some roots by directory."""
        return {directory: entry for own in self.among(roots).values() for directory, entry in own.files.items()}

    @property
    def rows(self) -> dict[str, Skill]:
        """The skill of each row by key."""
        return {
            make_key(root.label, path, directory): skill
            for path, root in self.roots.items()
            for directory, entry in root.files.items()
            if (skill := row_of(entry)) is not None
        }

    def with_version(self, version: int, roots: Mapping[str, RootState]) -> IndexState:
        """Return the state of another version of the same table."""
        return replace(self, published=self.published._replace(version=version), roots=roots)


def row_of(entry: CachedSkillFile) -> Skill | None:
    """Return the skill that has a row, whatever a server admits; None for a file that no server can use."""
    return None if entry.skill is None or LENIENT.refuses(entry.diagnostics) else entry.skill


def encode_state(state: IndexState) -> bytes:
    """Return a state as JSON."""
    roots = {path: _root_to_json(path, root) for path, root in state.roots.items()}
    written = {
        "format": STATE_FORMAT,
        "schema": SCHEMA_VERSION,
        "database": state.database,
        "embedder": state.embedder,
        "table": {"name": state.table, "id": state.published.table_id, "version": state.published.version},
        "hash": _digest(roots),
        "roots": roots,
    }
    return (json.dumps(written, separators=(",", ":")) + "\n").encode()


def decode_state(content: bytes) -> IndexState:
    """Return a state. Raises ValueError, LookupError, TypeError or AttributeError for a file that is no state."""
    written = json.loads(content)
    database, embedder = str(written.get("database", "")), str(written.get("embedder", ""))
    nothing = TableVersionId("", 0)
    state = IndexState(database, embedder, "", nothing, {}, int(written["format"]), int(written["schema"]))
    if not state.is_readable:
        return state
    table = written["table"]
    return replace(
        state,
        table=os.path.basename(table["name"]),
        published=TableVersionId(str(table["id"]), int(table["version"])),
        roots={path: _root_from_json(path, root) for path, root in written["roots"].items()},
    )


def _digest(roots: Mapping[str, Any]) -> str:
    """Return the hash of relative path, mtime, size and content hash of every SKILL.md."""
    lines = sorted(
        f"{root['label']}/{path}\0{stamp['mtime_ns']}\0{stamp['size']}\0{stamp['content_hash']}\n"
        for root in roots.values()
        for path, stamp in ((path, file["stamp"]) for path, file in root["files"].items())
    )
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _root_to_json(path: str, root: RootState) -> dict[str, Any]:
    start = len(root.label) + 1
    return {
        "label": root.label,
        "seen": int(root.seen),
        "statistics": root.statistics,
        "unembedded": root.unembedded,
        "files": {
            make_key(root.label, path, directory)[start:]: entry_to_json(entry)
            for directory, entry in root.files.items()
        },
    }


def _root_from_json(path: str, root: Any) -> RootState:
    places = {os.path.join(path, below) if below else path: file for below, file in root["files"].items()}
    return RootState(
        label=str(root["label"]),
        files={place: entry_from_json(file, directory=place, root=path) for place, file in places.items()},
        statistics=os.path.basename(root["statistics"]),
        unembedded=int(root["unembedded"]),
        seen=root["seen"],
    )


def entry_to_json(entry: CachedSkillFile) -> dict[str, Any]:
    """Return what was read from a SKILL.md as JSON values; where it lies is not among them."""
    written: dict[str, Any] = _ENTRY.dump_python(entry, mode="json", exclude=_NOT_WRITTEN, exclude_defaults=True)
    return written


def entry_from_json(file: Any, *, directory: str, root: str) -> CachedSkillFile:
    """Return what was read from the SKILL.md in a directory below a root. Raises what `decode_state` raises."""
    skill = file["skill"]
    if skill is not None:
        own = {"directory": directory, "root": root, "stamp": file["stamp"], "diagnostics": file["diagnostics"]}
        skill = {**skill, **own}
    return _ENTRY.validate_python({**file, "root": root, "skill": skill})


class IndexFiles:
    """The files of the index of one database for one embedder; `database` is a real path. Parses each state once."""

    def __init__(self, db_path: str, embedder: str) -> None:
        self.database = os.path.realpath(db_path)
        # The name survives a move of the directory, in which the state files and the locks lie.
        self.directory, self.database_name = os.path.split(self.database)
        self.embedder = embedder
        self._in_memory = db_path == IN_MEMORY
        # What each file has, with its inode, mtime and size.
        self._read: dict[str, tuple[tuple[int, int, int] | None, IndexState | None]] = {}

    def state(self) -> IndexState | None:
        """Return the committed state, None if there is none that this version of SkillHub can read."""
        state = self._own()[1]
        return state if state is not None and state.is_readable else None

    def newer(self) -> IndexState | None:
        """Return the state if a newer version of SkillHub wrote it."""
        state = self._own()[1]
        return state if state is not None and state.is_newer else None

    @property
    def path(self) -> str:
        """The path of the state file, a free one for a new index. To write there, hold the writer's lock."""
        return self._own()[0]

    @property
    def table(self) -> str:
        """The name of the table, a free one for a new index."""
        state = self.state()
        if state is not None:
            return state.table
        used = {other.table for other in self.others()}
        return f"{FIRST_TABLE}_{_short_digest(self.embedder)}" if FIRST_TABLE in used else FIRST_TABLE

    def others(self) -> Iterator[IndexState]:
        """Yield the states of the same database for other embedders."""
        stem, ending = os.path.splitext(STATE_FILE)
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(self.directory)):
                if name.startswith(stem) and name.endswith(ending):
                    state = self._look(os.path.join(self.directory, name))
                    if state is None or not state.is_readable:
                        continue
                    if state.database == self.database_name and state.embedder != self.embedder:
                        yield state

    def write(self, state: IndexState) -> None:
        """Commit a state, and keep it, so that it is not parsed again. Raises OSError; then the old one stays."""
        path = self.path
        if not self._in_memory:
            atomic_write(path, encode_state(state), mode=private_mode(self.directory) or 0o660, locked=True)
        self._read[path] = _stamp(path), state

    def _own(self) -> tuple[str, IndexState | None]:
        """Return the path of the state file and its content; of a new index, a free path."""
        stem, ending = os.path.splitext(STATE_FILE)
        first_path = os.path.join(self.directory, STATE_FILE)
        own_path = os.path.join(self.directory, f"{stem}.{_short_digest(self.database_name, self.embedder)}{ending}")
        for path in (own_path, first_path):
            state = self._look(path)
            if state is not None and (state.database, state.embedder) == (self.database_name, self.embedder):
                return path, state
        # The last one is the first path's. A file that is not a state of this format is ignored and overwritten.
        is_taken = state is not None and (state.is_readable or state.is_newer)
        return own_path if is_taken else first_path, None

    def _look(self, path: str) -> IndexState | None:
        """Return the state in a file, of whatever format; None if there is none."""
        stamp, known = _stamp(path), self._read.get(path, (None, None))
        if stamp != known[0] and not self._in_memory:
            state = None
            try:
                with open(path, "rb") as file:
                    state = decode_state(file.read())
            except FileNotFoundError:
                pass
            except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                log.warning("%s is not an index state and is ignored: %s", path, error)
            self._read[path] = known = stamp, state
        return known[1]


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


def _short_digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_OWN_DIGITS]
