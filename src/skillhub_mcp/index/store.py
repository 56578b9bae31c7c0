"""Writing the table: new versions, for a caller that holds the writer's lock, and removing old ones.

1. A version is complete before its number is committed in the state file. Nothing is dropped under a reader.
2. A writer begins at the committed version: what a killed writer left after it is undone.
3. Rows that are not in the indexes yet slow every search. They are merged if there are more than `MANY`, or at rest.
4. A version is removed 30 seconds after it was replaced: a reader learns of that within seconds. LanceDB knows only how
   old a version is, so the youngest of those that are older than 30 seconds stays.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.index.lance import (
    IN_MEMORY,
    IndexDamaged,
    blocking,
    chunks,
    connect,
    damaged,
    is_in,
    run,
)
from skillhub_mcp.index.schema import indexes, vector_fields
from skillhub_mcp.index.table import TableVersion

if TYPE_CHECKING:
    from typing import Any


MANY = 20
KEPT_SECONDS = 30.0
# Versions are not removed by their exact age.
_MARGIN_SECONDS = 1.0
# The manifests of versions are named by numbers that count down from this one.
_LAST_NAME = 2**64 - 1
# No version is ever as old as this.
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

    @blocking
    async def open(self, version: int, *, created_as: str | None = None) -> TableVersion:
        """Return a version. With `created_as`, a table with another id counts as damaged: it is another one."""
        table = await (await self._connected()).open_table(self.name, version=version)
        opened = TableVersion(table, await table.schema(), version)
        if created_as is not None and opened.table_id != created_as:
            raise IndexDamaged("another table has its name")
        return opened

    def rebuild(self, pieces: Callable[[Any], Iterable[Any]], schema: Any) -> TableVersion:
        """Write a new table in place of the old one, whose versions its readers keep, and return its version.

        `pieces` returns its rows for its schema, as Arrow's tables.
        """
        try:
            if self._private:
                # LanceDB's own directory would be as open as the umask allows.
                make_private_directory(self._directory)
            table = run(self._created(schema))
            for piece in pieces(schema):
                run(table.add(piece, on_bad_vectors="null"))
            return run(self._indexed(table))
        except OSError as error:
            raise damaged(error) from error

    async def _created(self, schema: Any) -> Any:
        return await (await self._connected()).create_table(self.name, schema=schema, mode="overwrite")

    async def _indexed(self, table: Any) -> TableVersion:
        for name, (column, config) in indexes().items():
            await table.create_index(column, config=config, name=name)
        return await _pinned(table)

    def update(self, committed: int, pieces: Iterable[Any], *, removed: Collection[str]) -> TableVersion:
        """Write changed rows, remove those with some keys, and return the new version."""
        table = run(self._begun_at(committed))
        for piece in pieces:
            merge = table.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
            run(merge.execute(piece, on_bad_vectors="null"))
        for keys in chunks(sorted(removed)):
            run(table.delete(is_in("path", keys)))
        return run(_pinned(table))

    @blocking
    async def add_vectors(
        self, committed: int, vectors: Mapping[str, Sequence[float]], hashes: Mapping[str, str]
    ) -> TableVersion:
        """Write vectors by key, with the hashes of their texts."""
        import pyarrow as pa

        table = await self._begun_at(committed)
        schema, fields = await table.schema(), vector_fields(len(next(iter(vectors.values()))))
        if "vector" not in schema.names:
            # Columns of nulls, for which no row is written again.
            await table.add_columns(pa.schema(fields))
        rows = [{"path": key, "embedded_hash": hashes[key], "vector": vector} for key, vector in vectors.items()]
        written = pa.Table.from_pylist(rows, schema=pa.schema([schema.field("path"), *fields]))
        await table.merge_insert("path").when_matched_update_all().execute(written)
        return await _pinned(table)

    async def _begun_at(self, committed: int) -> Any:
        """Return the table to write to, as it was committed."""
        table = await (await self._connected()).open_table(self.name)
        if await table.version() != committed:
            await table.checkout(committed)
            await table.restore()
        return table

    @blocking
    async def merge(
        self, committed: int, *, older_than: dt.timedelta = _NEVER, all_files: bool = False
    ) -> TableVersion:
        """Write added rows into the indexes, remove versions of that age, and return the new version.

        With `all_files`, files of no version are removed too: then no one else may be writing.
        """
        table = await self._begun_at(committed)
        await table.optimize(cleanup_older_than=older_than, delete_unverified=all_files)
        return await _pinned(table)

    def tidy(self, committed: int) -> TableVersion | None:
        """Merge rows into the indexes and remove old versions, at rest or if there are many; return the new version.

        Raises OSError too.
        """
        _, removable, at_rest = self._old_versions()
        if self._connection is None and removable <= MANY:
            # A server without a search does not load LanceDB for so little.
            return None
        much = max(self.open(committed).unmerged(), removable)
        if much <= 0 or (much <= MANY and not at_rest):
            return None
        # Twice: the second time merges what the first has written.
        version = self.merge(self.merge(committed).version)
        # Apart, because versions get older while rows are merged.
        age, removable, _ = self._old_versions()
        if removable > 0:
            version = self.merge(version.version, older_than=dt.timedelta(seconds=age), all_files=True)
        return version

    def _old_versions(self) -> tuple[float, int, bool]:
        """Return the age in seconds beyond which versions may be removed, how many are older, and if none is recent."""
        if self.db_path == IN_MEMORY:
            return 0.0, 0, False
        with os.scandir(os.path.join(self._directory, "_versions")) as entries:
            ages = [time.time() - entry.stat().st_mtime for entry in entries if entry.name.endswith(".manifest")]
        old = [age for age in ages if age > KEPT_SECONDS]
        if len(old) == len(ages):
            # LanceDB never removes the last one.
            return KEPT_SECONDS, len(old) - 1, True
        limit = min(old, default=0.0) + _MARGIN_SECONDS
        return limit, sum(age > limit for age in old), False

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

    async def _connected(self) -> Any:
        if self._connection is None:
            self._connection = await connect(self.db_path, self._options)
        return self._connection

    @property
    def _directory(self) -> str:
        return os.path.join(self.db_path, f"{self.name}.lance")


async def _pinned(table: Any) -> TableVersion:
    """Return the present version of a table that was written; nothing is written by way of it any more."""
    version = await table.version()
    await table.checkout(version)
    return TableVersion(table, await table.schema(), version)


def manifest_name(version: int) -> str:
    """Return the name of a version's manifest among a table's `_versions`."""
    return f"{_LAST_NAME - version:020}.manifest"
