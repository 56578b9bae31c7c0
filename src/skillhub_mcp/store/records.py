"""One publication as a value: a row of the table `publications`, which a mirror keeps as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from skillhub_mcp.index.schema import SCHEMA_VERSION

FORMAT = 1
# The columns of the table; the rest is JSON in `details`.
PLAIN = ("number", "created_at", "skills", "files", "bytes", "digest", "skills_version", "files_version")


class StoredFile(NamedTuple):
    """A file of a skill: its path below the skill's directory, and the SHA-256 by which `files` has its bytes."""

    path: str
    sha256: str
    size: int
    executable: bool


class StoredObject(NamedTuple):
    """The size in bytes of one of LanceDB's objects, and its SHA-256."""

    size: int
    sha256: str


class Publication(BaseModel, frozen=True):
    """A publication: versions of `skills` and `files`, what they hold, and the objects that a reader needs.

    `created_at` is when it was published and `written_at` when its rows were written, in seconds since 1970; a rollback
    repeats the rows of an earlier one. `digest` covers all rows. `embedding` identifies the embedder of the vectors,
    and `roots` has the source of each root by label, in order.
    Until a clean-up, objects of earlier versions are among `objects`.
    """

    number: int
    created_at: float
    skills: int
    files: int
    bytes: int
    digest: str
    skills_version: int
    files_version: int
    table_id: str
    embedding: str
    written_at: float
    roots: Mapping[str, str]
    objects: Mapping[str, StoredObject] = {}
    format: int = FORMAT
    schema_version: int = SCHEMA_VERSION

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of SkillHub wrote it."""
        return self.format > FORMAT or self.schema_version > SCHEMA_VERSION

    def as_row(self) -> dict[str, Any]:
        """Return it as a row."""
        plain = {name: getattr(self, name) for name in PLAIN}
        return plain | {"details": self.model_dump_json(exclude=set(PLAIN))}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Publication:
        """Return the publication of a row. Raises ValueError, LookupError or TypeError for an invalid row."""
        return cls.model_validate({**json.loads(row["details"]), **{name: row[name] for name in PLAIN}})
