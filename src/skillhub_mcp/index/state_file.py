"""`index_state.json`: the commit of an index, and what was read from each SKILL.md, as plain JSON.

It names the table version that readers open. A writer reads it, changes it and replaces it in one step, under the
writer's lock; the entries of other roots stay. A start without changes opens no SKILL.md.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, NamedTuple

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import private_mode
from skillhub_mcp.index.keys import LibraryKeys, make_key
from skillhub_mcp.index.schema import SCHEMA_VERSION
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

STATE_FORMAT = 8
NO_EMBEDDING = "none"

# What a skill has unless its header says otherwise; only the rest is written. Trust is that of its root.
_DEFAULTS: Mapping[str, Any] = {
    "category": None,
    "tags": (),
    "always_apply": False,
    "allowed_tools": (),
    "license": None,
    "compatibility": None,
    "metadata": {},
    **{one.name: one.default for one in fields(Skill) if one.default is not MISSING and one.name != "trust"},
}


class TableVersionId(NamedTuple):
    """A version of a table, by the random id that the table got when it was created."""

    table_id: str
    version: int


class StateHead(NamedTuple):
    """Whose a state file is, and in which format and schema it is written."""

    format: int
    schema: int
    database: str
    embedder: str

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of SkillHub wrote it."""
        return self.format > STATE_FORMAT or self.schema > SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class RootState:
    """What the index has of one root: the label of its rows' keys, and an entry for each SKILL.md by directory.

    `statistics` is the name of the file with its statistics, `unembedded` how many of its rows have no vector, `seen`
    the time in seconds at which a server last had this root.
    """

    label: str
    source: str
    files: ScanCache
    statistics: str
    unembedded: int
    seen: float


@dataclass(frozen=True, slots=True)
class IndexState:
    """A committed index: whose it is, its table and version, and its roots by path."""

    database: str
    embedder: str
    table: str
    published: TableVersionId
    roots: Mapping[str, RootState]

    @property
    def head(self) -> StateHead:
        """Whose it is."""
        return StateHead(STATE_FORMAT, SCHEMA_VERSION, self.database, self.embedder)

    @property
    def keys(self) -> LibraryKeys:
        """The keys of all rows."""
        return LibraryKeys({path: root.label for path, root in self.roots.items()})

    def memory_of(self, roots: Collection[str]) -> dict[str, CachedSkillFile]:
        """Return the entries of some roots by directory."""
        own = (self.roots[path].files for path in roots if path in self.roots)
        return {directory: entry for files in own for directory, entry in files.items()}

    @property
    def hashes(self) -> dict[str, str]:
        """The content hash of each row by key."""
        return {
            make_key(root.label, path, directory): entry.stamp.content_hash
            for path, root in self.roots.items()
            for directory, entry in root.files.items()
            if row_of(entry) is not None
        }

    def unembedded(self, roots: Collection[str]) -> int:
        """Return how many rows of some roots have no vector."""
        return sum(self.roots[path].unembedded for path in roots if path in self.roots)

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


def decode_state(content: bytes) -> tuple[StateHead, IndexState | None]:
    """Return the head of a state, and the state if this version of SkillHub can read it.

    Raises ValueError, LookupError, TypeError or AttributeError for a file that is no state.
    """
    written = json.loads(content)
    whose = (str(written.get(name, "")) for name in ("database", "embedder"))
    head = StateHead(int(written["format"]), int(written["schema"]), *whose)
    if head.format != STATE_FORMAT or head.schema != SCHEMA_VERSION:
        return head, None
    table = written["table"]
    state = IndexState(
        database=head.database,
        embedder=head.embedder,
        table=os.path.basename(table["name"]),
        published=TableVersionId(str(table["id"]), int(table["version"])),
        roots={path: _root_from_json(path, root) for path, root in written["roots"].items()},
    )
    return head, state


def write_state(path: str, state: IndexState) -> None:
    """Replace the state file at `path`, which is the commit. Raises OSError; then the old one is untouched."""
    atomic_write(path, encode_state(state), mode=private_mode(os.path.dirname(path)) or 0o660, locked=True)


def _digest(roots: Mapping[str, Any]) -> str:
    """Return the hash of relative path, mtime, size and content hash of every SKILL.md."""
    lines = sorted(
        f"{root['label']}/{path}\0{file['mtime_ns']}\0{file['size']}\0{file['sha256']}\n"
        for root in roots.values()
        for path, file in root["files"].items()
    )
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _root_to_json(path: str, root: RootState) -> dict[str, Any]:
    start = len(root.label) + 1
    return {
        "label": root.label,
        "source": root.source,
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
        source=str(root["source"]),
        files={place: entry_from_json(file, directory=place, root=path) for place, file in places.items()},
        statistics=os.path.basename(root["statistics"]),
        unembedded=int(root["unembedded"]),
        seen=root["seen"],
    )


def entry_to_json(entry: CachedSkillFile) -> dict[str, Any]:
    """Return what was read from a SKILL.md as JSON values; where it lies is not among them."""
    stamp, skill, shape = entry.stamp, entry.skill, entry.shape
    written: dict[str, Any] = {
        "mtime_ns": stamp.mtime_ns,
        "ctime_ns": stamp.ctime_ns,
        "size": stamp.size,
        "read_at_ns": stamp.read_at_ns,
        "sha256": stamp.content_hash,
    }
    if entry.diagnostics:
        written["diagnostics"] = [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics]
    if skill is not None:
        written["shape"] = [shape.lines, shape.longest, shape.longest_at, shape.markup]
        others = {name: value for name, default in _DEFAULTS.items() if (value := getattr(skill, name)) != default}
        written["header"] = {"name": skill.name, "description": skill.description, **others}
    return written


def entry_from_json(file: Any, *, directory: str, root: str) -> CachedSkillFile:
    """Return what was read from the SKILL.md in a directory below a root. Raises what `decode_state` raises."""
    stamp = FileStamp(
        int(file["mtime_ns"]), int(file["size"]), str(file["sha256"]), int(file["read_at_ns"]), int(file["ctime_ns"])
    )
    diagnostics = tuple(
        Diagnostic(rule, Severity(severity), message, hint, line)
        for rule, severity, message, hint, line in file.get("diagnostics", ())
    )
    header = file.get("header")
    if header is None:
        return CachedSkillFile(root, stamp, None, diagnostics)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in header.items()}
    place = {"directory": directory, "root": root, "diagnostics": diagnostics, "stamp": stamp}
    skill = Skill(**{**_DEFAULTS, **values, **place, "name": str(header["name"])})
    return CachedSkillFile(root, stamp, skill, diagnostics, HeaderShape(*file["shape"]))
