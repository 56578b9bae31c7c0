"""The index state: which table version is published, and what was read from each SKILL.md.

`index_state.json` is the commit point of indexing: it names the table version that readers may open, and it is replaced
atomically after that version is complete. It says whose it is: which database and table, and for which embedder. It is
small: mtime, size, content hash and parsed fields of each SKILL.md, by which finding "nothing changed" opens no file
and loads no database, are in a file of entries beside it (`state_entries`). A change is appended to that; how much of
it counts, the commit says. Where enough was appended, the next change writes the file anew, under another name. Beside
the entries of many skills lie the columns of what a start needs of each (`entry_columns`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, NamedTuple

from skillhub_mcp.atomic_write import atomic_write, replacing
from skillhub_mcp.file_modes import private_mode
from skillhub_mcp.index.keys import RootKeys, free_label
from skillhub_mcp.index.state_entries import earlier_entries, encode_entries, read_entries, write_columns
from skillhub_mcp.overlay import as_dict
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache, changed_entries
from skillhub_mcp.summed_digest import as_hex, summed

STATE_FORMAT = 5
# The first format that says whose a state is, and the first with its entries in a file beside it. Those of two formats
# before are adopted, not rebuilt.
NAMED_SINCE = 4
ENTRIES_SINCE = 5
STATE_FILE = "index_state.json"
FIRST_TABLE = "skills"
NO_EMBEDDING = "none"

# Above this, and above this share of what was written at once, entries are not appended but written anew.
_FEW_BYTES = 1 << 16
_APPENDED_SHARE = 4
# Fewer are read as fast as some of them are looked for.
_MANY_BYTES = 1 << 21
_TO_APPEND = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_ENTRIES_NAME = re.compile(r"[A-Za-z0-9_.]{1,200}\.entries-[0-9a-f]{8}")
_NAME_BYTES = 4
_UNKNOWN_SOURCE = "hub"
_NOTHING: ScanCache = {}
_DIGEST_OF_NOTHING = as_hex(0)

# Whose a state is comes first in the file, so that nobody parses all of an earlier one to find that it is another's.
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
    rows whose present text is not embedded yet. `label` stands for the root in the keys of its skills; empty where it
    was not settled yet.
    """

    digest: str
    missing_vectors: int
    memory: ScanCache
    label: str = ""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a database: its name there, and the random id that it got when it was created ("" before format 4)."""

    name: str
    id: str


class EntriesFile(NamedTuple):
    """The file that holds a state's entries: its name beside the state, and how many bytes of it count.

    `compact` is how many of these were written at once; the rest was appended.
    """

    name: str
    size: int
    compact: int


class TableVersion(NamedTuple):
    """A version of a table, by the id that the table was created with."""

    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """One published index: whose it is, its schema, its table and version, and the roots it covers.

    `database` is the name of the database in its directory. `embedder` is the identity of the embedder that the index
    is for, `embedding` that of the vectors that its rows have or will get. `entries` is where it was read or written.
    `entries_lost` says that no root has a scan cache, as the file of entries is gone or damaged.
    """

    database: str
    embedder: str
    schema: int
    embedding: str
    table: PublishedTable
    table_version: int
    roots: Mapping[str, RootState]
    entries: EntriesFile | None = field(default=None, compare=False)
    entries_lost: bool = False

    @property
    def published(self) -> TableVersion:
        """The version that readers may open."""
        return TableVersion(self.table.id, self.table_version)

    def memory_of(self, roots: Iterable[str]) -> ScanCache:
        """Return the scan cache of `roots`; for a directory below two of them, the entry of the first."""
        known = [self.roots[root].memory for root in roots if root in self.roots]
        if len(known) == 1:
            return known[0]
        merged: dict[str, CachedSkillFile] = {}
        for memory in reversed(known):
            merged.update(as_dict(memory))
        return merged

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


def load_state(path: str, known: IndexState | None = None) -> IndexState | None:
    """Return the state at `path`, or None if there is no usable one; then the index is rebuilt.

    Of a state that is a later one of `known`, only what was appended since is read; what did not change are the same
    objects. Where its entries are lost, it is returned without: the table that it names is as good as ever.
    """
    seen = None
    while True:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                written = json.load(file)
        except (OSError, *_UNUSABLE):
            # A missing, truncated or foreign file means the same: no state. A rebuild loses nothing.
            return None
        directory = os.path.dirname(os.path.realpath(path))
        try:
            return _from_json(written, directory, known)
        except FileNotFoundError as error:
            # The entries were written anew after their name was read: the state that names the others is there.
            if error.filename == seen:
                return _without_entries(written)
            seen = error.filename
        except (OSError, *_UNUSABLE):
            return _without_entries(written)


def _read_with_entries(path: str) -> tuple[Any, EntriesFile]:
    """Return what the state file at `path` says, and which file has its entries. Raises OSError and `_UNUSABLE`."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        written = json.load(file)
    if written["format"] < ENTRIES_SINCE:
        raise ValueError("the entries are in the state itself")
    return written, _entries_from_json(written["entries"])


def save_state(path: str, state: IndexState, *, before: IndexState | None = None) -> tuple[IndexState, StateStamp]:
    """Replace the state at `path` atomically; return it as it was saved, and its stamp. The caller holds the lock.

    Of one that was `before`, which is what `path` holds now, only the differences are written. Raises OSError; then the
    old state is unchanged.
    """
    place = os.path.realpath(path)
    mode = private_mode(os.path.dirname(place))
    state = replace(state, roots=_labelled(state.roots))
    entries = None if before is None else _append(place, state, before)
    if entries is None:
        entries = _write_anew(place, state, mode)
    state = replace(state, entries=entries)
    text = json.dumps(_to_json(state), ensure_ascii=False, separators=(",", ":"))
    stamp = _stamp(atomic_write(place, text.encode("utf-8", "surrogateescape"), mode=mode, locked=True))
    _remove_entries(place, but=entries.name)
    return state, stamp


def remove_state(path: str) -> None:
    """Remove the state at `path` and its entries. Raises OSError."""
    os.unlink(path)
    _remove_entries(os.path.realpath(path))


def root_digest(memory: ScanCache, root: str, before: RootState | None = None) -> str:
    """Return a hash over (relative path, mtime, size, content hash) of the SKILL.md files in `root`, in any order.

    It is the sum of a SHA-256 of each, so that one that was `before` is brought up to date by what changed.
    """
    above = os.path.join(root, "")

    def line(directory: str, entry: CachedSkillFile) -> str:
        stamp = entry.stamp
        return f"{directory.removeprefix(above)}\0{stamp.mtime_ns}\0{stamp.size}\0{stamp.content_hash}"

    total, known = (0, _NOTHING) if before is None else (int(before.digest, 16), before.memory)
    changed = changed_entries(known, memory)
    new = (line(directory, entry) for directory, entry in changed.items() if entry is not None)
    old = (line(directory, known[directory]) for directory in changed if directory in known)
    return as_hex(summed(new, without=old, before=total))


def _append(place: str, state: IndexState, before: IndexState) -> EntriesFile | None:
    """Append what changed since `before` to its entries; None where they have to be written anew. Raises OSError."""
    entries = before.entries
    if entries is None or any(root not in state.roots for root in before.roots):
        return None
    lines: list[bytes] = []
    for root, own in state.roots.items():
        earlier = before.roots.get(root)
        if earlier is not None and earlier.label != own.label:
            return None
        changed = changed_entries({} if earlier is None else earlier.memory, own.memory)
        lines += encode_entries(RootKeys(own.label, root), changed.items())
    added = b"".join(lines)
    size = entries.size + len(added)
    if size - entries.compact > max(_FEW_BYTES, entries.compact // _APPENDED_SHARE):
        return None
    try:
        descriptor = os.open(os.path.join(os.path.dirname(place), entries.name), _TO_APPEND)
    except FileNotFoundError:
        return None
    with open(descriptor, "r+b") as file:
        if os.fstat(file.fileno()).st_size < entries.size:
            return None
        # What lies behind was appended by a writer that was killed before it was committed.
        file.truncate(entries.size)
        file.seek(entries.size)
        file.write(added)
        file.flush()
        os.fsync(file.fileno())
    return entries._replace(size=size)


def _write_anew(place: str, state: IndexState, mode: int | None) -> EntriesFile:
    name = f"{os.path.splitext(os.path.basename(place))[0]}.entries-{os.urandom(_NAME_BYTES).hex()}"
    with replacing(os.path.join(os.path.dirname(place), name), mode=mode, locked=True, follow=False) as file:
        for root, own in state.roots.items():
            file.writelines(encode_entries(RootKeys(own.label, root), own.memory.items()))
        size = file.tell()
        if size > _MANY_BYTES:
            _write_columns(_columns_of(os.path.join(os.path.dirname(place), name)), file, size, mode)
    return EntriesFile(name, size, size)


def _write_columns(path: str, lines: BinaryIO, size: int, mode: int | None) -> None:
    """Write the columns of the entries, where these are so many that the next start is faster by it. Raises OSError."""
    with replacing(path, mode=mode, locked=True, follow=False) as file:
        of_use = write_columns(file, lines, size)
    if not of_use:
        os.unlink(path)


def _columns_of(entries: str) -> str:
    """Return the name or path of the columns of a file of entries."""
    before, _, number = entries.rpartition(".entries-")
    return f"{before}.columns-{number}"


def _remove_entries(place: str, *, but: str | None = None) -> None:
    """Remove the files of entries that no state names any more; who is reading one opens that of the new state."""
    directory, name = os.path.split(place)
    columns = None if but is None else _columns_of(but)
    old = re.compile(re.escape(os.path.splitext(name)[0]) + r"\.(?:entries|columns)-[0-9a-f]{8}(?:\.new)?")
    with contextlib.suppress(OSError):
        for one in os.listdir(directory):
            if one not in (but, columns) and old.fullmatch(one):
                os.unlink(os.path.join(directory, one))


def _labelled(roots: Mapping[str, RootState]) -> dict[str, RootState]:
    """Return the roots, those without a label with one: a state of an earlier format does not say whose they are."""
    labels = {own.label for own in roots.values()}
    labelled: dict[str, RootState] = {}
    for root, own in roots.items():
        label = own.label or free_label(_UNKNOWN_SOURCE, labels)
        labels.add(label)
        labelled[root] = replace(own, label=label)
    return labelled


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
        "entries": state.entries,
        "roots": {
            own.label: {"path": root, "hash": own.digest, "missing_vectors": own.missing_vectors}
            for root, own in state.roots.items()
        },
    }


def _from_json(written: Any, directory: str, known: IndexState | None) -> IndexState | None:
    """Return the state that a file in `directory` says. Raises OSError for its entries, and what `_UNUSABLE` has."""
    if written["format"] not in (NAMED_SINCE - 1, NAMED_SINCE, STATE_FORMAT):
        return None
    named = written["format"] >= NAMED_SINCE
    entries = None
    if written["format"] >= ENTRIES_SINCE:
        entries = _entries_from_json(written["entries"])
        roots = _roots_from_json(written["roots"], os.path.join(directory, entries.name), entries, known)
    else:
        roots = _labelled({root: _earlier_root(root, own) for root, own in written["roots"].items()})
    return IndexState(
        database=str(written["database"]) if named else "",
        embedder=str(written["embedder" if named else "embedding"]),
        schema=int(written["schema"]),
        embedding=str(written["embedding"]),
        table=_table_from_json(written) if named else PublishedTable(FIRST_TABLE, ""),
        table_version=int(written["table_version"]),
        roots=roots,
        entries=entries,
    )


def _without_entries(written: Any) -> IndexState | None:
    """Return the state that a file says, all but its entries; None where that is no state either."""
    try:
        if written["format"] < ENTRIES_SINCE:
            return None
        entries = _entries_from_json(written["entries"])
        # Of nothing but the head: no file is opened for no bytes.
        state = _from_json({**written, "entries": (entries.name, 0, 0)}, "", None)
    except (OSError, *_UNUSABLE):
        return None
    if state is None:
        return None
    roots = {path: replace(own, digest=_DIGEST_OF_NOTHING) for path, own in state.roots.items()}
    return replace(state, roots=roots, entries=None, entries_lost=True)


def _table_from_json(written: Any) -> PublishedTable:
    table = PublishedTable(written["table"], written["table_id"])
    if not (table.name.__class__ is table.id.__class__ is str and is_table_name(table.name)):
        raise TypeError(table)
    return table


def _entries_from_json(written: Any) -> EntriesFile:
    entries = EntriesFile(*written)
    # A state file may be anybody's, and this becomes a path.
    if not _ENTRIES_NAME.fullmatch(entries.name) or not entries.size.__class__ is entries.compact.__class__ is int:
        raise TypeError(entries)
    return entries


def _earlier_root(root: str, own: Any) -> RootState:
    memory = earlier_entries(own["files"], root)
    # That format had another hash.
    return RootState(root_digest(memory, root), int(own["missing_vectors"]), memory)


def _roots_from_json(written: Any, path: str, entries: EntriesFile, known: IndexState | None) -> dict[str, RootState]:
    keys = {label: RootKeys(label, own["path"]) for label, own in written.items()}
    begin = 0
    memories: Mapping[str, ScanCache] = {}
    if (
        known is not None
        and known.entries is not None
        and known.entries.name == entries.name
        and known.entries.size <= entries.size
        and all(own.label in written and written[own.label]["path"] == root for root, own in known.roots.items())
    ):
        begin = known.entries.size
        memories = {own.label: own.memory for own in known.roots.values()}
    if begin < entries.size:
        columns = _columns_of(path) if entries.compact > _MANY_BYTES else None
        with open(path, "rb") as file:
            memories = read_entries(file, begin, entries.size, keys, memories, columns=columns, compact=entries.compact)
    return {
        own["path"]: RootState(str(own["hash"]), int(own["missing_vectors"]), memories.get(label, {}), label)
        for label, own in written.items()
    }
