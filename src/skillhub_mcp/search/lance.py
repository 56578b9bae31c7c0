"""How is the index kept and asked? LanceDB, and nothing else in the program knows it.

The rules of this module:
1. A version of the table is built whole before anyone is told its number; readers open a number, never "latest".
2. The table is never dropped under a reader: a rebuild overwrites it, which is one more version.
3. Writers hold the lock of `search.indexing`; LanceDB has no unique keys, so two writers could make one row two.
4. LanceDB raises RuntimeError, OSError and ValueError for a damaged or unwritable table: they become
   `IndexDamaged` here, and the caller rebuilds.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.search.embedders.base import Vector
from skillhub_mcp.search.ranking import Hit, Reason
from skillhub_mcp.skills.model import Skill

TABLE = "skills"
SCHEMA_VERSION = 1
IN_MEMORY = "memory://"
TEXT_FIELDS = ("name", "description", "tags_text", "category")

_BATCH_ROWS = 1_000
# Up to this many keys a filter inside LanceDB is faster than asking for more hits and dropping some.
_FILTERED_INSIDE = 1_000
_KEYS_A_STATEMENT = 500
# Rows not yet in the full-text index are found by a scan: cheap for a few, so merging waits until there are more.
_MERGE_AFTER_ROWS = 200
_CLEAN_AFTER_VERSIONS = 50
_KEPT_VERSIONS = dt.timedelta(minutes=10)
_LANCE_FAILURES = (RuntimeError, OSError, ValueError)


# Read when LanceDB is first imported. Its own warnings go to stderr: "no table yet" is no news to anyone here.
os.environ.setdefault("LANCEDB_LOG", "error")


class IndexDamaged(Exception):
    """The table cannot be opened, read or written; the message is LanceDB's own first line."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a skill, its body, and its embedding where there is one."""

    skill: Skill
    content_hash: str
    instructions: str
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class StoredRow:
    """What the table says of one row: enough to tell what must change."""

    root: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector and the text that it stands for."""

    text: str
    vector: Vector


class LanceIndex:
    """One finished version of the table, for asking. Safe to use from several threads.

    `dimension` is None where there are no vectors to ask.
    """

    def __init__(self, table: Any, *, with_vectors: bool = True) -> None:
        self._table = table
        self.version = int(table.version)
        usable = with_vectors and "vector" in table.schema.names
        self.dimension = table.schema.field("vector").type.list_size if usable else None

    def count(self) -> int:
        """Return the number of rows. Raises IndexDamaged."""
        try:
            return int(self._table.count_rows())
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error

    def stored(self) -> dict[str, StoredRow]:
        """Return root and content hash of every row, by directory. Raises IndexDamaged."""
        try:
            columns = self._table.search().select(["path", "root", "content_hash"]).limit(None).to_arrow()
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error
        rows = zip(*(columns.column(name).to_pylist() for name in ("path", "root", "content_hash")), strict=True)
        return {path: StoredRow(root, content_hash) for path, root, content_hash in rows}

    def vectors(self, directories: Collection[str]) -> dict[str, Embedded]:
        """Return the vectors of those rows that have one, and the texts they stand for. Raises IndexDamaged."""
        found: dict[str, Embedded] = {}
        try:
            for keys in _chunks(sorted(directories), _KEYS_A_STATEMENT):
                query = self._table.search().where(_among(keys)).select(["path", "embedded_text", "vector"])
                for row in query.limit(len(keys)).to_list():
                    if row["vector"] is not None:
                        found[row["path"]] = Embedded(row["embedded_text"], list(row["vector"]))
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error
        return found

    def search_text(self, query: str, *, limit: int, among: Collection[str]) -> list[Hit]:
        """Return up to `limit` rows of `among` that share words with `query`. Raises IndexDamaged."""
        from lancedb.query import MultiMatchQuery

        # The best field counts, and all alike: measured on real queries, any weight on the name finds less.
        match = MultiMatchQuery(query, list(TEXT_FIELDS))
        return self._collect(lambda: self._table.search(match), "_score", limit=limit, among=among, reason=Reason.TEXT)

    def search_vector(self, vector: Sequence[float], *, limit: int, among: Collection[str]) -> list[Hit]:
        """Return the `limit` rows of `among` nearest to `vector`, scored by cosine. Raises IndexDamaged."""
        return self._collect(
            lambda: self._table.search(list(vector), vector_column_name="vector").distance_type("cosine"),
            "_distance",
            limit=limit,
            among=among,
            reason=Reason.VECTOR,
        )

    def _collect(self, ask: Any, score: str, *, limit: int, among: Collection[str], reason: Reason) -> list[Hit]:
        if not among or limit < 1:
            return []
        inside = len(among) <= _FILTERED_INSIDE
        wanted = limit
        try:
            while True:
                question = ask().select(["path", score]).limit(wanted)
                if inside:
                    question = question.where(_among(sorted(among)), prefilter=True)
                rows = question.to_list()
                kept = [row for row in rows if row["path"] in among]
                if len(kept) >= limit or len(rows) < wanted:
                    break
                wanted *= 4
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error
        return [
            Hit(row["path"], row[score] if reason is Reason.TEXT else max(0.0, 1.0 - row[score]), reason)
            for row in kept[:limit]
        ]


class LanceStore:
    """The database: opens finished versions, and writes new ones for a caller that holds the writer's lock."""

    def __init__(self, db_path: str) -> None:
        self.db_path = db_path
        self._connection: Any = None

    @property
    def exists(self) -> bool:
        """Whether a table's directory is there at all; says nothing of its health and loads nothing."""
        if self.db_path == IN_MEMORY:
            return self._connection is not None
        return os.path.isdir(self._table_directory)

    def open(self, version: int, *, with_vectors: bool = True) -> LanceIndex:
        """Open a version of the table, with its vectors or as if it had none. Raises IndexDamaged."""
        try:
            table = self._connect().open_table(TABLE)
            table.checkout(version)
            return LanceIndex(table, with_vectors=with_vectors)
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error

    def rebuild(self, rows: Iterable[Row], *, dimension: int | None, published: int | None = None) -> int:
        """Write a whole new table as one more version, index it, and return the version. Raises IndexDamaged.

        The version `published` stays readable, for those who read it until the new one is published.
        """
        schema = _schema(dimension)
        try:
            table = self._overwrite(schema, rows)
            self._tidy(table, published, many_rows=True)
            return int(table.version)
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error

    def discard(self) -> None:
        """Remove a table that cannot even be overwritten. Raises IndexDamaged. Nothing is lost: it is derived."""
        try:
            if os.path.isdir(self._table_directory):
                shutil.rmtree(self._table_directory)
            elif os.path.lexists(self._table_directory):
                os.unlink(self._table_directory)
        except OSError as error:
            raise _damaged(error) from error

    def update(self, rows: Iterable[Row], *, gone: Collection[str], dimension: int | None, published: int) -> int:
        """Write changed rows upon the version `published`, remove those in `gone`, and return the last version.

        What a killed writer left behind after that version is undone first. Raises IndexDamaged.
        """
        import pyarrow as pa

        schema = _schema(dimension)
        try:
            table = self._connect().open_table(TABLE)
            if int(table.version) != published:
                table.checkout(published)
                table.restore()
            for batch in _batches(rows, schema):
                merge = table.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
                # A row may have no vector yet, which LanceDB calls bad unless told that null will do.
                merge.execute(pa.Table.from_batches([batch], schema=schema), on_bad_vectors="null")
            for keys in _chunks(sorted(gone), _KEYS_A_STATEMENT):
                table.delete(_among(keys))
            self._tidy(table, published)
            return int(table.version)
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error

    def _connect(self) -> Any:
        if self._connection is None:
            import lancedb

            if self.db_path != IN_MEMORY:
                os.makedirs(self.db_path, exist_ok=True)
            self._connection = lancedb.connect(self.db_path)
        return self._connection

    @property
    def _table_directory(self) -> str:
        return os.path.join(self.db_path, f"{TABLE}.lance")

    def _overwrite(self, schema: Any, rows: Iterable[Row]) -> Any:
        from lancedb.index import FTS, Bitmap, BTree, LabelList

        batches = _batches(rows, schema)
        # LanceDB asks for the first batch in the one thread that also answers searches: it is made before.
        data = itertools.chain([next(batches)], batches)
        table = self._connect().create_table(TABLE, data=data, schema=schema, mode="overwrite")
        for field in TEXT_FIELDS:
            # icu/split finds words in every script without a model; LanceDB's default finds none in Japanese,
            # Chinese and Korean.
            table.create_index(field, config=FTS(base_tokenizer="icu/split"))
        table.create_index("category", config=Bitmap(), name="category_bitmap")
        table.create_index("tags", config=LabelList())
        table.create_index("path", config=BTree())
        return table

    def _tidy(self, table: Any, published: int | None, *, many_rows: bool = False) -> None:
        """Merge new rows into the indexes and remove old versions, where enough of either have gathered.

        The published version and what is younger stay: they are read until the next one is published.
        """
        statistics = table.index_stats(f"{TEXT_FIELDS[0]}_idx")
        if statistics is None:
            raise RuntimeError("the full-text index is missing")
        versions = {version["version"]: version["timestamp"] for version in table.list_versions()}
        many_rows = many_rows or statistics.num_unindexed_rows > _MERGE_AFTER_ROWS
        if not many_rows and len(versions) <= _CLEAN_AFTER_VERSIONS:
            return
        newest = max(versions.values())
        table.optimize(cleanup_older_than=newest - versions.get(published, newest) + _KEPT_VERSIONS)


def _schema(dimension: int | None) -> Any:
    """Seed 002 §4.1's fields, and three of ours: root, content_hash, and with vectors the text they stand for."""
    import pyarrow as pa

    text = pa.string()
    fields = [
        pa.field("path", text, nullable=False),
        pa.field("root", text, nullable=False),
        pa.field("content_hash", text, nullable=False),
        pa.field("name", text, nullable=False),
        pa.field("description", text, nullable=False),
        pa.field("category", text),
        pa.field("tags", pa.list_(text)),
        pa.field("tags_text", text),
        pa.field("instructions", text),
        pa.field("metadata", text),
    ]
    if dimension is not None:
        fields += [pa.field("embedded_text", text), pa.field("vector", pa.list_(pa.float32(), dimension))]
    return pa.schema(fields)


def _batches(rows: Iterable[Row], schema: Any) -> Iterator[Any]:
    """Yield the rows as record batches, so that the bodies of a large library are never all in memory."""
    import pyarrow as pa

    waiting: list[Mapping[str, object]] = []
    yielded = False
    with_vectors = "vector" in schema.names
    for row in rows:
        waiting.append(_values(row, with_vectors=with_vectors))
        if len(waiting) >= _BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(waiting, schema=schema)
            waiting = []
            yielded = True
    if waiting or not yielded:
        # LanceDB wants one batch at least, be it empty.
        yield pa.RecordBatch.from_pylist(waiting, schema=schema)


def _values(row: Row, *, with_vectors: bool) -> dict[str, object]:
    skill = row.skill
    values: dict[str, object] = {
        "path": skill.directory,
        "root": skill.root,
        "content_hash": row.content_hash,
        "name": skill.name,
        "description": skill.description,
        "category": skill.category,
        "tags": list(skill.tags),
        "tags_text": " ".join(skill.tags),
        "instructions": row.instructions,
        "metadata": json.dumps(skill.metadata, ensure_ascii=False, sort_keys=True),
    }
    if with_vectors:
        values |= {
            "embedded_text": skill.searchable_text,
            "vector": None if row.vector is None else list(row.vector),
        }
    return values


def _among(keys: Sequence[str]) -> str:
    quoted = ",".join("'" + key.replace("'", "''") + "'" for key in keys)
    return f"path IN ({quoted})"


def _chunks(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _damaged(error: Exception) -> IndexDamaged:
    lines = str(error).splitlines()
    return IndexDamaged(lines[0] if lines else type(error).__name__)
