"""How is the index kept and asked? LanceDB, and nothing else in the program knows it.

The rules of this module:
1. A version of the table is built whole before anyone is told its number; readers open a number, never "latest".
2. The table is never dropped under a reader: a rebuild overwrites it, which is one more version.
3. Writers hold the lock of `search.indexing`; LanceDB has no unique keys, so two writers could make one row two.
4. LanceDB raises RuntimeError, OSError and ValueError for a damaged or unwritable table: they become
   `IndexDamaged` here, and the caller rebuilds.
5. Candidates come from LanceDB's full text over the analysed terms of every field, or for a small library from the
   `postings` that are made of its rows; how well each fits is computed elsewhere, from the features of the same rows
   and from statistics in a file for each version of the table.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skillhub_mcp.analysis.analyzer import tokens
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.index.candidate import Candidate
from skillhub_mcp.index.features import (
    EncodedFeatures,
    SkillFeatures,
    Terms,
    decode_features,
    encode_features,
    short_words,
    stack_terms,
)
from skillhub_mcp.index.postings import Postings
from skillhub_mcp.index.statistics import Statistics, Tally, load_statistics, save_statistics
from skillhub_mcp.skills.model import Skill

TABLE = "skills"
SCHEMA_VERSION = 2
IN_MEMORY = "memory://"
TEXT_FIELDS = ("name", "description", "tags_text", "category")
TERMS = "terms"

_BATCH_ROWS = 1_000
# Up to this many keys a filter inside LanceDB is faster than asking for more hits and dropping some.
_FILTERED_INSIDE = 1_000
_KEYS_A_STATEMENT = 500
_SPARE = 8
# About 3 KB each.
_REMEMBERED_ROWS = 20_000
# A library of so many skills is held in memory and asked there, for words: some 4 KB a skill, besides its row.
_HELD_ROWS = 5_000
# Rows not yet in the full-text index are found by a scan: cheap for a few, so merging waits until there are more.
_MERGE_AFTER_ROWS = 200
_CLEAN_AFTER_VERSIONS = 50
_KEPT_VERSIONS = dt.timedelta(minutes=10)
_LANCE_FAILURES = (RuntimeError, OSError, ValueError)
_COUNTED = ["features", "name", "description", "tags"]
_STATISTICS_FILE = re.compile(r"statistics-(\d+)\.npz")


# Read when LanceDB is first imported. Its own warnings go to stderr: "no table yet" is no news to anyone here.
os.environ.setdefault("LANCEDB_LOG", "error")


class IndexDamaged(Exception):
    """The table cannot be opened, read or written; the message is LanceDB's own first line."""


@dataclass(frozen=True)
class IndexRow:
    """One row of the table: a skill, its body, and its embedding where there is one."""

    skill: Skill
    content_hash: str
    instructions: str
    vector: Vector | None

    @cached_property
    def features(self) -> EncodedFeatures:
        """What ranking looks at."""
        return encode_features(self.skill, self.instructions)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a search is narrowed to: a category, and tags which a skill must all have, in lower case."""

    category: str | None = None
    tags: tuple[str, ...] = ()

    @classmethod
    def to(cls, category: str | None, tags: Iterable[str]) -> Filter:
        """Return a narrowing to what a caller wrote, in any case; empty words narrow nothing."""
        own = _folded(category or "")
        return cls(own or None, tuple(dict.fromkeys(word for tag in tags if (word := _folded(tag)))))

    def __bool__(self) -> bool:
        return self.category is not None or bool(self.tags)

    def takes(self, skill: Skill) -> bool:
        """Whether `skill` is left."""
        if self.category is not None and _folded(skill.category or "") != self.category:
            return False
        return set(self.tags) <= {_folded(tag) for tag in skill.tags}

    @property
    def condition(self) -> str:
        """The same for the index, which then looks at few other rows; what may be stored in two ways is left out."""
        parts = (
            [f"category = {_quoted(self.category)}"] if self.category is not None and self.category.isascii() else []
        )
        parts += [f"array_has(tags, {_quoted(tag)})" for tag in self.tags if tag.isascii()]
        return " AND ".join(parts)


NO_FILTER = Filter()


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


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of a row: its key, its features, and its vector where there is one."""

    directory: str
    features: SkillFeatures
    vector: Any


class LanceIndex:
    """One finished version of the table, for asking. Safe to use from several threads.

    `dimension` is None where there are no vectors to ask. `statistics` are those of all its rows. A table of at most
    `held_rows` rows is held in memory from the first question on.
    """

    def __init__(
        self, table: Any, statistics: Statistics, *, with_vectors: bool = True, held_rows: int = _HELD_ROWS
    ) -> None:
        self._table = table
        self._held_rows = held_rows
        self.version = int(table.version)
        usable = with_vectors and "vector" in table.schema.names
        self.dimension = table.schema.field("vector").type.list_size if usable else None
        self.statistics = statistics
        self.speller = Speller(statistics.words)
        self._known: dict[int, _Known] = {}
        self._held: tuple[dict[str, _Known], Postings] | None = None

    @property
    def is_held(self) -> bool:
        """Whether all rows are in memory, so that words ask nobody."""
        return self._held is not None

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

    def with_words(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        among: frozenset[str],
        vector: Vector | None = None,
        narrowing: Filter = NO_FILTER,
    ) -> list[Candidate]:
        """Return up to `limit` rows of `among` that have some of the analyser's `terms`, by plain BM25.

        With a `vector` each candidate says how near it is. Raises IndexDamaged.
        """
        if self.statistics.skills <= self._held_rows and not narrowing:
            return self._with_words_in_memory(terms, limit, among, vector)
        from lancedb.query import MatchQuery

        match = MatchQuery(" ".join(terms), TERMS)
        return self._collect(lambda query: query.nearest_to_text(match), "_score", limit, among, vector, narrowing)

    def _with_words_in_memory(
        self, terms: Sequence[str], limit: int, among: frozenset[str], vector: Vector | None
    ) -> list[Candidate]:
        if not among or limit < 1:
            return []
        held = self._held
        if held is None:
            try:
                rows = self._read(None)
            except _LANCE_FAILURES as error:
                raise _damaged(error) from error
            by_directory = {row.directory: row for row in rows.values()}
            postings = Postings(list(by_directory), [row.features for row in by_directory.values()])
            held = self._held = (by_directory, postings)
        by_directory, postings = held
        found = postings.find(terms, limit=limit, among=among, rarity=self.statistics.rarity)
        return self._candidates([by_directory[directory] for directory in found], vector)

    def terms_of(self, candidates: Sequence[Candidate]) -> Terms:
        """Return the terms of rows of this table, for scoring."""
        if self._held is None:
            return stack_terms([one.features for one in candidates])
        return self._held[1].of([one.directory for one in candidates])

    def as_the_seed(self, query: str, *, limit: int, among: frozenset[str]) -> list[Candidate]:
        """Return what seed 002 §3.2 finds: the words of a query in its four fields, in LanceDB's own order.

        Raises IndexDamaged.
        """
        from lancedb.query import MultiMatchQuery

        match = MultiMatchQuery(" ".join(tokens(query)), list(TEXT_FIELDS))
        return self._collect(lambda query: query.nearest_to_text(match), "_score", limit, among, None, NO_FILTER)

    def rows_at(self, directories: Collection[str], vector: Vector | None = None) -> list[Candidate]:
        """Return those rows, whatever is asked for. Raises IndexDamaged."""
        if not directories:
            return []
        if self._held is not None:
            held = self._held[0]
            return self._candidates([held[directory] for directory in directories if directory in held], vector)
        keys = frozenset(directories)
        condition = _among(sorted(keys))
        try:
            numbers = self._numbers(lambda query: query, "path", len(keys), condition)
            rows = self._rows(numbers)
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error
        return self._candidates(rows, vector)

    def nearest(
        self, vector: Vector, *, limit: int, among: frozenset[str], narrowing: Filter = NO_FILTER
    ) -> list[Candidate]:
        """Return the `limit` rows of `among` nearest to `vector` by cosine. Raises IndexDamaged."""
        return self._collect(
            lambda query: query.nearest_to(list(vector)).column("vector").distance_type("cosine"),
            "_distance",
            limit,
            among,
            vector,
            narrowing,
        )

    def features(self, directories: Collection[str]) -> dict[str, tuple[bytes, frozenset[str]]]:
        """Return the features and the words of those rows. Raises IndexDamaged."""
        found: dict[str, tuple[bytes, frozenset[str]]] = {}
        try:
            for keys in _chunks(sorted(directories), _KEYS_A_STATEMENT):
                query = self._table.search().where(_among(keys))
                for row in query.select(["path", *_COUNTED]).limit(len(keys)).to_list():
                    texts = (row["name"], row["description"], *row["tags"])
                    found[row["path"]] = (row["features"], short_words(texts))
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error
        return found

    def _collect(
        self,
        ask: Callable[[Any], Any],
        score: str,
        limit: int,
        among: frozenset[str],
        vector: Vector | None,
        narrowing: Filter,
    ) -> list[Candidate]:
        if not among or limit < 1:
            return []
        # A filter by key is quick for a few of many rows, and slower than none where it leaves nearly all of them.
        inside = len(among) <= _FILTERED_INSIDE and 2 * len(among) < self.statistics.skills
        wanted = limit
        if not inside and len(among) < self.statistics.skills:
            # Rows that are not among the wanted ones take places: about as many more are asked for at once.
            wanted += _SPARE + limit * (self.statistics.skills - len(among)) // self.statistics.skills
        condition = _among(sorted(among)) if inside else narrowing.condition
        try:
            while True:
                rows = self._rows(self._numbers(ask, score, wanted, condition))
                kept = [row for row in rows if row.directory in among][:limit]
                if len(kept) >= limit or len(rows) < wanted:
                    break
                wanted *= 4
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error
        return self._candidates(kept, vector)

    def _numbers(self, ask: Callable[[Any], Any], column: str, limit: int, condition: str) -> list[int]:
        """Return the numbers of the rows that a query finds, best first.

        LanceDB's synchronous builder asks its own thread five times for one query: this asks once.
        """
        from lancedb.background_loop import LOOP

        query = ask(self._table._table.query()).select([column]).with_row_id().limit(limit)  # noqa: SLF001 - see above
        if condition:
            query = query.where(condition)
        found: list[int] = LOOP.run(query.to_arrow()).column("_rowid").to_pylist()
        return found

    def _candidates(self, rows: Sequence[_Known], vector: Vector | None) -> list[Candidate]:
        if vector is None or self.dimension != len(vector):
            return [Candidate(row.directory, row.features) for row in rows]
        near = _cosines([row.vector for row in rows], vector)
        return [Candidate(row.directory, row.features, nearness) for row, nearness in zip(rows, near, strict=True)]

    def _rows(self, numbers: Sequence[int]) -> list[_Known]:
        """Return the rows of those numbers. Finding them is quick, reading them is not: they are remembered."""
        known = self._known
        missing = [number for number in numbers if number not in known]
        if missing:
            read = self._read(missing)
            if len(known) > _REMEMBERED_ROWS:
                # Another one, not this one emptied: who looks into it now needs what it found there.
                self._known = known = {number: known[number] for number in numbers if number in known}
            known.update(read)
        return [known[number] for number in numbers]

    def _read(self, numbers: Sequence[int] | None) -> dict[int, _Known]:
        """Return the rows of those numbers, or all rows."""
        columns = ["path", "features"] if self.dimension is None else ["path", "features", "vector"]
        if numbers is None:
            read = self._table.search().select(columns).with_row_id(True).limit(None).to_arrow()
        else:
            read = self._table.take_row_ids(numbers).select(columns).with_row_id().to_arrow()
        vectors = [None] * len(read) if self.dimension is None else _vectors(read.column("vector"))
        numbers_read, paths, encoded = (read.column(name).to_pylist() for name in ("_rowid", "path", "features"))
        return dict(zip(numbers_read, map(_Known, paths, map(decode_features, encoded), vectors), strict=True))


class LanceStore:
    """The database: opens finished versions, and writes new ones for a caller that holds the writer's lock."""

    def __init__(self, db_path: str, *, held_rows: int = _HELD_ROWS) -> None:
        self.db_path = db_path
        self._held_rows = held_rows
        self._connection: Any = None
        self._in_memory: dict[int, Statistics] = {}

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
            return LanceIndex(table, self._statistics(table), with_vectors=with_vectors, held_rows=self._held_rows)
        except _LANCE_FAILURES as error:
            raise _damaged(error) from error

    def rebuild(self, rows: Iterable[IndexRow], *, dimension: int | None, published: int | None = None) -> int:
        """Write a whole new table as one more version, index it, and return the version. Raises IndexDamaged.

        The version `published` stays readable, for those who read it until the new one is published.
        """
        schema = _schema(dimension)
        try:
            tally = Tally()
            table = self._overwrite(schema, _counted(rows, tally))
            self._tidy(table, published, many_rows=True)
            return self._keep(int(table.version), tally.result(), published)
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

    def update(self, rows: Iterable[IndexRow], *, gone: Collection[str], dimension: int | None, published: int) -> int:
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
            before = self._connect().open_table(TABLE)
            before.checkout(published)
            statistics = self._statistics(before)
            tally = Tally.of(statistics)
            written: list[str] = []
            for batch in _batches(_counted(rows, tally), schema):
                written += batch.column("path").to_pylist()
                merge = table.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
                # A row may have no vector yet, which LanceDB calls bad unless told that null will do.
                merge.execute(pa.Table.from_batches([batch], schema=schema), on_bad_vectors="null")
            for keys in _chunks(sorted(gone), _KEYS_A_STATEMENT):
                table.delete(_among(keys))
            for features, words in LanceIndex(before, statistics).features({*written, *gone}).values():
                tally.add(features, words, times=-1)
            self._tidy(table, published)
            return self._keep(int(table.version), tally.result(), published)
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

    def _statistics(self, table: Any) -> Statistics:
        """Return the statistics of a version of the table; where their file is lost they are counted again."""
        version = int(table.version)
        if version in self._in_memory:
            return self._in_memory[version]
        try:
            return load_statistics(self._statistics_path(version))
        except (OSError, ValueError):
            tally = Tally()
            for batch in table.search().select(_COUNTED).limit(None).to_batches():
                for row in batch.to_pylist():
                    tally.add(row["features"], short_words((row["name"], row["description"], *row["tags"])))
            return tally.result()

    def _keep(self, version: int, statistics: Statistics, published: int | None) -> int:
        """Keep the statistics of a new version beside the table, and forget those that nobody reads any more."""
        if self.db_path == IN_MEMORY:
            self._in_memory = {version: statistics}
            return version
        save_statistics(self._statistics_path(version), statistics)
        for name in os.listdir(self.db_path):
            found = _STATISTICS_FILE.fullmatch(name)
            if found and int(found[1]) not in (version, published):
                os.unlink(os.path.join(self.db_path, name))
        return version

    def _statistics_path(self, version: int) -> str:
        return os.path.join(self.db_path, f"statistics-{version}.npz")

    def _overwrite(self, schema: Any, rows: Iterable[IndexRow]) -> Any:
        from lancedb.index import FTS, Bitmap, BTree, LabelList

        batches = _batches(rows, schema)
        # LanceDB asks for the first batch in the one thread that also answers searches: it is made before.
        data = itertools.chain([next(batches)], batches)
        table = self._connect().create_table(TABLE, data=data, schema=schema, mode="overwrite")
        for field in TEXT_FIELDS:
            # icu/split finds words in every script without a model; LanceDB's default finds none in Japanese,
            # Chinese and Korean.
            table.create_index(field, config=FTS(base_tokenizer="icu/split"))
        # The terms are made by our own analyser: LanceDB only parts them again.
        as_they_are = FTS(
            base_tokenizer="whitespace",
            lower_case=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            max_token_length=None,
        )
        table.create_index(TERMS, config=as_they_are)
        table.create_index("category", config=Bitmap(), name="category_bitmap")
        table.create_index("tags", config=LabelList())
        table.create_index("path", config=BTree())
        return table

    def _tidy(self, table: Any, published: int | None, *, many_rows: bool = False) -> None:
        """Merge new rows into the indexes and remove old versions, where enough of either have gathered.

        The published version and what is younger stay: they are read until the next one is published.
        """
        indexed = table.index_stats(f"{TERMS}_idx")
        if indexed is None:
            raise RuntimeError("the full-text index is missing")
        versions = {version["version"]: version["timestamp"] for version in table.list_versions()}
        many_rows = many_rows or indexed.num_unindexed_rows > _MERGE_AFTER_ROWS
        if not many_rows and len(versions) <= _CLEAN_AFTER_VERSIONS:
            return
        newest = max(versions.values())
        table.optimize(cleanup_older_than=newest - versions.get(published, newest) + _KEPT_VERSIONS)


def _schema(dimension: int | None) -> Any:
    """Seed 002 §4.1's fields, and ours: root, content_hash, terms, features, and with vectors the text behind each."""
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
        pa.field(TERMS, text),
        pa.field("features", pa.binary(), nullable=False),
    ]
    if dimension is not None:
        fields += [pa.field("embedded_text", text), pa.field("vector", pa.list_(pa.float32(), dimension))]
    return pa.schema(fields)


def _batches(rows: Iterable[IndexRow], schema: Any) -> Iterator[Any]:
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


def _counted(rows: Iterable[IndexRow], tally: Tally) -> Iterator[IndexRow]:
    for row in rows:
        tally.add(row.features.encoded, row.features.words)
        yield row


def _vectors(column: Any) -> list[Any]:
    """Return the vectors of a column as arrays, None where one is missing."""
    own = column.combine_chunks()
    # Flattened, the vectors that are missing leave no gap.
    there = iter(own.flatten().to_numpy().reshape(-1, own.type.list_size))
    return [next(there) if valid else None for valid in own.is_valid().to_pylist()]


def _cosines(vectors: Sequence[Any], vector: Vector) -> list[float | None]:
    """Return how near each vector is to `vector`, all of length 1, or None for one that is missing."""
    import numpy as np

    there = [own for own in vectors if own is not None]
    if not there:
        return [None] * len(vectors)
    cosines = iter((np.stack(there) @ np.array(vector, dtype=np.float32)).tolist())
    return [None if own is None else next(cosines) for own in vectors]


def _values(row: IndexRow, *, with_vectors: bool) -> dict[str, object]:
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
        TERMS: row.features.text,
        "features": row.features.encoded,
    }
    if with_vectors:
        values |= {
            "embedded_text": skill.searchable_text,
            "vector": None if row.vector is None else list(row.vector),
        }
    return values


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).lower()


def _among(keys: Sequence[str]) -> str:
    return f"path IN ({','.join(map(_quoted, keys))})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _chunks(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _damaged(error: Exception) -> IndexDamaged:
    lines = str(error).splitlines()
    return IndexDamaged(lines[0] if lines else type(error).__name__)
