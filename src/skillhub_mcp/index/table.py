"""One version of the table, read: candidates by terms and by vector, rows, and what a sync compares."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS, HEADER, SkillTerms, stored_terms
from skillhub_mcp.index.lance import IndexDamaged, blocking, chunks, is_in, run
from skillhub_mcp.index.schema import TABLE_ID, TERMS_INDEX, TEXT_FIELDS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector

_PLACE_BITS = 32


@dataclass(frozen=True)
class RowBlock:
    """Rows by place: their `ids` in LanceDB, `keys`, field `lengths` (rows, fields), and `vectors` (rows, dimension).

    A missing vector is nan. `pairs` are place << 32 | hash of each term of each row, ascending, and `counts` the packed
    counts.
    """

    ids: NDArray[Any]
    keys: tuple[str, ...]
    lengths: NDArray[Any]
    pairs: NDArray[Any]
    counts: NDArray[Any]
    vectors: NDArray[Any]

    def places(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return the place of each id, -1 for one that is not here."""
        import numpy as np

        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        order, sorted_ids = self._by_id
        at = np.minimum(sorted_ids.searchsorted(ids), len(order) - 1)
        return np.where(sorted_ids[at] == ids, order[at], -1)

    def find(self, places: NDArray[Any], hashes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return which of the rows at `places` has which term, ascending by term: three arrays of one length.

        These are the positions in `hashes`, those in `places`, and the packed counts.
        """
        import numpy as np

        if not len(self.pairs):
            return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, "<u4")
        wanted = hashes.astype(np.uint64)[:, None] | places.astype(np.uint64)[None, :] << np.uint64(_PLACE_BITS)
        at = np.minimum(self.pairs.searchsorted(wanted), len(self.pairs) - 1)
        terms, rows = (self.pairs[at] == wanted).nonzero()
        return terms, rows, self.counts[at[terms, rows]]

    def with_rows(self, other: RowBlock) -> RowBlock:
        """Return the block with the rows of another after its own."""
        import numpy as np

        shift = np.uint64(len(self.ids)) << np.uint64(_PLACE_BITS)
        return RowBlock(
            ids=np.concatenate([self.ids, other.ids]),
            keys=self.keys + other.keys,
            lengths=np.concatenate([self.lengths, other.lengths]),
            pairs=np.concatenate([self.pairs, other.pairs + shift]),
            counts=np.concatenate([self.counts, other.counts]),
            vectors=np.concatenate([self.vectors, other.vectors]),
        )

    @cached_property
    def _by_id(self) -> tuple[NDArray[Any], NDArray[Any]]:
        order = self.ids.argsort()
        return order, self.ids[order]


def row_block(ids: NDArray[Any], keys: Sequence[str], features: Sequence[bytes], vectors: NDArray[Any]) -> RowBlock:
    """Return rows as a block. `features` are encoded as in `index.features`. Raises IndexDamaged."""
    import numpy as np

    numbers = np.frombuffer(b"".join(features), dtype="<u4")
    sizes = np.fromiter(map(len, features), dtype=np.int64, count=len(features)) // numbers.itemsize
    if (sizes < HEADER).any():
        raise IndexDamaged("a row's features are damaged")
    begins = np.cumsum(sizes) - sizes
    terms = numbers[begins + len(FIELDS)].astype(np.int64)
    if (HEADER + 2 * terms != sizes).any():
        raise IndexDamaged("a row's features are damaged")
    owners = np.repeat(np.arange(len(sizes)), terms)
    at = np.arange(int(terms.sum())) - np.repeat(np.cumsum(terms) - terms, terms) + begins[owners] + HEADER
    return RowBlock(
        ids=np.asarray(ids),
        keys=tuple(keys),
        lengths=numbers[begins[:, None] + np.arange(len(FIELDS))],
        pairs=owners.astype(np.uint64) << np.uint64(_PLACE_BITS) | numbers[at],
        counts=numbers[at + terms[owners]],
        vectors=vectors,
    )


def empty_block(dimension: int | None) -> RowBlock:
    """Return a block without rows, for vectors of that length."""
    import numpy as np

    return row_block(np.zeros(0, np.uint64), (), (), np.zeros((0, dimension or 0), np.float32))


_COUNTED = ["features", "terms", "name", "description", "tags"]
# Each with each, these are 80,000 pairs: the quantiles of another sample of vectors differ by less than 0.01.
_SAMPLED = 400


class TableVersion:
    """A version of the table that never changes. Methods raise IndexDamaged; safe to use from several threads.

    A condition is SQL for LanceDB, such as `is_in` returns; it is applied before anything is counted off.
    """

    def __init__(self, table: Any, schema: Any, version: int) -> None:
        self._table = table
        self.schema = schema
        self.version = version
        self.table_id = (schema.metadata or {}).get(TABLE_ID, b"").decode()
        self.dimension = schema.field("vector").type.list_size if "vector" in schema.names else None

    @blocking
    async def find(
        self, terms: Sequence[str], *, most: int, vector: Vector | None, nearest: int, named: Sequence[str], where: str
    ) -> Sequence[NDArray[Any]]:
        """Return the ids of up to `most` rows with one of the terms, of the `nearest` to a vector, and of keys.

        The best are first; `where` is a condition for the first two.
        """
        return await asyncio.gather(
            self._by_terms(terms, most, where), self._by_vector(vector, nearest, where), self._by_keys(named)
        )

    async def _by_terms(self, terms: Sequence[str], most: int, condition: str) -> NDArray[Any]:
        from lancedb.query import MatchQuery

        # A lone surrogate is no text for LanceDB.
        text = " ".join(terms).encode("utf-8", "replace").decode()
        if not text:
            return _no_ids()
        query = self._table.query().nearest_to_text(MatchQuery(text, "terms")).where(condition)
        return await _ids(query.limit(most), "_score")

    async def _by_vector(self, vector: Vector | None, nearest: int, condition: str) -> NDArray[Any]:
        import numpy as np

        if vector is None or len(vector) != self.dimension:
            return _no_ids()
        query = self._table.query().nearest_to(np.asarray(vector, dtype=np.float32)).column("vector")
        query = query.distance_type("dot").where(f"{condition} AND vector IS NOT NULL")
        return await _ids(query.limit(nearest), "_distance")

    async def _by_keys(self, keys: Sequence[str]) -> NDArray[Any]:
        return await _ids(self._table.query().where(is_in("path", keys))) if keys else _no_ids()

    @blocking
    async def rows(self, ids: NDArray[Any]) -> RowBlock:
        """Return the rows with some ids, in an order of their own; unknown ids are left out."""
        import numpy as np

        columns = ["_rowid", "path", "features", *(() if self.dimension is None else ("vector",))]
        read = await self._table.take_row_ids(ids.tolist()).with_row_id().select(columns).to_arrow()
        vectors = np.zeros((len(read), 0), dtype=np.float32)
        if self.dimension is not None:
            vectors = _vectors(read.column("vector"), self.dimension)
        return row_block(
            read.column("_rowid").to_numpy(),
            read.column("path").to_pylist(),
            read.column("features").to_pylist(),
            vectors,
        )

    @blocking
    async def unmerged(self) -> int:
        """Return how many rows are not in the full-text index yet."""
        stats = await self._table.index_stats(TERMS_INDEX)
        if stats is None:
            raise IndexDamaged("the full-text index is missing")
        return int(stats.num_unindexed_rows)

    @blocking
    async def match_fields(self, words: str, *, limit: int) -> list[str]:
        """Return the keys of up to `limit` rows whose text fields have some of the words, in LanceDB's order."""
        from lancedb.query import MultiMatchQuery

        query = self._table.query().nearest_to_text(MultiMatchQuery(words, list(TEXT_FIELDS)))
        found: list[str] = (await query.select(["path", "_score"]).limit(limit).to_arrow()).column("path").to_pylist()
        return found

    @blocking
    async def read(self, columns: Sequence[str], condition: str = "true") -> Any:
        """Return some columns of the rows, as Arrow's table."""
        return await self._table.query().where(condition).select(list(columns)).to_arrow()

    def rows_of(self, keys: Collection[str], columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows with some keys, as Arrow's tables, with all their columns or some."""
        names = self.schema.names if columns is None else columns
        for some in chunks(sorted(keys)):
            yield self.read(names, is_in("path", some))

    def hashes(self) -> dict[str, str]:
        """Return the content hash of each row by key."""
        read = self.read(["path", "content_hash"])
        return dict(zip(read.column("path").to_pylist(), read.column("content_hash").to_pylist(), strict=True))

    def counted(self, keys: Collection[str]) -> Iterator[tuple[str, SkillTerms]]:
        """Yield the key, and what statistics count, of the rows with some keys."""
        for read in self.rows_of(keys, ["path", *_COUNTED]):
            yield from zip(read.column("path").to_pylist(), _counted(read), strict=True)

    def counted_of(self, label: str) -> Iterator[SkillTerms]:
        """Yield what statistics count of all rows of a root."""
        yield from _counted(self.read(_COUNTED, is_in("root", [label])))

    def without_vector(self, condition: str) -> list[str]:
        """Return the keys of the rows that have no vector."""
        if self.dimension is not None:
            condition = f"{condition} AND vector IS NULL"
        found: list[str] = self.read(["path"], condition).column("path").to_pylist()
        return found

    def vectors_of(self, hashes: Iterable[str]) -> dict[str, Sequence[float]]:
        """Return the vectors of embedded texts, by the hash of the text."""
        found: dict[str, Sequence[float]] = {}
        if self.dimension is None:
            return found
        for some in chunks(sorted(set(hashes))):
            condition = is_in("embedded_hash", some)
            read = self.read(["embedded_hash", "vector"], f"{condition} AND vector IS NOT NULL")
            vectors = _vectors(read.column("vector"), self.dimension)
            found.update(zip(read.column("embedded_hash").to_pylist(), vectors, strict=True))
        return found

    @blocking
    async def sample(self, condition: str) -> NDArray[Any]:
        """Return some hundreds of the vectors, evenly spread: shape (rows, dimension)."""
        import numpy as np

        dimension = self.dimension or 0
        if not dimension:
            return np.zeros((0, 0), dtype=np.float32)
        ids = np.sort(await _ids(self._table.query().where(f"{condition} AND vector IS NOT NULL")))
        if not len(ids):
            return np.zeros((0, dimension), dtype=np.float32)
        chosen = ids[np.linspace(0, len(ids) - 1, min(len(ids), _SAMPLED)).astype(np.int64)]
        read = await self._table.take_row_ids(chosen.tolist()).select(["vector"]).to_arrow()
        return _vectors(read.column("vector"), dimension)

    def check(self) -> None:
        """Read every row, and ask the full-text index for a term that one of them has."""
        terms = [next(iter(one.terms), "") for one in _counted(self.read(_COUNTED))]
        run(self._by_terms(terms[:1], 1, "true"))


def _no_ids() -> NDArray[Any]:
    import numpy as np

    return np.zeros(0, dtype=np.uint64)


async def _ids(query: Any, *columns: str) -> NDArray[Any]:
    found: NDArray[Any] = (
        (await query.with_row_id().select(["_rowid", *columns]).to_arrow()).column("_rowid").to_numpy()
    )
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
