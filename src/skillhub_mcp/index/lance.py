"""LanceDB, reading: one complete version of the table, and the candidates that it returns.

1. Readers open a version number, never "latest"; `index.lance_store` writes versions.
2. LanceDB raises RuntimeError, OSError and ValueError for a damaged table. Here they become `IndexDamaged`, and the
   caller rebuilds.
3. Candidates by text come from LanceDB's full-text index over the analysed terms of every field; `nearest` returns
   those whose vectors are near. `search.scoring` scores them, from the features of the same rows and the statistics of
   their version. A small library is searched in memory instead (`held_index`), from the rows read here.

Only this module and `lance_store` use LanceDB and Arrow.
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from skillhub_mcp.analysis.analyzer import tokens
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.index.candidate import Candidate
from skillhub_mcp.index.features import SkillFeatures, Terms, decode_features, short_words, stack_terms
from skillhub_mcp.index.filter import NO_FILTER, Filter, path_in, quoted
from skillhub_mcp.index.held_rows import HeldRows
from skillhub_mcp.index.rows import StoredRow, StoredVector
from skillhub_mcp.index.statistics import Statistics

TEXT_FIELDS = ("name", "description", "tags_text", "category")
TERMS = "terms"
COUNTED_COLUMNS = ["features", "name", "description", "tags"]
# In the metadata of a table's schema: the random id that the table got when it was created.
TABLE_ID = b"skillhub.table_id"
PATHS_PER_STATEMENT = 500
LANCE_FAILURES = (RuntimeError, OSError, ValueError)

# Up to this many paths, a filter inside LanceDB is faster than fetching more hits and dropping some.
_FILTERED_INSIDE = 1_000
_SPARE = 8
_CHECKED_WORDS = 8
# About 3 KB each.
_CACHED_ROWS = 20_000

# A full disk, a quota, and a limit of the process: nothing that a new table would mend.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# How LanceDB's messages name an error of the operating system.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")

# LanceDB reads this when it is imported. Its warnings go to stderr, where "no table yet" would mislead.
os.environ.setdefault("LANCEDB_LOG", "error")


class IndexDamaged(Exception):
    """The table cannot be opened, read or written; the message is the first line of LanceDB's own."""


class NoRoom(IndexDamaged):
    """The table cannot be written because it may not grow. What it held can still be read."""


@dataclass(frozen=True, slots=True)
class _CachedRow:
    """A row in memory: its key, its features, and its vector where there is one."""

    directory: str
    features: SkillFeatures
    vector: Any


class LanceIndex:
    """A `SkillIndex` over one complete version of the table."""

    def __init__(self, table: Any, statistics: Statistics, *, with_vectors: bool = True) -> None:
        self._table = table
        self.version = int(table.version)
        self.table_id = table_id(table)
        usable = with_vectors and "vector" in table.schema.names
        self.dimension = table.schema.field("vector").type.list_size if usable else None
        self.statistics = statistics
        self.speller = Speller(statistics.words)
        self._row_cache: dict[int, _CachedRow] = {}

    @property
    def table(self) -> LanceIndex:
        """The index itself."""
        return self

    def count(self) -> int:
        """Return the number of rows. Raises IndexDamaged."""
        try:
            return int(self._table.count_rows())
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def check(self) -> None:
        """Read every row, and ask each index for what one of the rows has. Raises IndexDamaged."""
        from lancedb.query import MatchQuery

        try:
            wanted, read = int(self._table.count_rows()), 0
            some: dict[str, Any] | None = None
            for batch in self._table.search().limit(None).to_batches():
                read += len(batch)
                for encoded in batch.column("features").to_pylist():
                    decode_features(encoded)
                some = some or next((row for row in batch.slice(0, 1).to_pylist()), None)
            if read != wanted:
                raise IndexDamaged(f"{read:,} of {wanted:,} rows can be read")
            if some is None:
                return
            conditions = [path_in([some["path"]]), f"category = {quoted(some['category'] or '')}"]
            conditions += [f"array_has(tags, {quoted(tag)})" for tag in (some["tags"] or [""])[:1]]
            for condition in conditions:
                self._row_ids(lambda query: query, "path", 1, condition)
            for field in (TERMS, *TEXT_FIELDS):
                words = (some[field] or "").split()[:_CHECKED_WORDS] or ["a"]
                match = MatchQuery(" ".join(words), field)
                self._row_ids(partial(_matching, match), "_score", 1, "")
        except (*LANCE_FAILURES, LookupError, struct.error) as error:
            raise damaged(error) from error

    def stored(self) -> dict[str, StoredRow]:
        """Return root and content hash of every row, by directory. Raises IndexDamaged."""
        try:
            columns = self._table.search().select(["path", "root", "content_hash"]).limit(None).to_arrow()
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        rows = zip(*(columns.column(name).to_pylist() for name in ("path", "root", "content_hash")), strict=True)
        return {path: StoredRow(root, content_hash) for path, root, content_hash in rows}

    def vectors(self, directories: Collection[str]) -> dict[str, StoredVector]:
        """Return the vectors of those rows that have one, and the embedded texts. Raises IndexDamaged."""
        found: dict[str, StoredVector] = {}
        if self.dimension is None:
            return found
        try:
            for keys in chunks(sorted(directories), PATHS_PER_STATEMENT):
                query = self._table.search().where(path_in(keys)).select(["path", "embedded_text", "vector"])
                read = query.limit(len(keys)).to_arrow()
                if len(read):
                    paths, texts = (read.column(name).to_pylist() for name in ("path", "embedded_text"))
                    for path, text, vector in zip(paths, texts, _vectors(read.column("vector")), strict=True):
                        if vector is not None:
                            found[path] = StoredVector(text, vector)
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return found

    def unembedded(self) -> frozenset[str]:
        """Return the rows whose present text was not embedded; some have a vector, of an earlier text or model.

        Raises IndexDamaged.
        """
        query = self._table.search().select(["path"])
        if self.dimension is not None:
            query = query.where("embedded_text IS NULL OR vector IS NULL")
        try:
            return frozenset(query.limit(None).to_arrow().column("path").to_pylist())
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    @cached_property
    def lacks_vectors(self) -> bool:
        """Whether some rows have no vector. Raises IndexDamaged."""
        if self.dimension is None:
            return True
        try:
            return bool(self._table.count_rows("vector IS NULL"))
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def match_terms(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        among: frozenset[str],
        vector: Vector | None = None,
        where: Filter = NO_FILTER,
    ) -> list[Candidate]:
        """Return up to `limit` rows of `among` that have any of the analysed `terms`, by plain BM25.

        With a `vector`, each candidate has the cosine of its own vector to it. Raises IndexDamaged.
        """
        from lancedb.query import MatchQuery

        match = MatchQuery(" ".join(terms), TERMS)
        return self._collect(lambda query: query.nearest_to_text(match), "_score", limit, among, vector, where)

    def terms_of(self, candidates: Sequence[Candidate]) -> Terms:
        """Return the terms of rows of this table, for scoring."""
        return stack_terms([one.features for one in candidates])

    def rows(self) -> HeldRows:
        """Return all rows, for a search in memory. Raises IndexDamaged."""
        import numpy as np

        try:
            rows = self._read(None).values()
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        embedded = np.array([row.vector is not None for row in rows], dtype=bool)
        vectors = None
        if self.dimension is not None:
            vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
            if embedded.any():
                vectors[embedded] = np.stack([row.vector for row in rows if row.vector is not None])
        return HeldRows([row.directory for row in rows], [row.features for row in rows], vectors, embedded)

    def each_row(self) -> Iterator[tuple[str, SkillFeatures, Any]]:
        """Yield directory, features and vector of each row, None for one without a vector. Raises IndexDamaged."""
        columns = ["path", "features"] if self.dimension is None else ["path", "features", "vector"]
        try:
            for batch in self._table.search().select(columns).limit(None).to_batches():
                paths, encoded = (batch.column(name).to_pylist() for name in ("path", "features"))
                vectors = [None] * len(paths) if self.dimension is None else _vectors(batch.column("vector"))
                yield from zip(paths, map(decode_features, encoded), vectors, strict=True)
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def match_fields(self, query: str, *, limit: int, among: frozenset[str]) -> list[Candidate]:
        """Return up to `limit` rows of `among` whose text fields have words of the query, in LanceDB's own order.

        Raises IndexDamaged.
        """
        from lancedb.query import MultiMatchQuery

        match = MultiMatchQuery(" ".join(tokens(query)), list(TEXT_FIELDS))
        return self._collect(lambda query: query.nearest_to_text(match), "_score", limit, among, None, NO_FILTER)

    def get_rows(self, directories: Collection[str], vector: Vector | None = None) -> list[Candidate]:
        """Return the rows of those directories, whether or not they match a query. Raises IndexDamaged."""
        if not directories:
            return []
        keys = frozenset(directories)
        condition = path_in(sorted(keys))
        try:
            row_ids = self._row_ids(lambda query: query, "path", len(keys), condition)
            rows = self._rows(row_ids)
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return self._candidates(rows, vector)

    def nearest_rows(
        self, vector: Vector, *, limit: int, among: frozenset[str], where: Filter = NO_FILTER
    ) -> list[Candidate]:
        """Return the `limit` rows of `among` nearest to `vector` by cosine. Raises IndexDamaged."""
        if self.dimension != len(vector):
            return []
        return self._collect(
            lambda query: query.nearest_to(list(vector)).column("vector").distance_type("cosine"),
            "_distance",
            limit,
            among,
            vector,
            where,
        )

    def features(self, directories: Collection[str]) -> dict[str, tuple[bytes, frozenset[str]]]:
        """Return the encoded features and the words of those rows. Raises IndexDamaged."""
        found: dict[str, tuple[bytes, frozenset[str]]] = {}
        try:
            for keys in chunks(sorted(directories), PATHS_PER_STATEMENT):
                query = self._table.search().where(path_in(keys))
                for row in query.select(["path", *COUNTED_COLUMNS]).limit(len(keys)).to_list():
                    texts = (row["name"], row["description"], *row["tags"])
                    found[row["path"]] = (row["features"], short_words(texts))
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return found

    def _collect(
        self,
        ask: Callable[[Any], Any],
        score: str,
        limit: int,
        among: frozenset[str],
        vector: Vector | None,
        where: Filter,
    ) -> list[Candidate]:
        if not among or limit < 1:
            return []
        # A filter by path is fast for a few of many rows, and slower than none where nearly all rows pass.
        inside = len(among) <= _FILTERED_INSIDE and 2 * len(among) < self.statistics.skills
        wanted = limit
        if not inside and len(among) < self.statistics.skills:
            # Unwanted rows take up part of the limit: about as many more are fetched at once.
            wanted += _SPARE + limit * (self.statistics.skills - len(among)) // self.statistics.skills
        condition = path_in(sorted(among)) if inside else where.condition
        try:
            while True:
                rows = self._rows(self._row_ids(ask, score, wanted, condition))
                kept = [row for row in rows if row.directory in among][:limit]
                if len(kept) >= limit or len(rows) < wanted:
                    break
                wanted *= 4
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return self._candidates(kept, vector)

    def _row_ids(self, ask: Callable[[Any], Any], column: str, limit: int, condition: str) -> list[int]:
        """Return the row ids that a query finds, best first.

        LanceDB's synchronous query builder calls its own thread five times for one query: this calls it once.
        """
        from lancedb.background_loop import LOOP

        query = ask(self._table._table.query()).select([column]).with_row_id().limit(limit)  # noqa: SLF001 - see above
        if condition:
            query = query.where(condition)
        found: list[int] = LOOP.run(query.to_arrow()).column("_rowid").to_pylist()
        return found

    def _candidates(self, rows: Sequence[_CachedRow], vector: Vector | None) -> list[Candidate]:
        if vector is None or self.dimension != len(vector):
            return [Candidate(row.directory, row.features) for row in rows]
        cosines = _cosines([row.vector for row in rows], vector)
        return [Candidate(row.directory, row.features, nearness) for row, nearness in zip(rows, cosines, strict=True)]

    def _rows(self, row_ids: Sequence[int]) -> list[_CachedRow]:
        """Return the rows of those ids. Finding rows is fast, reading them is not: they are cached.

        The cache is a plain dict, shared by threads without a lock, which an LRU cache would need on every query.
        """
        cached = self._row_cache
        missing = [row_id for row_id in row_ids if row_id not in cached]
        if missing:
            read = self._read(missing)
            if len(cached) > _CACHED_ROWS:
                # A new dict, as another thread may be about to read rows from the old one.
                self._row_cache = cached = {row_id: cached[row_id] for row_id in row_ids if row_id in cached}
            cached.update(read)
        return [cached[row_id] for row_id in row_ids]

    def _read(self, row_ids: Sequence[int] | None) -> dict[int, _CachedRow]:
        """Return the rows of those ids, or all rows."""
        columns = ["path", "features"] if self.dimension is None else ["path", "features", "vector"]
        if row_ids is None:
            read = self._table.search().select(columns).with_row_id(True).limit(None).to_arrow()
        else:
            read = self._table.take_row_ids(row_ids).select(columns).with_row_id().to_arrow()
        vectors = [None] * len(read) if self.dimension is None else _vectors(read.column("vector"))
        ids_read, paths, encoded = (read.column(name).to_pylist() for name in ("_rowid", "path", "features"))
        return dict(zip(ids_read, map(_CachedRow, paths, map(decode_features, encoded), vectors), strict=True))


def _matching(match: Any, query: Any) -> Any:
    return query.nearest_to_text(match)


def _vectors(column: Any) -> list[Any]:
    """Return the vectors of a column as arrays; None for missing ones."""
    own = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    # The flattened column has no gaps for missing vectors.
    values = iter(own.flatten().to_numpy().reshape(-1, own.type.list_size))
    return [next(values) if valid else None for valid in own.is_valid().to_pylist()]


def _cosines(vectors: Sequence[Any], vector: Vector) -> list[float | None]:
    """Return the cosine of each vector to `vector`, all of length 1; None for missing ones."""
    import numpy as np

    present = [own for own in vectors if own is not None]
    if not present:
        return [None] * len(vectors)
    cosines = iter((np.stack(present) @ np.array(vector, dtype=np.float32)).tolist())
    return [None if own is None else next(cosines) for own in vectors]


def table_id(table: Any) -> str:
    """Return the id of a table, "" for one that was created before tables had one."""
    return bytes((table.schema.metadata or {}).get(TABLE_ID, b"")).decode()


def chunks(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the keys in chunks of at most `size`."""
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def damaged(error: Exception) -> IndexDamaged:
    """Return the IndexDamaged for an error of LanceDB or of the file system."""
    if isinstance(error, FileExistsError | NotADirectoryError) and isinstance(error.filename, str):
        return IndexDamaged(f"{_file_above(error.filename)} is a file, not a directory")
    found = _OS_ERROR.search(str(error))
    number = int(found[1]) if found else getattr(error, "errno", None)
    if number in _NO_ROOM:
        return NoRoom(os.strerror(number))
    if isinstance(error, OSError) and error.strerror:
        return IndexDamaged(error.strerror)
    lines = str(error).splitlines()
    return IndexDamaged(lines[0] if lines else type(error).__name__)


def _file_above(path: str) -> str:
    """Return the first path from `path` up that exists: what is there instead of a directory."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path
