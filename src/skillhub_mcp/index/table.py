"""One version of the table, read: candidates by terms and by vector, rows, and what a sync compares."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.index.connection import run
from skillhub_mcp.index.failures import IndexDamaged, damaged
from skillhub_mcp.index.features import SkillTerms, stored_terms
from skillhub_mcp.index.filter import PATHS_PER_STATEMENT, chunks, path_in, quoted
from skillhub_mcp.index.nearness_scale import NearnessScale, nearness_scale
from skillhub_mcp.index.row_block import RowBlock, row_block
from skillhub_mcp.index.schema import EMBEDDING, TABLE_ID, TEXT_FIELDS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector

_COUNTED = ["features", "terms", "name", "description", "tags"]
# As many vectors say how near two skills usually are.
_SAMPLED = 400
# More ids than these in one statement are slower than several statements.
_ROWS_AT_ONCE = 1_000


class TableVersion:
    """A version of the table that never changes. Methods raise IndexDamaged; safe to use from several threads.

    A condition is SQL for LanceDB, such as `roots_condition` returns; it is applied before anything is counted off.
    """

    def __init__(self, table: Any, schema: Any, version: int) -> None:
        self._table = table
        self.schema = schema
        self.version = version
        metadata = schema.metadata or {}
        self.table_id = metadata.get(TABLE_ID, b"").decode()
        self.embedding = metadata.get(EMBEDDING, b"").decode("utf-8", "surrogateescape")
        self.dimension = schema.field("vector").type.list_size if "vector" in schema.names else None

    def find(
        self, terms: Sequence[str], *, most: int, vector: Vector | None, nearest: int, condition: str
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ids of up to `most` rows with one of the terms, and of the `nearest` to a vector; best first."""
        return run(self._find(terms, most, vector, nearest, condition))

    async def _find(
        self, terms: Sequence[str], most: int, vector: Vector | None, nearest: int, condition: str
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        by_terms, by_vector = await asyncio.gather(
            self._by_terms(terms, most, condition), self._by_vector(vector, nearest, condition)
        )
        return by_terms, by_vector

    async def _by_terms(self, terms: Sequence[str], most: int, condition: str) -> NDArray[Any]:
        from lancedb.query import MatchQuery

        # A lone surrogate is no text for LanceDB.
        text = " ".join(terms).encode("utf-8", "replace").decode()
        if not text:
            return _no_ids()
        query = self._table.query().nearest_to_text(MatchQuery(text, "terms")).where(condition)
        return _ids(await query.with_row_id().select(["_rowid", "_score"]).limit(most).to_arrow())

    async def _by_vector(self, vector: Vector | None, nearest: int, condition: str) -> NDArray[Any]:
        import numpy as np

        if vector is None or len(vector) != self.dimension:
            return _no_ids()
        query = self._table.query().nearest_to(np.asarray(vector, dtype=np.float32)).column("vector")
        query = query.distance_type("dot").where(f"{condition} AND vector IS NOT NULL")
        return _ids(await query.with_row_id().select(["_rowid", "_distance"]).limit(nearest).to_arrow())

    def rows(self, ids: NDArray[Any]) -> RowBlock:
        """Return the rows with some ids, in an order of their own; unknown ids are left out."""
        return self._as_block(run(self._take(ids.tolist())))

    async def _take(self, ids: Sequence[int]) -> list[Any]:
        columns = self._block_columns
        return [
            await self._table.take_row_ids(list(some)).with_row_id().select(columns).to_arrow()
            for some in chunks(ids, _ROWS_AT_ONCE)
        ]

    def rows_with(self, keys: Collection[str]) -> RowBlock:
        """Return the rows with some keys, in an order of their own; unknown keys are left out."""
        return self._as_block([run(self._rows_with(keys))])

    async def _rows_with(self, keys: Collection[str]) -> Any:
        query = self._table.query().where(path_in(sorted(keys))).limit(len(keys))
        return await query.with_row_id().select(self._block_columns).to_arrow()

    @property
    def _block_columns(self) -> list[str]:
        return ["_rowid", "path", "features", *(() if self.dimension is None else ("vector",))]

    def _as_block(self, read: Sequence[Any]) -> RowBlock:
        import numpy as np

        ids = np.concatenate([_no_ids(), *map(_ids, read)])
        keys = [key for one in read for key in one.column("path").to_pylist()]
        features = [encoded for one in read for encoded in one.column("features").to_pylist()]
        vectors = np.zeros((len(ids), 0), dtype=np.float32)
        if self.dimension is not None:
            found = [_vectors(one.column("vector"), self.dimension) for one in read]
            vectors = np.concatenate([np.zeros((0, self.dimension), dtype=np.float32), *found])
        try:
            return row_block(ids, keys, features, vectors)
        except ValueError as error:
            raise IndexDamaged(str(error)) from error

    def match_fields(self, words: str, *, limit: int) -> list[str]:
        """Return the keys of up to `limit` rows whose text fields have some of the words, in LanceDB's order."""
        return run(self._match_fields(words, limit))

    async def _match_fields(self, words: str, limit: int) -> list[str]:
        from lancedb.query import MultiMatchQuery

        query = self._table.query().nearest_to_text(MultiMatchQuery(words, list(TEXT_FIELDS)))
        found: list[str] = (await query.select(["path", "_score"]).limit(limit).to_arrow()).column("path").to_pylist()
        return found

    def read(self, columns: Sequence[str], condition: str = "true") -> Any:
        """Return some columns of the rows, as Arrow's table."""
        return run(self._read(condition, list(columns)))

    def rows_of(self, keys: Collection[str], columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows with some keys, as Arrow's tables, with all their columns or some."""
        names = self.schema.names if columns is None else columns
        for some in chunks(sorted(keys), PATHS_PER_STATEMENT):
            yield self.read(names, path_in(some))

    def hashes(self, condition: str) -> dict[str, str]:
        """Return the content hash of each row by key."""
        read = self.read(["path", "content_hash"], condition)
        return dict(zip(read.column("path").to_pylist(), read.column("content_hash").to_pylist(), strict=True))

    def counted(self, keys: Collection[str]) -> Iterator[tuple[str, SkillTerms]]:
        """Yield the key, and what statistics count, of the rows with some keys."""
        for read in self.rows_of(keys, ["path", *_COUNTED]):
            yield from zip(read.column("path").to_pylist(), _counted(read), strict=True)

    def counted_of(self, label: str) -> Iterator[SkillTerms]:
        """Yield what statistics count of all rows of a root."""
        yield from _counted(self.read(_COUNTED, roots_condition([label])))

    def without_vector(self, condition: str) -> list[str]:
        """Return the keys of the rows that have no vector."""
        if self.dimension is not None:
            condition = f"{condition} AND vector IS NULL"
        found: list[str] = run(self._read(condition, ["path"])).column("path").to_pylist()
        return found

    def vectors_of(self, hashes: Iterable[str]) -> dict[str, Sequence[float]]:
        """Return the vectors of embedded texts, by the hash of the text."""
        import numpy as np

        found: dict[str, Sequence[float]] = {}
        if self.dimension is None:
            return found
        for some in chunks(sorted(set(hashes)), PATHS_PER_STATEMENT):
            condition = f"embedded_hash IN ({','.join(map(quoted, some))}) AND vector IS NOT NULL"
            read = run(self._read(condition, ["embedded_hash", "vector"]))
            vectors = _vectors(read.column("vector"), self.dimension)
            if not np.isnan(vectors).any():
                found.update(zip(read.column("embedded_hash").to_pylist(), vectors, strict=True))
        return found

    def nearness_scale(self, condition: str) -> NearnessScale | None:
        """Return what a cosine means with the model that made the vectors; None for too few of them."""
        import numpy as np

        if self.dimension is None:
            return None
        vectors = run(self._sample(condition, self.dimension))
        return nearness_scale(vectors, ~np.isnan(vectors).any(axis=1))

    async def _sample(self, condition: str, dimension: int) -> NDArray[Any]:
        import numpy as np

        query = self._table.query().where(f"{condition} AND vector IS NOT NULL").with_row_id()
        ids = np.sort(_ids(await query.select(["_rowid"]).to_arrow()))
        if not len(ids):
            return np.zeros((0, dimension), dtype=np.float32)
        chosen = ids[np.linspace(0, len(ids) - 1, min(len(ids), _SAMPLED)).astype(np.int64)]
        read = await self._table.take_row_ids(chosen.tolist()).select(["vector"]).to_arrow()
        return _vectors(read.column("vector"), dimension)

    def check(self) -> None:
        """Read every row, and ask the full-text index for a term that one of them has."""
        read = 0
        term = ""
        for encoded in run(self._read("true", ["features", "terms"])).to_batches():
            read += len(encoded)
            term = term or next((text.split(" ")[0] for text in encoded.column("terms").to_pylist() if text), "")
            block = [bytes(one) for one in encoded.column("features").to_pylist()]
            self._check_features(block)
        wanted = run(self._table.count_rows())
        if read != wanted:
            raise IndexDamaged(f"{read:,} of {wanted:,} rows can be read")
        run(self._by_terms([term], 1, "true"))

    def _check_features(self, features: Sequence[bytes]) -> None:
        import numpy as np

        try:
            row_block(np.zeros(len(features)), [""] * len(features), features, np.zeros((len(features), 0)))
        except ValueError as error:
            raise damaged(error) from error

    async def _read(self, condition: str, columns: list[str]) -> Any:
        return await self._table.query().where(condition).select(columns).to_arrow()


def roots_condition(labels: Iterable[str]) -> str:
    """Return the SQL condition that a row is of one of the roots with these labels."""
    own = ",".join(map(quoted, sorted(labels)))
    return f"root IN ({own})" if own else "false"


def _no_ids() -> NDArray[Any]:
    import numpy as np

    return np.zeros(0, dtype=np.uint64)


def _ids(read: Any) -> NDArray[Any]:
    found: NDArray[Any] = read.column("_rowid").to_numpy()
    return found


def _vectors(column: Any, dimension: int) -> NDArray[Any]:
    """Return a column of vectors as an array, with nan for missing ones."""
    import numpy as np

    found = np.full((len(column), dimension), np.nan, dtype=np.float32)
    valid = column.is_valid().to_numpy()
    found[valid] = column.drop_null().combine_chunks().flatten().to_numpy().reshape(-1, dimension)
    return found


def _counted(read: Any) -> Iterator[SkillTerms]:
    for batch in read.to_batches():
        columns = (batch.column(column).to_pylist() for column in _COUNTED)
        for features, terms, name, description, tags in zip(*columns, strict=True):
            yield stored_terms(features, terms, (name, description, *tags))
