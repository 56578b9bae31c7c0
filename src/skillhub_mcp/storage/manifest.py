"""What a publication says of itself, as values and as JSON: the commit pointer, a snapshot, and its shards of skills.

Whatever is read is checked, names and paths too: who reads a publication did not write it. No I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from skillhub_mcp.foreign_json import read_json
from skillhub_mcp.skills.files.paths import path_problem
from skillhub_mcp.skills.model import NO_SHAPE, FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity

_Read = TypeVar("_Read")

FORMAT = 1
POINTER = "publication.json"
LEASE = "lease.json"
MAX_POINTER_BYTES = 4 * 1024 * 1024
MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024
MAX_SHARD_BYTES = 256 * 1024 * 1024
_BEGINNING = 1024

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SNAPSHOT_ID = re.compile(r"\d{8}-[0-9a-f]{12}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_UNUSABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


class BadManifest(ValueError):
    """A text that is no such part of a publication; the message says why, to follow its name."""


class NewerFormat(BadManifest):
    """A part of a publication that a newer version wrote."""


class WebPage(BadManifest):
    """A page that something else answered with, in the place of the storage."""

    def __init__(self) -> None:
        super().__init__("is a web page and no publication: likely a proxy before the storage asks to log in")


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object by the SHA-256 of its bytes, in hexadecimal digits, and its size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a skill: its path relative to the skill, and where in which pack its bytes lie."""

    path: str
    size: int
    sha256: str
    executable: bool
    pack: str
    offset: int


@dataclass(frozen=True, slots=True)
class StoredSkill:
    """A skill of a snapshot, by its key, with its files by path.

    `skill` has the key as its directory, and the label of its root as its root. `embedded` is whether it has a vector.
    `shape` is what a strict registry looks at.
    """

    skill: Skill
    files: tuple[StoredFile, ...]
    embedded: bool
    shape: HeaderShape = NO_SHAPE

    @property
    def key(self) -> str:
        """The label of its root, and its path below that."""
        return self.skill.directory

    @property
    def root(self) -> str:
        """The label of its root."""
        return self.skill.root

    def skill_at(self, directory: str, root: str) -> Skill:
        """Return the skill as it is in a `directory` of this machine, below the path of its `root`."""
        return replace(self.skill, directory=directory, root=root)


@dataclass(frozen=True, slots=True)
class StoredRoot:
    """A root of a publication: its label, and what kind of place it was for the publisher."""

    label: str
    source: str


@dataclass(frozen=True, slots=True)
class StoredShard:
    """Some of a snapshot's skills, in an object of their own, and how many."""

    ref: ObjectRef
    skills: int


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The version of the LanceDB table that has a snapshot's rows, and the tag that keeps it."""

    version: int
    tag: str


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """What is searched of a snapshot: segments (the base, then the addition to it), statistics, and the table's rows.

    `table_id` is that of the segments and statistics. `embedder` and `embedding` are the identities of the index that
    the publisher had, and `unembedded` counts skills without a vector. `base_keys` says which skills the base has, for
    the next publisher.
    """

    schema: int
    table_id: str
    embedder: str
    embedding: str
    unembedded: int
    segments: tuple[ObjectRef, ...]
    statistics: ObjectRef
    base_keys: ObjectRef
    rows: StoredRows | None


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """What a snapshot holds. `bytes` are those of all files; two of the same skills, files and index have one `digest`.

    `packs` are all that its files lie in.
    """

    created_at: str
    digest: str
    skills: int
    bytes: int
    roots: tuple[StoredRoot, ...]
    shards: tuple[StoredShard, ...]
    packs: tuple[ObjectRef, ...]
    index: StoredIndex


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """A snapshot that is kept. `created_at` is in UTC, as in ISO 8601; `publisher` is the word of who wrote it."""

    id: str
    ref: ObjectRef
    created_at: str
    skills: int
    bytes: int
    publisher: str
    version: str
    pinned: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Its place in the order of publication, from 1."""
        return int(self.id[:8])


@dataclass(frozen=True, slots=True)
class CommitPointer:
    """The commit pointer: the current snapshot's id, "" before the first, and all that are kept, the newest first.

    `fence` is the number of the last writer's lease. `more` is what a newer version added.
    """

    fence: int = 0
    current: str = ""
    snapshots: tuple[ListedSnapshot, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def find(self, snapshot: str) -> ListedSnapshot | None:
        """Return the kept snapshot with that id, or None."""
        return next((one for one in self.snapshots if one.id == snapshot), None)

    @property
    def served(self) -> ListedSnapshot | None:
        """The current snapshot; None before the first."""
        return self.find(self.current)


def snapshot_id(number: int, ref: ObjectRef) -> str:
    """Return the id of the snapshot with that number, and that manifest."""
    return f"{number:08d}-{ref.sha256[:12]}"


def snapshot_path(snapshot: str) -> str:
    """Return where a snapshot's manifest lies."""
    return f"snapshots/{snapshot}.json"


def shard_path(sha256: str) -> str:
    """Return where a shard lies."""
    return f"shards/{sha256}.json"


def pack_path(sha256: str) -> str:
    """Return where a pack lies."""
    return f"packs/{sha256}"


def segment_path(sha256: str) -> str:
    """Return where a file of the index lies."""
    return f"segments/{sha256}"


# Writing


def pointer_json(pointer: CommitPointer) -> bytes:
    """Return the text of a commit pointer."""
    snapshots = [
        {
            **one.more,
            "id": one.id,
            "sha256": one.ref.sha256,
            "size": one.ref.size,
            "created_at": one.created_at,
            "skills": one.skills,
            "bytes": one.bytes,
            "publisher": one.publisher,
            "version": one.version,
            "pinned": one.pinned,
        }
        for one in pointer.snapshots
    ]
    head = {"format": FORMAT, "fence": pointer.fence, "current": pointer.current}
    return _written({**pointer.more, **head, "snapshots": snapshots}, indent=1)


def manifest_json(manifest: SnapshotManifest) -> bytes:
    """Return the text of a snapshot's manifest."""
    index = manifest.index
    return _written(
        {
            "format": FORMAT,
            "created_at": manifest.created_at,
            "digest": manifest.digest,
            "skills": manifest.skills,
            "bytes": manifest.bytes,
            "roots": [{"label": root.label, "source": root.source} for root in manifest.roots],
            "shards": [[*_ref(shard.ref), shard.skills] for shard in manifest.shards],
            "packs": [_ref(pack) for pack in manifest.packs],
            "index": {
                "schema": index.schema,
                "table_id": index.table_id,
                "embedder": index.embedder,
                "embedding": index.embedding,
                "unembedded": index.unembedded,
                "segments": [_ref(ref) for ref in index.segments],
                "statistics": _ref(index.statistics),
                "base_keys": _ref(index.base_keys),
                "rows": None if index.rows is None else {"version": index.rows.version, "tag": index.rows.tag},
            },
        }
    )


def shard_json(skills: Sequence[StoredSkill]) -> bytes:
    """Return the text of a shard, the same for the same skills in any order."""
    ordered = sorted(skills, key=lambda one: one.key)
    return b'{"skills":[\n' + b",\n".join(_written(_skill_json(one)) for one in ordered) + b"\n]}"


def _written(value: object, *, indent: int | None = None) -> bytes:
    # ASCII alone: a name that is not UTF-8 has surrogates, which only an escape can carry.
    separators = (",", ":") if indent is None else None
    return json.dumps(value, sort_keys=True, separators=separators, indent=indent).encode()


def _ref(ref: ObjectRef) -> list[object]:
    return [ref.sha256, ref.size]


def _skill_json(stored: StoredSkill) -> dict[str, object]:
    skill, shape = stored.skill, stored.shape
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
        "header": None if shape == NO_SHAPE else [shape.lines, shape.longest, shape.longest_at, shape.markup],
        "diagnostics": [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in skill.diagnostics],
    }
    return {
        "key": stored.key,
        "root": stored.root,
        "name": skill.name,
        "description": skill.description,
        "embedded": stored.embedded,
        "stamp": {"mtime_ns": skill.stamp.mtime_ns, "size": skill.stamp.size, "sha256": skill.stamp.content_hash},
        "files": [
            [file.path, file.size, file.sha256, int(file.executable), file.pack, file.offset] for file in stored.files
        ],
        **{key: value for key, value in optional.items() if value},
    }


# Reading


def read_pointer(content: bytes) -> CommitPointer:
    """Return the commit pointer in a text. Raises BadManifest."""
    return _checked(content, _pointer)


def read_manifest(content: bytes) -> SnapshotManifest:
    """Return the manifest in a text. Raises BadManifest."""
    return _checked(content, _manifest)


def read_shard(content: bytes) -> tuple[StoredSkill, ...]:
    """Return the skills in the text of a shard. Raises BadManifest."""
    return _checked(content, lambda written: tuple(map(_skill, written["skills"])))


def _checked(content: bytes, read: Callable[[Any], _Read]) -> _Read:
    try:
        return read(read_json(content.decode()))
    except NewerFormat:
        raise
    except _UNUSABLE as error:
        # Some begin with the mark of UTF-8.
        if content[:_BEGINNING].lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"<"):
            raise WebPage from error
        raise BadManifest("is damaged, or no part of a publication") from error


def _refuse_newer(written: Any) -> None:
    if _number(written["format"]) > FORMAT:
        raise NewerFormat("was written by a newer version of SkillHub")


def _pointer(written: Any) -> CommitPointer:
    _refuse_newer(written)
    own = {"format", "fence", "current", "snapshots"}
    pointer = CommitPointer(
        fence=_number(written["fence"]),
        current=_text(written["current"]),
        snapshots=tuple(map(_listed, written["snapshots"])),
        more={key: value for key, value in written.items() if key not in own},
    )
    if pointer.current and pointer.served is None:
        raise ValueError(pointer.current)
    return pointer


def _listed(written: Any) -> ListedSnapshot:
    own = {"id", "sha256", "size", "created_at", "skills", "bytes", "publisher", "version", "pinned"}
    return ListedSnapshot(
        id=_fitting(_SNAPSHOT_ID, written["id"]),
        ref=_read_ref([written["sha256"], written["size"]]),
        created_at=_text(written["created_at"]),
        skills=_number(written["skills"]),
        bytes=_number(written["bytes"]),
        publisher=_text(written["publisher"]),
        version=_text(written["version"]),
        pinned=written["pinned"] is True,
        more={key: value for key, value in written.items() if key not in own},
    )


def _manifest(written: Any) -> SnapshotManifest:
    _refuse_newer(written)
    index, rows = written["index"], written["index"]["rows"]
    return SnapshotManifest(
        created_at=_text(written["created_at"]),
        digest=_text(written["digest"]),
        skills=_number(written["skills"]),
        bytes=_number(written["bytes"]),
        roots=tuple(StoredRoot(_fitting(_LABEL, root["label"]), _text(root["source"])) for root in written["roots"]),
        shards=tuple(StoredShard(_read_ref(shard[:2]), _number(shard[2])) for shard in written["shards"]),
        packs=tuple(map(_read_ref, written["packs"])),
        index=StoredIndex(
            schema=_number(index["schema"]),
            table_id=_text(index["table_id"]),
            embedder=_text(index["embedder"]),
            embedding=_text(index["embedding"]),
            unembedded=_number(index["unembedded"]),
            segments=tuple(map(_read_ref, index["segments"])),
            statistics=_read_ref(index["statistics"]),
            base_keys=_read_ref(index["base_keys"]),
            rows=None if rows is None else StoredRows(_number(rows["version"]), _text(rows["tag"])),
        ),
    )


def _skill(written: Any) -> StoredSkill:
    given = written.get
    diagnostics = tuple(
        Diagnostic(_text(rule), Severity(severity), _text(message), _text(hint), line)
        for rule, severity, message, hint, line in given("diagnostics", ())
    )
    stamp = written["stamp"]
    root, key = _fitting(_LABEL, written["root"]), _text(written["key"])
    # A key becomes a path on the reader's machine.
    if key.split("/", 1)[0] != root or any(part in ("", ".", "..") for part in key.split("/")) or "\0" in key:
        raise ValueError(key)
    metadata = given("metadata", {})
    if not isinstance(metadata, dict):
        raise TypeError(key)
    skill = Skill(
        name=_text(written["name"]),
        description=_text(written["description"]),
        directory=key,
        root=root,
        category=_optional(given("category")),
        tags=tuple(map(_text, given("tags", ()))),
        always_apply=given("always_apply") is True,
        allowed_tools=tuple(map(_text, given("allowed_tools", ()))),
        license=_optional(given("license")),
        compatibility=_optional(given("compatibility")),
        metadata=metadata,
        diagnostics=diagnostics,
        stamp=FileStamp(_number(stamp["mtime_ns"]), _number(stamp["size"]), _text(stamp["sha256"]), 0),
        version=_optional(given("version")),
        author=_optional(given("author")),
        allowed_tools_text=_optional(given("allowed_tools_text")),
        disable_model_invocation=given("disable_model_invocation") is True,
        user_invocable=given("not_user_invocable") is not True,
        argument_hint=_optional(given("argument_hint")),
    )
    shape = NO_SHAPE
    if "header" in written:
        lines, longest, longest_at, markup = written["header"]
        shape = HeaderShape(_number(lines), _number(longest), _number(longest_at), _optional(markup))
    return StoredSkill(skill, tuple(map(_file, written["files"])), written["embedded"] is True, shape)


def _file(written: Any) -> StoredFile:
    path, size, sha256, executable, pack, offset = written
    if path_problem(_text(path), serve_dotfiles=True) is not None or "\\" in path:
        raise ValueError(path)
    return StoredFile(
        path, _number(size), _fitting(_DIGEST, sha256), executable == 1, _fitting(_DIGEST, pack), _number(offset)
    )


def _read_ref(written: Any) -> ObjectRef:
    sha256, size = written
    return ObjectRef(_fitting(_DIGEST, sha256), _number(size))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _optional(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> int:
    # A bool is an int, and none of these.
    if value.__class__ is not int or value < 0:
        raise TypeError(value)
    return int(value)


def _fitting(pattern: re.Pattern[str], value: Any) -> str:
    if pattern.fullmatch(_text(value)) is None:
        raise ValueError(value)
    return str(value)
