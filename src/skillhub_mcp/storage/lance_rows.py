"""The LanceDB table of a publication, for programs that read it with LanceDB; servers search the segments.

Its writer holds the lease. LanceDB has no unique keys, so a version is compared with what it is to hold before its
number is published: one that holds a row twice, as two writers at once can make it, is mended and never named.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from skillhub_mcp.errors import StorageUnavailable
from skillhub_mcp.index.filter import path_in
from skillhub_mcp.index.lance import (
    LANCE_FAILURES,
    PATHS_PER_STATEMENT,
    TABLE_ID,
    TEXT_FIELDS,
    LanceIndex,
    chunks,
    damaged,
)
from skillhub_mcp.index.lance_import import import_lancedb
from skillhub_mcp.storage.index_files import RowToStore
from skillhub_mcp.storage.manifest import StoredRows
from skillhub_mcp.storage.object_store import without_options

TABLE = "skills"
_ROWS_AT_ONCE = 5_000
_WATCHED_INDEX = "description_idx"
# Rows outside the indexes are found by a scan; writing the indexes anew is worth it for a share of the library.
_FEWEST_MERGED = 200
_MERGED_SHARE = 100
_MENDINGS = 2
# How LanceDB says that somebody else has written the table meanwhile.
_COLLISION = re.compile(r"incompatible transaction|commit conflict|concurrent (?:transaction|writers)", re.IGNORECASE)


class RowsBefore(NamedTuple):
    """The version that a table continues, and the keys of the rows that changed or were removed since."""

    version: StoredRows
    changed: Collection[str]
    removed: Collection[str]


class LanceRows:
    """The table at `uri`, for the one who holds the lease. `check` is called before each write, and ends it by raising.

    Methods raise StorageUnavailable, and IndexDamaged for the local table that rows are read from.
    """

    def __init__(
        self, name: str, uri: str, options: Mapping[str, str], *, check: Callable[[], None] = lambda: None
    ) -> None:
        self._name = name
        self._uri = uri
        self._options = dict(options)
        self._check = check
        self._connection: Any = None

    def write(
        self,
        source: LanceIndex,
        rows: Mapping[str, RowToStore],
        *,
        table_id: str,
        before: RowsBefore | None,
        tag: str,
        kept_tags: Collection[str],
    ) -> StoredRows:
        """Write a version that has exactly `rows`, by key, tag it, and return it.

        With what was there `before`, only what changed since is written. Tags other than `kept_tags` are removed;
        versions before the oldest of those go when the table is merged.
        """
        for attempt in range(_MENDINGS + 1):
            try:
                table = self._written(source, rows, table_id, before)
                self._maintain(table, len(rows), kept_tags)
                table = self._mended(table, source, rows, table_id)
                self._check()
                version = int(table.version)
                for name in table.tags.list():
                    if name == tag or name not in kept_tags:
                        table.tags.delete(name)
                table.tags.create(tag, version)
            except LANCE_FAILURES as error:
                # Where another publisher took over meanwhile, that is the cause, and the table is now for it to write.
                self._check()
                if attempt == _MENDINGS or not _COLLISION.search(str(error)):
                    raise self._failed(error) from error
                # One that had the lease before stood still while it wrote, and went on.
            else:
                break
        return StoredRows(version, tag)

    def _written(
        self, source: LanceIndex, rows: Mapping[str, RowToStore], table_id: str, before: RowsBefore | None
    ) -> Any:
        """Return the table after what changed since `before` was written, or all rows where that is not continued."""
        table = None if before is None else self._continued(before.version, source)
        if before is None or table is None:
            return self._whole(source, rows, table_id)
        self._merge(table, source, {key: rows[key] for key in before.changed}, before.removed)
        return table

    def _mended(self, table: Any, source: LanceIndex, rows: Mapping[str, RowToStore], table_id: str) -> Any:
        """Return the table after it holds exactly `rows`. Raises StorageUnavailable where that cannot be had."""
        for _ in range(_MENDINGS):
            wrong = self._wrong(table, rows)
            if not wrong:
                return table
            self._delete(table, wrong)
            self._merge(table, source, {key: rows[key] for key in wrong if key in rows}, ())
        if self._wrong(table, rows):
            table = self._whole(source, rows, table_id)
            if self._wrong(table, rows):
                raise StorageUnavailable(self._name, "the table does not hold the rows that were written")
        return table

    def _continued(self, before: StoredRows, source: LanceIndex) -> Any:
        """Return the table as of the version `before`, or None where that cannot be continued."""
        try:
            table = self._connect().open_table(TABLE)
            table.checkout(before.version)
        except LANCE_FAILURES:
            return None
        if table.schema.names != source.schema.names or table.schema.types != source.schema.types:
            return None
        fresh = self._connect().open_table(TABLE)
        if int(fresh.version) != before.version:
            # What a publisher that was killed, or another one, wrote after it is undone.
            self._check()
            table.restore()
            return table
        return fresh

    def _whole(self, source: LanceIndex, rows: Mapping[str, RowToStore], table_id: str) -> Any:
        from lancedb.index import FTS, Bitmap, BTree, LabelList

        schema = source.schema.with_metadata({TABLE_ID: table_id.encode()})
        table: Any = None
        # Each piece is read before it is handed over: LanceDB reads in the thread that it also writes in.
        for piece in self._pieces(source, rows, None, schema):
            self._check()
            if table is None:
                table = self._connect().create_table(
                    TABLE, data=piece, schema=schema, mode="overwrite", on_bad_vectors="null"
                )
            else:
                table.add(piece, on_bad_vectors="null")
        indexes: list[tuple[str, Any]] = [(field, FTS(base_tokenizer="icu/split")) for field in TEXT_FIELDS]
        for field, config in (*indexes, ("category", Bitmap()), ("tags", LabelList()), ("path", BTree())):
            self._check()
            table.create_index(field, config=config, name="category_bitmap" if field == "category" else None)
        return table

    def _merge(self, table: Any, source: LanceIndex, rows: Mapping[str, RowToStore], removed: Collection[str]) -> None:
        if rows:
            for piece in self._pieces(source, rows, [row.row for row in rows.values()], table.schema):
                self._check()
                merge = table.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
                merge.execute(piece, on_bad_vectors="null")
        self._delete(table, removed)

    def _delete(self, table: Any, keys: Collection[str]) -> None:
        for some in chunks(sorted(keys), PATHS_PER_STATEMENT):
            self._check()
            table.delete(path_in(some))

    def _maintain(self, table: Any, rows: int, kept_tags: Collection[str]) -> None:
        """Merge what was added into one file and into the indexes, where that is much, and remove what nobody reads."""
        stats = table.index_stats(_WATCHED_INDEX)
        if stats is not None and stats.num_unindexed_rows <= max(_FEWEST_MERGED, rows // _MERGED_SHARE):
            return
        self._check()
        tags = {name: int(found["version"]) for name, found in table.tags.list().items() if name in kept_tags}
        for name in table.tags.list():
            if name not in tags:
                table.tags.delete(name)
        times = {found["version"]: found["timestamp"] for found in table.list_versions()}
        oldest = times.get(min(tags.values(), default=0), min(times.values()))
        # LanceDB refuses to remove a version that is tagged, even among others: what is older than all of them goes.
        now = dt.datetime.now(dt.timezone.utc)
        # Its times have no zone; the later of both readings removes less.
        age = max(now.replace(tzinfo=None), now.astimezone().replace(tzinfo=None)) - oldest
        table.optimize(cleanup_older_than=age + dt.timedelta(milliseconds=1))

    def _wrong(self, table: Any, rows: Mapping[str, RowToStore]) -> set[str]:
        """Return the keys that the table has twice, has otherwise, has too many or lacks."""
        read = table.search().select(["path", "content_hash"]).limit(None).to_arrow()
        paths = read.column("path").to_pylist()
        held = dict(zip(paths, read.column("content_hash").to_pylist(), strict=True))
        wrong = {path for path, times in Counter(paths).items() if times > 1}
        wrong |= held.keys() - rows.keys()
        return wrong | {key for key, row in rows.items() if held.get(key) != row.content_hash}

    def _pieces(
        self, source: LanceIndex, rows: Mapping[str, RowToStore], among: Collection[str] | None, schema: Any
    ) -> Iterator[Any]:
        """Yield tables of at most `_ROWS_AT_ONCE` rows, of all or those `among` the local keys; one at least."""
        import pyarrow as pa

        keys = {row.row: key for key, row in rows.items()}
        pending: list[Any] = []
        waiting, yielded = 0, False
        for batch in source.record_batches(among):
            own = _by_key(batch, keys, schema)
            pending.append(own)
            waiting += len(own)
            if waiting >= _ROWS_AT_ONCE:
                yield pa.Table.from_batches(pending, schema=schema)
                pending, waiting, yielded = [], 0, True
        if waiting or not yielded:
            yield pa.Table.from_batches(pending, schema=schema)

    def _connect(self) -> Any:
        if self._connection is None:
            self._connection = import_lancedb().connect(self._uri, storage_options=self._options or None)
        return self._connection

    def _failed(self, error: Exception) -> StorageUnavailable:
        reason = without_options(str(damaged(error)), self._options)
        return StorageUnavailable(self._name, f"the table: {reason[:200]}")


def _by_key(batch: Any, keys: Mapping[str, str], schema: Any) -> Any:
    """Return those rows of a batch that are published: mostly as they are, as their keys are the local ones."""
    import pyarrow as pa

    paths = batch.column("path").to_pylist()
    own = [keys.get(path) for path in paths]
    if own == paths:
        return pa.RecordBatch.from_arrays([batch.column(name) for name in schema.names], schema=schema)
    batch = batch.filter(pa.array([key is not None for key in own]))
    found = [key for key in own if key is not None]
    columns = [batch.column(name) for name in schema.names]
    columns[schema.names.index("path")] = pa.array(found, pa.string())
    columns[schema.names.index("root")] = pa.array(list(_labels(found)), pa.string())
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _labels(keys: Iterable[str]) -> Iterator[str]:
    return (key.partition("/")[0] for key in keys)
