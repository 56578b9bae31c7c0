"""The three tables of a publication, which any program with LanceDB can open.

`files` has the bytes of each file by their SHA-256, `skills` a row for each skill as an index has it, with its files
and its parsed header, and `publications` what was published. They are written in this order. LanceDB has no transaction
over tables, so the newest row of `publications` is the commit: it names the versions of the other two.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillhub_mcp.errors import PublicationDamaged, StorageUnavailable
from skillhub_mcp.index.connection import connect, run
from skillhub_mcp.index.failures import IndexDamaged, NoRoom
from skillhub_mcp.index.filter import PATHS_PER_STATEMENT, chunks, quoted
from skillhub_mcp.index.schema import UNIQUE, table_schema
from skillhub_mcp.index.store import MOST_UNMERGED, Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.store.objects import unavailable
from skillhub_mcp.store.records import PLAIN, Publication, StoredFile, publication_of, row_of
from skillhub_mcp.store.targets import FILES, PUBLICATIONS, SKILLS, Target

if TYPE_CHECKING:
    Pieces = Iterator[Sequence[Any]]

# How LanceDB's messages tell that it is the storage which fails, and not what is stored.
_OF_STORAGE = re.compile(
    r"Generic (S3|GCS|MicrosoftAzure|HTTP)|status(?: code)?:? \d{3}|timed? ?out|sending request|onnection"
)
# Two writers at once: one of them has to begin again.
_OF_CONFLICT = re.compile(
    # A table that another publisher has just begun anew has no index yet.
    r"concurrent transaction|commit conflict|Too many concurrent writers|schema does not match"
    r"|full-text index is missing"
)
# Of a directory, but for what is missing there: that is damage.
_OF_DISK = re.compile(r"(?:os error |Os \{ code: )(?!2\b)(\d+)")
# Rows of `publications` that a reader may be about to read.
_READ_FOR = dt.timedelta(hours=1)
_MERGED_EVERY = 5


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """What is compared of a skill that was published: the digest of its row, and its files."""

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
        # When each publication that is kept was made, by number, as of the last look for the newest.
        self.times: dict[int, float] = {}

    # publications

    def newest(self) -> Publication | None:
        """Return the publication that counts, None where nothing was published."""
        with self._errors(PUBLICATIONS):
            rows = run(self._newest())
            return publication_of(rows[0]) if rows else None

    async def _newest(self) -> list[dict[str, Any]]:
        table = await self._opened(PUBLICATIONS)
        if table is None:
            return []
        read = await table.query().select(["number", "created_at"]).to_arrow()
        self.times = dict(zip(*(column.to_pylist() for column in read.columns), strict=True))
        if not self.times:
            return []
        query = table.query().where(f"number = {max(self.times)}")
        found: list[dict[str, Any]] = (await query.select([*PLAIN, "details"]).to_arrow()).to_pylist()
        return found

    def all(self) -> list[Publication]:
        """Return all publications that are kept, the newest first."""
        with self._errors(PUBLICATIONS):
            return sorted(map(publication_of, run(self._all())), key=lambda one: -one.number)

    async def _all(self) -> list[dict[str, Any]]:
        table = await self._opened(PUBLICATIONS)
        found: list[dict[str, Any]] = [] if table is None else (await table.query().to_arrow()).to_pylist()
        return found

    def commit(self, publication: Publication, *, anew: bool = False) -> bool:
        """Append a publication, with `anew` to an empty table.

        Return whether it counts: another publisher may have taken its number.
        """
        try:
            with self._errors(PUBLICATIONS):
                return run(self._commit(publication, anew=anew))
        except OtherPublisher:
            return False

    async def _commit(self, publication: Publication, *, anew: bool) -> bool:
        import pyarrow as pa

        schema = _publications_schema()
        table = await (self._emptied if anew else self._made)(PUBLICATIONS, schema)
        row = pa.Table.from_pylist([row_of(publication)], schema=schema)
        done = await table.merge_insert("number").when_not_matched_insert_all().execute(row)
        if publication.number % _MERGED_EVERY == 0:
            # Each row is a file of its own, and all are read to find the newest.
            await table.optimize(cleanup_older_than=_READ_FOR)
        return bool(done.num_inserted_rows)

    def drop(self, numbers: Collection[int]) -> None:
        """Remove publications from the list."""
        with self._errors(PUBLICATIONS):
            run(self._delete(PUBLICATIONS, f"number IN ({','.join(map(str, sorted(numbers)))})"))

    # skills

    def skills(self, publication: Publication) -> TableVersion:
        """Return the rows of a publication."""
        with self._errors(SKILLS):
            return self._skills.open(publication.skills_version, created_as=publication.table_id)

    def published(self, table: TableVersion) -> dict[str, PublishedRow]:
        """Return the digest and the files of each row by key."""
        with self._errors(SKILLS):
            return published_rows(table)

    def digests(self, table: TableVersion) -> dict[str, str]:
        """Return the digest of each row by key."""
        with self._errors(SKILLS):
            read = table.read(["path", "digest"])
            return dict(zip(read.column("path").to_pylist(), read.column("digest").to_pylist(), strict=True))

    def is_whole(self, publication: Publication) -> bool:
        """Whether all that a search needs can be read, and each file is there."""
        try:
            table = self.skills(publication)
            with self._errors(SKILLS):
                table.check()
            self.file_digests(publication.files_version)
        except PublicationDamaged:
            return False
        return True

    def write_all(self, pieces: Callable[[Any], Pieces], *, dimension: int | None, embedding: str) -> TableVersion:
        """Write all rows anew, beside those that earlier publications name."""
        with self._errors(SKILLS):
            schema = skills_schema(dimension, embedding=embedding)
            run(self._ensure(SKILLS, schema))
            return self._skills.rebuild(pieces, schema)

    def write_changes(
        self, before: Publication, pieces: Callable[[Any], Pieces], *, removed: Collection[str]
    ) -> TableVersion:
        """Write the rows that differ from a publication, and remove those with some keys."""
        with self._errors(SKILLS):
            schema = self._skills.open(before.skills_version).schema
            return self._skills.update(before.skills_version, pieces(schema), removed=removed)

    def merged(self, version: TableVersion, *, older_than: dt.timedelta | None) -> TableVersion:
        """Return the version with its rows in the indexes, if many are not; with an age, older ones are removed."""
        with self._errors(SKILLS):
            if older_than is not None:
                return self._skills.merge(version.version, older_than=older_than)
            return self._skills.merge(version.version) if self._skills.unmerged() > MOST_UNMERGED else version

    # files

    def write_files(self, contents: Mapping[str, bytes]) -> int:
        """Have the bytes of files in the table by their SHA-256, and return its version: one more with each call."""
        with self._errors(FILES):
            return run(self._write_files(contents))

    async def _write_files(self, contents: Mapping[str, bytes]) -> int:
        import pyarrow as pa

        schema = _files_schema()
        table = await self._made(FILES, schema)
        if contents:
            columns = [pa.array(list(contents), pa.string()), pa.array(list(contents.values()), pa.large_binary())]
            rows = pa.Table.from_arrays(columns, schema=schema)
            return int((await table.merge_insert("sha256").when_not_matched_insert_all().execute(rows)).version)
        return int(await table.version())

    def file_digests(self, version: int) -> set[str]:
        """Return the SHA-256 of each file of a version of the table."""
        with self._errors(FILES):
            return run(self._file_digests(version))

    async def _file_digests(self, version: int) -> set[str]:
        return await stored_digests(await (await self._connected()).open_table(FILES, version=version))

    def write_files_anew(self) -> None:
        """Begin the table anew, beside what earlier publications name."""
        with self._errors(FILES):
            run(self._emptied(FILES, _files_schema()))

    def drop_files(self, digests: Collection[str], *, older_than: dt.timedelta) -> int:
        """Remove files by their SHA-256, and what only versions of that age have; return the table's new version."""
        with self._errors(FILES):
            for some in chunks(sorted(digests), PATHS_PER_STATEMENT):
                run(self._delete(FILES, f"sha256 IN ({','.join(map(quoted, some))})"))
            return run(self._cleaned(FILES, older_than))

    async def _cleaned(self, name: str, older_than: dt.timedelta) -> int:
        table = await (await self._connected()).open_table(name)
        await table.optimize(cleanup_older_than=older_than)
        return int(await table.version())

    async def _delete(self, name: str, condition: str) -> None:
        await (await (await self._connected()).open_table(name)).delete(condition)

    async def _made(self, name: str, schema: Any) -> Any:
        return await (await self._connected()).create_table(name, schema=schema, exist_ok=True)

    async def _ensure(self, name: str, schema: Any) -> None:
        """Have a table before it is overwritten: LanceDB panics if another writer makes it meanwhile."""
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
    def _errors(self, part: str) -> Iterator[None]:
        name, options = self._target.name, self._target.options
        try:
            yield
        except NoRoom as error:
            raise StorageUnavailable(name, str(error)) from error
        except IndexDamaged as error:
            if _OF_CONFLICT.search(str(error)):
                raise OtherPublisher from error
            if _OF_STORAGE.search(str(error)):
                raise unavailable(name, error, options) from error
            if found := _OF_DISK.search(str(error)):
                raise StorageUnavailable(name, os.strerror(int(found[1]))) from error
            raise PublicationDamaged(name, f"the table {part!r}", f"cannot be used: {error}") from error
        except (ValueError, LookupError, TypeError) as error:
            raise PublicationDamaged(name, f"the table {part!r}", f"has something else in it: {error}") from error


def published_rows(table: TableVersion) -> dict[str, PublishedRow]:
    """Return the digest and the files of each row of `skills` by key. Raises IndexDamaged."""
    read = table.read(["path", "digest", "files"])
    return {
        path: PublishedRow(digest, tuple(StoredFile(**file) for file in files))
        for path, digest, files in zip(
            *(read.column(name).to_pylist() for name in ("path", "digest", "files")), strict=True
        )
    }


async def stored_digests(table: Any) -> set[str]:
    """Return the SHA-256 of each file of the table `files` as LanceDB opened it."""
    return set((await table.query().select(["sha256"]).to_arrow()).column("sha256").to_pylist())


def file_bytes(table: Any, digests: Collection[str]) -> dict[str, bytes]:
    """Return the bytes of files by their SHA-256, of the table `files` as LanceDB opened it. Raises IndexDamaged."""
    condition = f"sha256 IN ({','.join(map(quoted, sorted(digests)))})"

    async def read() -> Any:
        return await table.query().where(condition).select(["sha256", "content"]).to_arrow()

    found = run(read())
    return dict(zip(found.column("sha256").to_pylist(), found.column("content").to_pylist(), strict=True))


def skills_schema(dimension: int | None, *, embedding: str) -> Any:
    """Return the schema of `skills`: that of an index, with header, files and digest of each row."""
    import pyarrow as pa

    file = pa.struct([("path", pa.string()), ("sha256", pa.string()), ("size", pa.int64()), ("executable", pa.bool_())])
    more = [pa.field("entry", pa.string()), pa.field("files", pa.list_(file)), pa.field("digest", pa.string())]
    return table_schema(dimension, embedding=embedding, more=more)


def _files_schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [pa.field("sha256", pa.string(), nullable=False, metadata=UNIQUE), pa.field("content", pa.large_binary())]
    )


def _publications_schema() -> Any:
    import pyarrow as pa

    kinds = {"created_at": pa.float64(), "digest": pa.string()}
    plain = [pa.field(name, kinds.get(name, pa.int64())) for name in PLAIN if name != "number"]
    number = pa.field("number", pa.int64(), nullable=False, metadata=UNIQUE)
    return pa.schema([number, *plain, pa.field("details", pa.string())])
