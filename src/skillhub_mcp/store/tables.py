"""The three tables of a publication, which any program with LanceDB can open.

`files` has the bytes of each file by their SHA-256, `skills` a row for each skill as an index has it, with its files
and its parsed header, and `publications` what was published. They are written in this order. LanceDB has no transaction
over tables, so the newest row of `publications` is the commit: it names the versions of the other two.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from skillhub_mcp.errors import PublicationDamaged, StorageUnavailable
from skillhub_mcp.index.lance import IndexDamaged, NoRoom, chunks, connect, is_in, run
from skillhub_mcp.index.schema import UNIQUE, table_schema
from skillhub_mcp.index.state_file import SCHEMA_VERSION
from skillhub_mcp.index.store import MOST_UNMERGED, Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.store.targets import FILES, PUBLICATIONS, SKILLS, Target, digest_of, unavailable

FORMAT = 1
# The columns of the table; the rest is JSON in `details`.
PLAIN = ("number", "created_at", "skills", "files", "bytes", "digest", "skills_version", "files_version")

# How LanceDB's messages say that the storage fails, and not what is stored.
_OF_STORAGE = re.compile(
    r"Generic (S3|GCS|MicrosoftAzure|HTTP)|status(?: code)?:? \d{3}|timed? ?out|sending request|onnection"
)
# Two writers at once: one of them has to begin again. A table that was just begun has no index yet.
_OF_CONFLICT = re.compile(
    r"concurrent transaction|commit conflict|Too many concurrent writers|schema does not match"
    r"|full-text index is missing"
)
# Of a directory. A missing file (2) is damage.
_OF_DISK = re.compile(r"(?:os error |Os \{ code: )(?!2\b)(\d+)")
# Rows of `publications` that a reader may be about to read.
_READ_FOR = dt.timedelta(hours=1)
_MERGED_EVERY = 5


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


class PublishedRow(NamedTuple):
    """The digest of a row of `skills`, and the files of the skill."""

    digest: str
    files: tuple[StoredFile, ...]


class OtherPublisher(Exception):
    """Another publisher has written meanwhile."""


class PublicationTables:
    """The tables at a target. Methods raise StorageUnavailable and PublicationDamaged, on writing OtherPublisher."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._skills = Store(target.name, SKILLS, options=target.options, private=False)
        self._connection: Any = None

    # publications

    def times(self) -> dict[int, float]:
        """Return when each publication that is kept was made, by number."""
        return {row["number"]: row["created_at"] for row in self._rows(PUBLICATIONS, ["number", "created_at"])[1]}

    def all(self, condition: str = "true") -> list[Publication]:
        """Return the publications that are kept, the newest first."""
        with self._errors(PUBLICATIONS):
            rows = self._rows(PUBLICATIONS, [*PLAIN, "details"], condition)[1]
            return sorted(map(Publication.from_row, rows), key=lambda one: -one.number)

    def newest(self, times: Collection[int] | None = None) -> Publication | None:
        """Return the publication that counts, None if there is none; `times` if they were read already.

        Raises PublicationDamaged for one that a newer SkillHub wrote.
        """
        numbers = self.times() if times is None else times
        # The rows are large, and only one is needed.
        found = self.all(f"number = {max(numbers)}") if numbers else []
        if found and found[0].is_newer:
            part = f"publication {found[0].number}"
            raise PublicationDamaged(self._target.name, part, "was written by a newer SkillHub", hint="update skillhub")
        return next(iter(found), None)

    def commit(
        self, publication: Publication, *, emptied: bool = False, dropped: Collection[int] = frozenset()
    ) -> None:
        """Append a publication, with `emptied` to an empty table, and then remove others by number.

        Raises OtherPublisher if another publisher has taken its number.
        """
        import pyarrow as pa

        row = pa.Table.from_pylist([publication.as_row()])
        schema = row.schema.set(0, pa.field("number", pa.int64(), nullable=False, metadata=UNIQUE))

        async def commit() -> None:
            table = await self._made(PUBLICATIONS, schema, emptied=emptied)
            done = await table.merge_insert("number").when_not_matched_insert_all().execute(row.cast(schema))
            if not done.num_inserted_rows:
                raise OtherPublisher
            if dropped:
                await table.delete(f"number IN ({','.join(map(str, sorted(dropped)))})")
            if publication.number % _MERGED_EVERY == 0:
                # Each row is a file of its own, and all are read to find the newest.
                await table.optimize(cleanup_older_than=_READ_FOR)

        with self._errors(PUBLICATIONS):
            run(commit())

    # skills

    def skills(self, publication: Publication) -> TableVersion:
        """Return the rows of a publication."""
        with self._errors(SKILLS):
            return self._skills.open(publication.skills_version, created_as=publication.table_id)

    def published(self, table: TableVersion) -> dict[str, PublishedRow]:
        """Return the digest and the files of each row by key."""
        with self._errors(SKILLS):
            return published_rows(table)

    def write_skills(
        self,
        before: Publication | None,
        pieces: Callable[[Any], Iterator[Sequence[Any]]],
        *,
        removed: Collection[str],
        like: TableVersion,
    ) -> TableVersion:
        """Write the rows that differ from a publication and remove those with some keys; without one, write all.

        A new table has the columns of the index `like`, with header, files and digest of each row.
        """
        import pyarrow as pa

        kinds = {"path": pa.string(), "sha256": pa.string(), "size": pa.int64(), "executable": pa.bool_()}
        file = pa.struct(list(kinds.items()))
        with self._errors(SKILLS):
            if before is not None:
                schema = self._skills.open(before.skills_version).schema
                return self._skills.update(before.skills_version, pieces(schema), removed=removed)
            more = [pa.field("entry", pa.string()), pa.field("files", pa.list_(file)), pa.field("digest", pa.string())]
            schema = table_schema(like.dimension, embedding=like.embedding, more=more)
            run(self._ensure(SKILLS, schema))
            return self._skills.rebuild(pieces, schema)

    def merged(self, version: TableVersion, *, older_than: dt.timedelta | None) -> TableVersion:
        """Return the version with its rows in the indexes, if many are not; with an age, older ones are removed."""
        with self._errors(SKILLS):
            if older_than is not None:
                return self._skills.merge(version.version, older_than=older_than)
            return self._skills.merge(version.version) if self._skills.unmerged() > MOST_UNMERGED else version

    # files

    def files(self) -> tuple[int, set[str]]:
        """Return the newest version of the table, and the SHA-256 of each file in it."""
        version, rows = self._rows(FILES, ["sha256"])
        return version, {row["sha256"] for row in rows}

    def write_files(self, contents: Mapping[str, bytes], *, emptied: bool = False) -> None:
        """Write the bytes of files by their SHA-256, with `emptied` to an empty table."""
        import pyarrow as pa

        key = pa.field("sha256", pa.string(), nullable=False, metadata=UNIQUE)
        schema = pa.schema([key, pa.field("content", pa.large_binary())])
        columns = [pa.array(list(contents), pa.string()), pa.array(list(contents.values()), pa.large_binary())]
        with self._errors(FILES):
            table = run(self._made(FILES, schema, emptied=emptied))
            if contents:
                rows = pa.Table.from_arrays(columns, schema=schema)
                run(table.merge_insert("sha256").when_not_matched_insert_all().execute(rows))

    def drop_files(self, digests: Collection[str], *, older_than: dt.timedelta) -> None:
        """Remove files by their SHA-256, and versions of that age."""
        with self._errors(FILES):
            table = run(self._opened(FILES))
            for some in chunks(sorted(digests)):
                run(table.delete(is_in("sha256", some)))
            run(table.optimize(cleanup_older_than=older_than))

    def _rows(self, name: str, columns: list[str], condition: str = "true") -> tuple[int, list[dict[str, Any]]]:
        """Return the newest version of a table and some columns of its rows; version 0 if there is no table."""

        async def read() -> tuple[int, list[dict[str, Any]]]:
            table = await self._opened(name)
            if table is None:
                return 0, []
            found = await table.query().where(condition).select(columns).to_arrow()
            return await table.version(), found.to_pylist()

        with self._errors(name):
            return run(read())

    async def _made(self, name: str, schema: Any, *, emptied: bool = False) -> Any:
        if not emptied:
            return await (await self._connected()).create_table(name, schema=schema, exist_ok=True)
        await self._ensure(name, schema)
        return await (await self._connected()).create_table(name, schema=schema, mode="overwrite")

    async def _ensure(self, name: str, schema: Any) -> None:
        """Create a table before it is overwritten: LanceDB panics if another writer creates it meanwhile."""
        if name not in (await (await self._connected()).list_tables()).tables:
            await self._made(name, schema)

    async def _opened(self, name: str) -> Any:
        try:
            return await (await self._connected()).open_table(name)
        except ValueError as error:
            if "not found" in str(error):
                return None
            raise

    async def _connected(self) -> Any:
        if self._connection is None:
            self._connection = await connect(self._target.name, self._target.options)
        return self._connection

    @contextlib.contextmanager
    def _errors(self, part: str) -> Iterator[None]:
        """Raise LanceDB's errors about one of the tables as those of the storage, the publication or its publishers."""
        name = self._target.name
        try:
            yield
        except NoRoom as error:
            raise StorageUnavailable(name, str(error)) from error
        except IndexDamaged as error:
            if _OF_CONFLICT.search(str(error)):
                raise OtherPublisher from error
            if _OF_STORAGE.search(str(error)):
                raise unavailable(self._target, error) from error
            if found := _OF_DISK.search(str(error)):
                raise StorageUnavailable(name, os.strerror(int(found[1]))) from error
            raise PublicationDamaged(name, f"the table {part!r}", f"cannot be used: {error}") from error
        except (ValueError, LookupError, TypeError) as error:
            raise PublicationDamaged(name, f"the table {part!r}", f"has something else in it: {error}") from error


def published_rows(table: TableVersion) -> dict[str, PublishedRow]:
    """Return the digest and the files of each row of `skills` by key. Raises IndexDamaged."""
    return {
        row["path"]: PublishedRow(row["digest"], tuple(StoredFile(**file) for file in row["files"]))
        for row in table.read(["path", "digest", "files"]).to_pylist()
    }


def rows_digest(digests: Mapping[str, str]) -> str:
    """Return the digest of all rows, by the key and the digest of each."""
    return digest_of(f"{key}\0{digest}\n".encode() for key, digest in sorted(digests.items()))


def file_bytes(table: Any, digests: Collection[str]) -> dict[str, bytes]:
    """Return the bytes of files by their SHA-256, of the table `files` as LanceDB opened it. Raises IndexDamaged."""
    condition = is_in("sha256", sorted(digests))

    async def read() -> Any:
        return await table.query().where(condition).select(["sha256", "content"]).to_arrow()

    return {row["sha256"]: row["content"] for row in run(read()).to_pylist()}
