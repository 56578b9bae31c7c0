"""LanceDB, reading: the rows of one complete version of the table.

1. Readers open a version number, never "latest"; `index.lance_store` writes versions.
2. LanceDB raises RuntimeError, OSError and ValueError for a damaged table. Here they become `IndexDamaged`, and the
   caller rebuilds.
3. What a search reads (`skill_index`) is derived from these rows. LanceDB's own full-text search is for programs that
   read the table, and for comparing with.

Only this module and `lance_store` use LanceDB.
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

from skillhub_mcp.analysis.analyzer import tokens
from skillhub_mcp.index.features import SkillFeatures, decode_features, short_words
from skillhub_mcp.index.filter import path_in, quoted
from skillhub_mcp.index.rows import StoredVector

T = TypeVar("T")

TEXT_FIELDS = ("name", "description", "tags_text", "category")
COUNTED_COLUMNS = ["features", "name", "description", "tags"]
# In the metadata of a table's schema: the random id that the table got when it was created, and the identity of the
# embeddings that its vectors are, by which they are known where the state file is lost.
TABLE_ID = b"skillhub.table_id"
EMBEDDING = b"skillhub.embedding"
PATHS_PER_STATEMENT = 500
LANCE_FAILURES = (RuntimeError, OSError, ValueError)

_CHECKED_WORDS = 8

# A full disk, a quota, and a limit of the process: nothing that a new table would mend.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# How LanceDB's messages name an error of the operating system.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")

# LanceDB reads these when it is imported. Its warnings go to stderr, where "no table yet" would mislead.
os.environ.setdefault("LANCEDB_LOG", "error")
# What it reads ahead is 2 GB by itself: merging 100,000 skills took 460 MB of memory, and takes 120 MB so, in the same
# time.
os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(16 << 20))
os.environ.setdefault("LANCE_DEFAULT_BATCH_SIZE", "512")


class IndexDamaged(Exception):
    """The table cannot be opened, read or written; the message is the first line of LanceDB's own."""


class NoRoom(IndexDamaged):
    """The table cannot be written because it may not grow. What it held can still be read."""


class LanceIndex:
    """One complete version of the table. `dimension` is the length of its vectors, None where there are none to read.

    Methods raise IndexDamaged.
    """

    def __init__(self, table: Any, *, with_vectors: bool = True) -> None:
        self._table = table
        self.version = int(table.version)
        self.table_id = table_id(table)
        self.embedding = embedding_of(table)
        usable = with_vectors and "vector" in table.schema.names
        self.dimension = table.schema.field("vector").type.list_size if usable else None

    @property
    def schema(self) -> Any:
        """Arrow's schema of the rows."""
        return self._table.schema

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
                self._table.search().where(condition).select(["path"]).limit(1).to_arrow()
            for field in TEXT_FIELDS:
                words = (some[field] or "").split()[:_CHECKED_WORDS] or ["a"]
                match = MatchQuery(" ".join(words), field)
                self._table.search(match).select(["path", "_score"]).limit(1).to_arrow()
        except (*LANCE_FAILURES, LookupError, struct.error) as error:
            raise damaged(error) from error

    def stored(self, among: Collection[str] | None = None) -> dict[str, str]:
        """Return the content hash of every row, or of those with some keys, by key. Raises IndexDamaged."""
        names = ["path", "content_hash"]
        found: dict[str, str] = {}
        conditions = [None] if among is None else map(path_in, chunks(sorted(among), PATHS_PER_STATEMENT))
        try:
            for condition in conditions:
                query = self._table.search().select(names).limit(None)
                columns = (query if condition is None else query.where(condition)).to_arrow()
                found.update(zip(*(columns.column(name).to_pylist() for name in names), strict=True))
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return found

    def vectors(self, among: Collection[str] | None = None) -> dict[str, StoredVector]:
        """Return the vectors of all rows, or of those with some keys, and the embedded texts, by key.

        Rows without a vector are left out. Raises IndexDamaged.
        """
        found: dict[str, StoredVector] = {}
        if self.dimension is None:
            return found
        conditions = [None] if among is None else map(path_in, chunks(sorted(among), PATHS_PER_STATEMENT))
        try:
            for condition in conditions:
                query = self._table.search().select(["path", "embedded_text", "vector"]).limit(None)
                read = (query if condition is None else query.where(condition)).to_arrow()
                if len(read):
                    paths, texts = (read.column(name).to_pylist() for name in ("path", "embedded_text"))
                    for path, text, vector in zip(
                        paths, texts, _vectors(read.column("vector").combine_chunks()), strict=True
                    ):
                        if vector is not None:
                            found[path] = StoredVector(text, vector)
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return found

    def unembedded(self) -> frozenset[str]:
        """Return the keys of rows whose present text was not embedded; some have a vector, of an earlier text or model.

        Raises IndexDamaged.
        """
        query = self._table.search().select(["path"])
        if self.dimension is not None:
            query = query.where("embedded_text IS NULL OR vector IS NULL")
        try:
            return frozenset(query.limit(None).to_arrow().column("path").to_pylist())
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def each_row(self) -> Iterator[tuple[str, SkillFeatures, Any]]:
        """Yield key, features and vector of each row, None for one without a vector. Raises IndexDamaged."""
        columns = ["path", "features"] if self.dimension is None else ["path", "features", "vector"]
        try:
            for batch in self._table.search().select(columns).limit(None).to_batches():
                paths, encoded = (batch.column(name).to_pylist() for name in ("path", "features"))
                vectors = [None] * len(paths) if self.dimension is None else _vectors(batch.column("vector"))
                yield from zip(paths, map(decode_features, encoded), vectors, strict=True)
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def record_batches(self, keys: Collection[str] | None = None) -> Iterator[Any]:
        """Yield all columns of all rows, or of those with some keys, as Arrow's batches. Raises IndexDamaged."""
        try:
            if keys is None:
                yield from self._table.search().limit(None).to_batches()
                return
            for some in chunks(sorted(keys), PATHS_PER_STATEMENT):
                yield from self._table.search().where(path_in(some)).limit(len(some)).to_batches()
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def match_fields(self, query: str, *, limit: int) -> list[str]:
        """Return the keys of up to `limit` rows whose text fields have words of the query, in LanceDB's order.

        Raises IndexDamaged.
        """
        from lancedb.query import MultiMatchQuery

        match = MultiMatchQuery(" ".join(tokens(query)), list(TEXT_FIELDS))
        try:
            read = self._table.search(match).select(["path", "_score"]).limit(limit).to_arrow()
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        found: list[str] = read.column("path").to_pylist()
        return found

    def features(self, among: Collection[str]) -> dict[str, tuple[bytes, frozenset[str]]]:
        """Return the encoded features and the words of the rows with some keys, by key. Raises IndexDamaged."""
        found: dict[str, tuple[bytes, frozenset[str]]] = {}
        try:
            for keys in chunks(sorted(among), PATHS_PER_STATEMENT):
                query = self._table.search().where(path_in(keys))
                for row in query.select(["path", *COUNTED_COLUMNS]).limit(len(keys)).to_list():
                    texts = (row["name"], row["description"], *row["tags"])
                    found[row["path"]] = (row["features"], short_words(texts))
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        return found


def _vectors(column: Any) -> list[Any]:
    """Return the vectors of a column as arrays; None for missing ones."""
    # The flattened column has no gaps for missing vectors.
    values = iter(column.flatten().to_numpy().reshape(-1, column.type.list_size))
    return [next(values) if valid else None for valid in column.is_valid().to_pylist()]


def table_id(table: Any) -> str:
    """Return the id of a table, "" for one that was created before tables had one."""
    return bytes((table.schema.metadata or {}).get(TABLE_ID, b"")).decode()


def embedding_of(table: Any) -> str | None:
    """Return the identity of the embeddings that a table's vectors are; None where the table does not say it."""
    found = (table.schema.metadata or {}).get(EMBEDDING)
    return None if found is None else bytes(found).decode("utf-8", "surrogateescape")


def chunks(keys: Sequence[T], size: int) -> Iterator[Sequence[T]]:
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
