"""The index state file, `index_state.json`: which table version is published, and what was read from each SKILL.md.

The file is the commit point of indexing: it names the table version that readers may open, and it is replaced
atomically after that version is complete. It says whose it is: which database and table, and for which embedder. It
stores mtime, size, content hash and parsed fields of each SKILL.md, so that finding "nothing changed" opens no file and
loads no database.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.file_modes import private_mode
from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

STATE_FORMAT = 4
# The first format that says whose a state is. Those of the format before are adopted, not rebuilt.
NAMED_SINCE = 4
STATE_FILE = "index_state.json"
FIRST_TABLE = "skills"
NO_EMBEDDING = "none"

# Whose a state is comes first in the file, so that nobody parses all of it to find that it is another's.
_HEAD_BYTES = 4_096
_END_OF_HEAD = re.compile(r',\s*"roots"\s*:')

_TABLE_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_UNUSABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_FORMAT = re.compile(r'"format":\s*(\d{1,9})\b')

# Identifies a state file: inode, mtime and size.
StateStamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RootState:
    """What the index covers of one root: the root's digest, and the scan cache of its SKILL.md files.

    A directory below two roots is in the cache of both, so that the servers of both find it. `missing_vectors` counts
    rows whose present text is not embedded yet.
    """

    digest: str
    missing_vectors: int
    memory: ScanCache


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a database: its name there, and the random id that it got when it was created ("" before format 4)."""

    name: str
    id: str


class TableVersion(NamedTuple):
    """A version of a table, by the id that the table was created with."""

    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """One published index: whose it is, its schema, its table and version, and the roots it covers.

    `database` is the name of the database in its directory. `embedder` is the identity of the embedder that the index
    is for, `embedding` that of the vectors that its rows have or will get.
    """

    database: str
    embedder: str
    schema: int
    embedding: str
    table: PublishedTable
    table_version: int
    roots: Mapping[str, RootState]

    @property
    def published(self) -> TableVersion:
        """The version that readers may open."""
        return TableVersion(self.table.id, self.table_version)

    def memory_of(self, roots: Iterable[str]) -> ScanCache:
        """Return the scan cache of `roots`; for a directory below two of them, the entry of the first."""
        known = [self.roots[root].memory for root in roots if root in self.roots]
        if len(known) == 1:
            return known[0]
        return {directory: entry for memory in reversed(known) for directory, entry in memory.items()}

    @property
    def memory(self) -> ScanCache:
        """The scan cache of all roots."""
        return self.memory_of(self.roots)


@dataclass(frozen=True, slots=True)
class StateHead:
    """Whose a state file is, and what it takes to read it. A newer format may hide all but its number."""

    format: int
    schema: int = 0
    database: str = ""
    embedder: str = ""
    table: str = ""


def state_path(db_path: str) -> str:
    """Return the path of the state file of the first index in the directory of `db_path`."""
    return os.path.join(os.path.dirname(os.path.realpath(db_path)), STATE_FILE)


def read_state_head(path: str) -> StateHead | None:
    """Return the head of the state file at `path`, or None if there is no state file. Reads a few kilobytes."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            start = file.read(_HEAD_BYTES)
    except OSError:
        return None
    end = _END_OF_HEAD.search(start)
    try:
        written = json.loads(start if end is None else start[: end.start()] + "}")
        return StateHead(
            int(written["format"]),
            int(written["schema"]),
            str(written.get("database", "")),
            str(written["embedder"] if "embedder" in written else written["embedding"]),
            _table_name(written.get("table", FIRST_TABLE)),
        )
    except _UNUSABLE:
        number = _FORMAT.search(start)
        return None if number is None else StateHead(int(number[1]))


def is_table_name(name: str) -> bool:
    """Whether `name` can be that of a table: it becomes part of paths, and a state file may be anybody's."""
    return _TABLE_NAME.fullmatch(name) is not None


def _table_name(name: object) -> str:
    if not isinstance(name, str) or not is_table_name(name):
        raise TypeError(name)
    return name


def state_stamp(path: str) -> StateStamp | None:
    """Return the stamp of the state file at `path`, or None if there is no file."""
    try:
        return _stamp(os.stat(path))
    except OSError:
        return None


def load_state(path: str) -> IndexState | None:
    """Return the state at `path`, or None if there is no usable one; then the index is rebuilt."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file, _garbage_collection_off():
            return _from_json(json.load(file))
    except (OSError, *_UNUSABLE):
        # A missing, truncated or foreign file means the same: no state. A rebuild loses nothing.
        return None


def save_state(path: str, state: IndexState) -> StateStamp:
    """Replace the state at `path` atomically and return its stamp. The caller holds the writer's lock.

    Raises OSError; then the old state is unchanged.
    """
    text = json.dumps(_to_json(state), ensure_ascii=False, separators=(",", ":"))
    mode = private_mode(os.path.dirname(path))
    return _stamp(atomic_write(path, text.encode("utf-8", "surrogateescape"), mode=mode, locked=True))


def root_digest(memory: ScanCache, root: str) -> str:
    """Return the SHA-256 of the sorted (relative path, mtime, size, content hash) of the SKILL.md files in `root`."""
    above = os.path.join(root, "")
    lines = [
        f"{directory.removeprefix(above)}\0{entry.stamp.mtime_ns}\0{entry.stamp.size}\0{entry.stamp.content_hash}"
        for directory, entry in memory.items()
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


@contextlib.contextmanager
def _garbage_collection_off() -> Iterator[None]:
    # Parsing creates a hundred thousand objects and no garbage: collecting takes a quarter longer.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _stamp(status: os.stat_result) -> StateStamp:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _to_json(state: IndexState) -> dict[str, Any]:
    return {
        "format": STATE_FORMAT,
        "schema": state.schema,
        "database": state.database,
        "embedder": state.embedder,
        "embedding": state.embedding,
        "table": state.table.name,
        "table_id": state.table.id,
        "table_version": state.table_version,
        "roots": {
            root: {
                "hash": own.digest,
                "missing_vectors": own.missing_vectors,
                "files": {directory: _file_to_json(entry) for directory, entry in own.memory.items()},
            }
            for root, own in state.roots.items()
        },
    }


def _file_to_json(entry: CachedSkillFile) -> dict[str, Any]:
    stamp = entry.stamp
    written: dict[str, Any] = {
        "mtime_ns": stamp.mtime_ns,
        "size": stamp.size,
        "sha256": stamp.content_hash,
        "read_at_ns": stamp.read_at_ns,
        "ctime_ns": stamp.ctime_ns,
    }
    if entry.diagnostics:
        written["diagnostics"] = [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics]
    if entry.skill is not None:
        written["skill"] = _skill_to_json(entry.skill)
        shape = entry.shape
        written["header"] = [shape.lines, shape.longest, shape.longest_at, shape.markup]
    return written


def _skill_to_json(skill: Skill) -> dict[str, Any]:
    written: dict[str, Any] = {"name": skill.name, "description": skill.description}
    optional = {
        "category": skill.category,
        "tags": list(skill.tags),
        "always_apply": skill.always_apply,
        "allowed_tools": list(skill.allowed_tools),
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": dict(skill.metadata),
        "version": skill.version,
        "author": skill.author,
        "allowed_tools_text": skill.allowed_tools_text,
        "disable_model_invocation": skill.disable_model_invocation,
        "not_user_invocable": not skill.user_invocable,
        "argument_hint": skill.argument_hint,
    }
    return written | {key: value for key, value in optional.items() if value}


def _from_json(written: Any) -> IndexState | None:
    if written["format"] not in (NAMED_SINCE - 1, STATE_FORMAT):
        return None
    named = written["format"] >= NAMED_SINCE
    return IndexState(
        database=str(written["database"]) if named else "",
        embedder=str(written["embedder" if named else "embedding"]),
        schema=int(written["schema"]),
        embedding=str(written["embedding"]),
        table=_table_from_json(written) if named else PublishedTable(FIRST_TABLE, ""),
        table_version=int(written["table_version"]),
        roots={
            root: RootState(
                digest=str(own["hash"]),
                missing_vectors=int(own["missing_vectors"]),
                memory={directory: _file_from_json(file, directory, root) for directory, file in own["files"].items()},
            )
            for root, own in written["roots"].items()
        },
    )


def _table_from_json(written: Any) -> PublishedTable:
    table = PublishedTable(written["table"], written["table_id"])
    if not (table.name.__class__ is table.id.__class__ is str and is_table_name(table.name)):
        raise TypeError(table)
    return table


def _file_from_json(file: Mapping[str, Any], directory: str, root: str) -> CachedSkillFile:
    # A state of an earlier release has no ctime: no file has this one, so each is read once more.
    stamp = FileStamp(file["mtime_ns"], file["size"], file["sha256"], file["read_at_ns"], file.get("ctime_ns", 0))
    # Types are checked only here: other code trusts them, and one wrong value would fail every scan.
    if not (stamp.mtime_ns.__class__ is stamp.size.__class__ is stamp.read_at_ns.__class__ is int):
        raise TypeError(directory)
    if stamp.ctime_ns.__class__ is not int:
        raise TypeError(directory)
    diagnostics: tuple[Diagnostic, ...] = ()
    if "diagnostics" in file:
        diagnostics = tuple(
            Diagnostic(rule, Severity(severity), message, hint, line)
            for rule, severity, message, hint, line in file["diagnostics"]
        )
    if "skill" not in file:
        return CachedSkillFile(root, stamp, None, diagnostics)
    written = file["skill"]
    if not (written["name"].__class__ is written["description"].__class__ is str):
        raise TypeError(directory)
    given = written.get
    skill = Skill(
        written["name"],
        written["description"],
        directory,
        root,
        given("category"),
        tuple(given("tags", ())),
        given("always_apply", False),
        tuple(given("allowed_tools", ())),
        given("license"),
        given("compatibility"),
        given("metadata", {}),
        diagnostics,
        stamp,
        given("version"),
        given("author"),
        given("allowed_tools_text"),
        given("disable_model_invocation", False),
        not given("not_user_invocable", False),
        given("argument_hint"),
    )
    shape = HeaderShape(*file["header"])
    if not (shape.lines.__class__ is shape.longest.__class__ is int):
        raise TypeError(directory)
    return CachedSkillFile(root, stamp, skill, diagnostics, shape)
