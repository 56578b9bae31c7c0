"""Writing the table: new versions, for a caller that holds the writer's lock, and removing old ones.

1. A version is complete before its number is committed in the state file. Nothing is dropped under a reader.
2. A writer begins at the committed version: what a killed writer left after it is undone.
3. Rows that are not in the indexes yet slow every search. They are merged when there are more than `MOST_UNMERGED`.
4. A version is removed 30 seconds after another took its place (`index.versions`).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.index.connection import IN_MEMORY, connect, run
from skillhub_mcp.index.failures import LANCE_FAILURES, IndexDamaged, NoRoom, damaged
from skillhub_mcp.index.filter import PATHS_PER_STATEMENT, chunks, path_in
from skillhub_mcp.index.schema import TERMS_INDEX, indexes, vector_fields, vector_table
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.index.versions import TableVersions

if TYPE_CHECKING:
    from typing import Any

    Pieces = Iterable[Sequence[Any]]

MOST_UNMERGED = 20
# Manifests are small, and each is larger than the one before: they are removed a few at a time.
_MOST_UNREAD_VERSIONS = 20
# LanceDB removes versions by their age alone. None is ever as old as this.
_NEVER = dt.timedelta(days=36_500)


class Store:
    """One table of a database, on disk, in memory or, with `options`, in a bucket.

    Methods raise IndexDamaged, and NoRoom on a full disk. What is written is `private` to its user on a disk.
    """

    def __init__(
        self, db_path: str, table: str, *, options: Mapping[str, str] | None = None, private: bool = True
    ) -> None:
        self.db_path = db_path
        self.name = table
        self._options = options
        self._private = private and db_path != IN_MEMORY
        self._connection: Any = None

    @property
    def exists(self) -> bool:
        """Whether the table's directory exists. Loads nothing."""
        return self._connection is not None if self.db_path == IN_MEMORY else os.path.isdir(self._directory)

    def open(self, version: int, *, created_as: str | None = None) -> TableVersion:
        """Return a version. With `created_as`, a table with another id counts as damaged: it is another one."""
        opened = run(self._open(version))
        if created_as is not None and opened.table_id != created_as:
            raise IndexDamaged("another table has its name")
        return opened

    async def _open(self, version: int | None) -> TableVersion:
        table = await (await self._connected()).open_table(self.name, version=version)
        return TableVersion(table, await table.schema(), await table.version())

    def rebuild(self, pieces: Callable[[Any], Pieces], schema: Any) -> TableVersion:
        """Write a new table in place of the old one, whose versions its readers keep, and return its version.

        `pieces` returns its rows for its schema, several batches at once.
        """
        try:
            if self._private:
                # LanceDB would leave it to the umask who else may read it.
                make_private_directory(self._directory)
            table = run(self._created(schema))
            for piece in pieces(schema):
                run(_add(table, piece, schema))
            return run(self._indexed(table))
        except OSError as error:
            raise damaged(error) from error

    async def _created(self, schema: Any) -> Any:
        return await (await self._connected()).create_table(self.name, schema=schema, mode="overwrite")

    async def _indexed(self, table: Any) -> TableVersion:
        for name, (column, config) in indexes().items():
            await table.create_index(column, config=config, name=name)
        return await self._open(await table.version())

    def update(self, committed: int, pieces: Pieces, *, removed: Collection[str]) -> TableVersion:
        """Write changed rows, remove those with some keys, and return the new version."""
        table = run(self._begun_at(committed))
        try:
            for piece in pieces:
                run(_merge(table, piece))
            for keys in chunks(sorted(removed), PATHS_PER_STATEMENT):
                run(table.delete(path_in(keys)))
            return run(self._open(run(table.version())))
        except NoRoom:
            self._drop_leftovers()
            raise

    def add_vectors(
        self, committed: int, vectors: Mapping[str, Sequence[float]], hashes: Mapping[str, str], *, dimension: int
    ) -> TableVersion:
        """Write vectors by key, with the hashes of their texts; vectors of another length are dropped first."""
        return run(self._add_vectors(committed, vectors, hashes, dimension))

    async def _add_vectors(
        self, committed: int, vectors: Mapping[str, Sequence[float]], hashes: Mapping[str, str], dimension: int
    ) -> TableVersion:
        import pyarrow as pa

        table = await self._begun_at(committed)
        schema = await table.schema()
        fields = vector_fields(dimension)
        if "vector" in schema.names and schema.field("vector").type.list_size != dimension:
            await table.drop_columns([field.name for field in fields])
            schema = await table.schema()
        if "vector" not in schema.names:
            # Columns of nulls, for which no row is written again.
            await table.add_columns(pa.schema(fields))
        written = vector_table(vectors, hashes, schema.field("path"), dimension)
        await table.merge_insert("path").when_matched_update_all().execute(written)
        return await self._open(await table.version())

    async def _begun_at(self, committed: int) -> Any:
        """Return the table to write to, as it was committed."""
        table = await (await self._connected()).open_table(self.name)
        if await table.version() != committed:
            await table.checkout(committed)
            await table.restore()
        return table

    def unmerged(self) -> int:
        """Return how many rows are not in the full-text index yet."""
        return run(self._unmerged())

    async def _unmerged(self) -> int:
        table = await (await self._connected()).open_table(self.name)
        stats = await table.index_stats(TERMS_INDEX)
        if stats is None:
            raise IndexDamaged("the full-text index is missing")
        return int(stats.num_unindexed_rows)

    def merge(self, committed: int, *, older_than: dt.timedelta = _NEVER) -> TableVersion:
        """Write rows that were added into the indexes, remove versions of that age, and return the new version."""
        return run(self._merge(committed, older_than))

    async def _merge(self, committed: int, older_than: dt.timedelta) -> TableVersion:
        table = await self._begun_at(committed)
        await table.optimize(cleanup_older_than=older_than)
        return await self._open(await table.version())

    def clean(self, committed: int) -> None:
        """Remove versions that were replaced long enough ago, and files of no version, if there are enough of them."""
        if self.db_path == IN_MEMORY:
            return
        try:
            unread = TableVersions(self._directory).unread(published=committed, newest=committed)
            if len(unread) <= _MOST_UNREAD_VERSIONS:
                return
            for path in unread:
                os.unlink(path)
        except OSError as error:
            raise damaged(error) from error
        run(self._remove_files())

    async def _remove_files(self) -> None:
        table = await (await self._connected()).open_table(self.name)
        await table.optimize(cleanup_older_than=_NEVER, delete_unverified=True)

    def discard(self) -> None:
        """Remove a table that cannot be overwritten: it is derived from the files."""
        try:
            if os.path.isdir(self._directory):
                shutil.rmtree(self._directory)
            elif os.path.lexists(self._directory):
                os.unlink(self._directory)
        except OSError as error:
            raise damaged(error) from error
        self._connection = None

    def _drop_leftovers(self) -> None:
        # On a full disk the files of writes that failed would add up.
        with contextlib.suppress(*LANCE_FAILURES, IndexDamaged):
            run(self._remove_files())

    async def _connected(self) -> Any:
        if self._connection is None:
            self._connection = await connect(self.db_path, self._options)
        return self._connection

    @property
    def _directory(self) -> str:
        return os.path.join(self.db_path, f"{self.name}.lance")


async def _add(table: Any, piece: Sequence[Any], schema: Any) -> None:
    import pyarrow as pa

    await table.add(pa.Table.from_batches(piece, schema=schema), on_bad_vectors="null")


async def _merge(table: Any, piece: Sequence[Any]) -> None:
    import pyarrow as pa

    merge = table.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
    await merge.execute(pa.Table.from_batches(piece), on_bad_vectors="null")
