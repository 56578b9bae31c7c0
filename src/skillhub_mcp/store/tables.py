"""The three tables of a publication, which any program with LanceDB can open.

`files` has the bytes of each file by their SHA-256, `skills` a row for each skill as an index has it, with its files
and its parsed header, and `publications` what was published. They are written in this order. LanceDB has no transaction
over tables, so the newest row of `publications` is the commit: it names the versions of the other two.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import os
import re
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from skillhub_mcp.errors import PublicationDamaged, StorageUnavailable
from skillhub_mcp.index.connection import connect, run
from skillhub_mcp.index.failures import IndexDamaged, NoRoom
from skillhub_mcp.index.filter import PATHS_PER_STATEMENT, chunks, quoted
from skillhub_mcp.index.schema import UNIQUE, table_schema
from skillhub_mcp.index.store import MOST_UNMERGED, Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.store.records import PLAIN, Publication, StoredFile
from skillhub_mcp.store.targets import FILES, PUBLICATIONS, SKILLS, Target, digest_of, unavailable

if TYPE_CHECKING:
    Pieces = Iterator[Sequence[Any]]

P = ParamSpec("P")
T = TypeVar("T")

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


class PublishedRow(NamedTuple):
    """The digest of a row of `skills`, and the files of the skill."""

    digest: str
    files: tuple[StoredFile, ...]


class OtherPublisher(Exception):
    """Another publisher has written meanwhile."""


def _on(part: str) -> Callable[[Callable[Concatenate[PublicationTables, P], Coroutine[Any, Any, T]]], Callable[..., T]]:
    """Return a decorator that runs a method on LanceDB's loop, with the errors of one table."""

    def decorate(method: Callable[Concatenate[PublicationTables, P], Coroutine[Any, Any, T]]) -> Callable[..., T]:
        @functools.wraps(method)
        def call(self: PublicationTables, *args: P.args, **named: P.kwargs) -> T:
            with self.errors(part):
                return run(method(self, *args, **named))

        return call

    return decorate


class PublicationTables:
    """The tables at a target. Methods raise StorageUnavailable and PublicationDamaged, on writing OtherPublisher."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._skills = Store(target.name, SKILLS, options=target.options, private=False)
        self._connection: Any = None

    # publications

    @_on(PUBLICATIONS)
    async def times(self) -> dict[int, float]:
        """Return when each publication that is kept was made, by number."""
        return {row["number"]: row["created_at"] for row in await self._rows("true", ["number", "created_at"])}

    @_on(PUBLICATIONS)
    async def all(self, condition: str = "true") -> list[Publication]:
        """Return the publications that are kept, the newest first."""
        rows = await self._rows(condition, [*PLAIN, "details"])
        return sorted(map(Publication.from_row, rows), key=lambda one: -one.number)

    def newest(self, times: Collection[int] | None = None) -> Publication | None:
        """Return the publication that counts, None if there is none; `times` if they were read already.

        Raises PublicationDamaged for one that a newer SkillHub wrote.
        """
        numbers = self.times() if times is None else times
        # The rows are large, and only one is needed.
        found: list[Publication] = self.all(f"number = {max(numbers)}") if numbers else []
        if found and found[0].is_newer:
            part = f"publication {found[0].number}"
            raise PublicationDamaged(self._target.name, part, "was written by a newer SkillHub", hint="update skillhub")
        return next(iter(found), None)

    async def _rows(self, condition: str, columns: list[str]) -> list[dict[str, Any]]:
        table = await self._opened(PUBLICATIONS)
        if table is None:
            return []
        found: list[dict[str, Any]] = (await table.query().where(condition).select(columns).to_arrow()).to_pylist()
        return found

    @_on(PUBLICATIONS)
    async def commit(
        self, publication: Publication, *, emptied: bool = False, dropped: Collection[int] = frozenset()
    ) -> None:
        """Append a publication, with `emptied` to an empty table, and then remove others by number.

        Raises OtherPublisher if another publisher has taken its number.
        """
        import pyarrow as pa

        row = pa.Table.from_pylist([publication.as_row()])
        schema = row.schema.set(0, pa.field("number", pa.int64(), nullable=False, metadata=UNIQUE))
        table, row = await (self._emptied if emptied else self._made)(PUBLICATIONS, schema), row.cast(schema)
        done = await table.merge_insert("number").when_not_matched_insert_all().execute(row)
        if not done.num_inserted_rows:
            raise OtherPublisher
        if dropped:
            await table.delete(f"number IN ({','.join(map(str, sorted(dropped)))})")
        if publication.number % _MERGED_EVERY == 0:
            # Each row is a file of its own, and all are read to find the newest.
            await table.optimize(cleanup_older_than=_READ_FOR)

    # skills

    def skills(self, publication: Publication) -> TableVersion:
        """Return the rows of a publication."""
        with self.errors(SKILLS):
            return self._skills.open(publication.skills_version, created_as=publication.table_id)

    def published(self, table: TableVersion) -> dict[str, PublishedRow]:
        """Return the digest and the files of each row by key."""
        with self.errors(SKILLS):
            return published_rows(table)

    def write_skills(
        self,
        before: Publication | None,
        pieces: Callable[[Any], Pieces],
        *,
        removed: Collection[str],
        dimension: int | None,
        embedding: str,
    ) -> TableVersion:
        """Write the rows that differ from a publication and remove those with some keys; without one, write all."""
        with self.errors(SKILLS):
            if before is not None:
                schema = self._skills.open(before.skills_version).schema
                return self._skills.update(before.skills_version, pieces(schema), removed=removed)
            schema = skills_schema(dimension, embedding=embedding)
            run(self._ensure(SKILLS, schema))
            return self._skills.rebuild(pieces, schema)

    def merged(self, version: TableVersion, *, older_than: dt.timedelta | None) -> TableVersion:
        """Return the version with its rows in the indexes, if many are not; with an age, older ones are removed."""
        with self.errors(SKILLS):
            if older_than is not None:
                return self._skills.merge(version.version, older_than=older_than)
            return self._skills.merge(version.version) if self._skills.unmerged() > MOST_UNMERGED else version

    # files

    @_on(FILES)
    async def files(self) -> tuple[int, set[str]]:
        """Return the newest version of the table, and the SHA-256 of each file in it."""
        table = await self._opened(FILES)
        if table is None:
            return 0, set()
        read = await table.query().select(["sha256"]).to_arrow()
        return int(await table.version()), set(read.column("sha256").to_pylist())

    @_on(FILES)
    async def write_files(self, contents: Mapping[str, bytes], *, emptied: bool = False) -> None:
        """Write the bytes of files by their SHA-256, with `emptied` to an empty table."""
        import pyarrow as pa

        key = pa.field("sha256", pa.string(), nullable=False, metadata=UNIQUE)
        schema = pa.schema([key, pa.field("content", pa.large_binary())])
        table = await (self._emptied if emptied else self._made)(FILES, schema)
        if contents:
            columns = [pa.array(list(contents), pa.string()), pa.array(list(contents.values()), pa.large_binary())]
            rows = pa.Table.from_arrays(columns, schema=schema)
            await table.merge_insert("sha256").when_not_matched_insert_all().execute(rows)

    @_on(FILES)
    async def drop_files(self, digests: Collection[str], *, older_than: dt.timedelta) -> None:
        """Remove files by their SHA-256, and versions of that age."""
        table = await self._opened(FILES)
        for some in chunks(sorted(digests), PATHS_PER_STATEMENT):
            await table.delete(f"sha256 IN ({','.join(map(quoted, some))})")
        await table.optimize(cleanup_older_than=older_than)

    async def _made(self, name: str, schema: Any) -> Any:
        return await (await self._connected()).create_table(name, schema=schema, exist_ok=True)

    async def _ensure(self, name: str, schema: Any) -> None:
        """Create a table before it is overwritten: LanceDB panics if another writer creates it meanwhile."""
        if name not in (await (await self._connected()).list_tables()).tables:
            await self._made(name, schema)

    async def _emptied(self, name: str, schema: Any) -> Any:
        await self._ensure(name, schema)
        return await (await self._connected()).create_table(name, schema=schema, mode="overwrite")

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
    def errors(self, part: str) -> Iterator[None]:
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
    condition = f"sha256 IN ({','.join(map(quoted, sorted(digests)))})"

    async def read() -> Any:
        return await table.query().where(condition).select(["sha256", "content"]).to_arrow()

    return {row["sha256"]: row["content"] for row in run(read()).to_pylist()}


def skills_schema(dimension: int | None, *, embedding: str) -> Any:
    """Return the schema of `skills`: that of an index, with header, files and digest of each row."""
    import pyarrow as pa

    file = pa.struct([("path", pa.string()), ("sha256", pa.string()), ("size", pa.int64()), ("executable", pa.bool_())])
    more = [pa.field("entry", pa.string()), pa.field("files", pa.list_(file)), pa.field("digest", pa.string())]
    return table_schema(dimension, embedding=embedding, more=more)
