"""One publication as a value: a row of the table `publications`, and what a mirror keeps of it as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skillhub_mcp.index.nearness_scale import NearnessScale
from skillhub_mcp.index.schema import SCHEMA_VERSION

FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a skill: its path below the skill's directory, and the SHA-256 by which `files` has its bytes."""

    path: str
    sha256: str
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class StoredRoot:
    """A root of the publisher: the label that its keys start with, and the kind of place that it is."""

    label: str
    source: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """What an object of LanceDB has to be: its size in bytes, and its SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Publication:
    """A publication: versions of `skills` and `files`, what they hold, and the objects that a reader needs.

    `created_at` is when it was published and `written_at` when its rows were written, in seconds since 1970; a rollback
    repeats the rows of an earlier one. `digest` is one of all rows. Vectors are of the embedder `embedding`. Objects of
    earlier versions may be among `objects`, and these may have been cleaned up.
    """

    number: int
    created_at: float
    skills: int
    files: int
    bytes: int
    digest: str
    skills_version: int
    files_version: int
    table_id: str = ""
    embedding: str = ""
    written_at: float = 0.0
    scale: NearnessScale | None = None
    roots: tuple[StoredRoot, ...] = ()
    objects: Mapping[str, StoredObject] = field(default_factory=dict)
    format: int = FORMAT
    schema: int = SCHEMA_VERSION

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of SkillHub wrote it."""
        return self.format > FORMAT or self.schema > SCHEMA_VERSION

    def is_same(self, other: Publication) -> bool:
        """Whether it is the same publication, also if not all of its objects are named."""
        return (self.number, self.created_at) == (other.number, other.created_at)


# The columns of the table; the rest is in `details`.
PLAIN = ("number", "created_at", "skills", "files", "bytes", "digest", "skills_version", "files_version")


def details_of(publication: Publication) -> str:
    """Return what is no column of its own, as JSON."""
    told = {
        "format": publication.format,
        "schema": publication.schema,
        "table_id": publication.table_id,
        "embedding": publication.embedding,
        "written_at": publication.written_at,
        "scale": None if publication.scale is None else [publication.scale.far, publication.scale.near],
        "roots": [[root.label, root.source] for root in publication.roots],
        "objects": {path: [one.size, one.sha256] for path, one in sorted(publication.objects.items())},
    }
    return json.dumps(told, separators=(",", ":"))


def publication_of(row: Mapping[str, Any]) -> Publication:
    """Return the publication of a row. Raises ValueError, LookupError or TypeError for what is none."""
    details = json.loads(row["details"])
    scale = details["scale"]
    return Publication(
        **{name: row[name] for name in PLAIN},
        table_id=str(details["table_id"]),
        embedding=str(details["embedding"]),
        written_at=float(details["written_at"]),
        scale=None if scale is None else NearnessScale(float(scale[0]), float(scale[1])),
        roots=tuple(StoredRoot(str(label), str(source)) for label, source in details["roots"]),
        objects={
            str(path): StoredObject(int(size), str(digest)) for path, (size, digest) in details["objects"].items()
        },
        format=int(details["format"]),
        schema=int(details["schema"]),
    )


def row_of(publication: Publication) -> dict[str, Any]:
    """Return a publication as a row."""
    return {name: getattr(publication, name) for name in PLAIN} | {"details": details_of(publication)}


def digest_of(rows: Iterable[tuple[str, str]]) -> str:
    """Return the digest of all rows, by the key and the digest of each."""
    return hashlib.sha256("".join(f"{key}\0{digest}\n" for key, digest in sorted(rows)).encode()).hexdigest()
