"""LanceDB, writing: new versions of the table.

1. A version is complete before its number is published. The table is never dropped under a reader: a rebuild overwrites
   it, which creates one more version.
2. Writers hold the lock of `index.indexer`: LanceDB has no unique keys, so two writers could write one row twice.
3. Adding rows, merging them into the indexes and removing old versions are three things, each with a rule of its own:
   every update adds; a merge, which writes the table anew, waits for enough rows, and comes behind the publication of
   what was added; what it replaced is removed when its readers are gone. `index.versions` says when that is.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import itertools
import json
import logging
import os
import re
import secrets
import shutil
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from skillhub_mcp.file_modes import make_private_directory
from skillhub_mcp.index import versions as table_versions
from skillhub_mcp.index.checksums import changed_files, note_checksums
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.features import CountedSkills, TermCounter, decode_features, short_words
from skillhub_mcp.index.filter import path_in
from skillhub_mcp.index.keys import PathKeys, RowKeys, label_of
from skillhub_mcp.index.lance import (
    COUNTED_COLUMNS,
    EMBEDDING,
    LANCE_FAILURES,
    PATHS_PER_STATEMENT,
    TABLE_ID,
    TEXT_FIELDS,
    IndexDamaged,
    LanceIndex,
    chunks,
    damaged,
    table_id,
)
from skillhub_mcp.index.lance_import import import_lancedb
from skillhub_mcp.index.rows import IndexRow, StoredVector
from skillhub_mcp.index.segment import ADDED_SHARE, Segment, SegmentBuilder, read_segment, write_segment
from skillhub_mcp.index.segment_files import SegmentFiles
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.state import FIRST_TABLE
from skillhub_mcp.index.statistics import Statistics, StatisticsBuilder, load_statistics, save_statistics
from skillhub_mcp.index.versions import TableVersions

log = logging.getLogger(__name__)

# The first schema whose rows have keys; before, a row's path was the skill's directory.
SCHEMA_VERSION = KEYS_SINCE = 4
IN_MEMORY = "memory://"

# Any of the full-text indexes says which rows are not in it yet.
_WATCHED_INDEX = "description_idx"
# Rows in memory at once while a table is written, and about how many characters of bodies.
_BATCH_ROWS = 150
_BATCH_CHARACTERS = 4 << 20
# Of a table that is copied.
_PIECE_ROWS = 10_000
_NAMED_FILES = 3
# LanceDB would keep up to seven gigabytes of what it read. Searches do not ask it, and no change reads what the one
# before read.
_CACHE_BYTES = 4 << 20
_ID_BYTES = 8
_NOTED_SECONDS = 24 * 3600
# Rows that are not in the full-text index yet are found by a scan, and those of each update have a file. That is cheap
# for a few, and for a share of a large library: merging, which writes all of it anew, waits for more of either.
_MERGE_AFTER_ROWS = 200
_MERGED_SHARE = 10
_LARGE_LIBRARY_SHARE = 20
_MERGE_AFTER_FILES = 200
_FEWEST_MERGED = 20
# Manifests are small, and each is larger than the one before: they are removed a few at a time.
_UNREAD_VERSIONS = 20
# How many times the bytes in use may lie there before a table that was merged is cleaned.
_WASTEFUL = 1.5
# How many times as much of each an update leaves to `tidy`, for which a process that ends at once has no time.
_OVERDUE = 4
# By LanceDB's own rule, which is by age alone, no version is ever old enough.
_NEVER = dt.timedelta(days=36_500)
_PATHS = PathKeys()


class LanceStore:
    """One table of a database: opens complete versions, and writes new ones for a caller with the writer's lock."""

    def __init__(self, db_path: str, table: str = FIRST_TABLE) -> None:
        self.db_path = db_path
        self.table = table
        self._segment_files = None if db_path == IN_MEMORY else SegmentFiles(db_path, table)
        self._connection: Any = None
        # Those of the version that was read or written last.
        self._known: tuple[int, str, Statistics] | None = None
        # The index that was opened last, while anybody has it.
        self._opened: Callable[[], SkillIndex | None] = lambda: None
        # When what this process replaced may be removed, if nothing is written until then.
        self._tidy_at: float | None = None
        # Whether the postings of the last update are a large addition.
        self._has_large_addition = False
        # What was published before the last update: who has just read of it may still be opening it.
        self._replaced: int | None = None

    @property
    def exists(self) -> bool:
        """Whether the table's directory exists; loads nothing, and does not check whether it is damaged."""
        if self.db_path == IN_MEMORY:
            return self._connection is not None
        return os.path.isdir(self._table_directory)

    @property
    def occupied(self) -> bool:
        """Whether anything is where the table's directory is to be, even what is none."""
        return self.exists if self.db_path == IN_MEMORY else os.path.lexists(self._table_directory)

    def open(
        self,
        version: int,
        *,
        keys: RowKeys = _PATHS,
        created_as: str | None = None,
        with_vectors: bool = True,
    ) -> SkillIndex:
        """Open a version of the table for searching, with its vectors or without. Raises IndexDamaged.

        `keys` say what the keys of its rows mean here.
        It also raises where the table was not `created_as` that id: then another took its name. What is searched lies
        in a file beside the table, and LanceDB is not loaded; where there is no such file, it is written.
        """
        if created_as is None or self.db_path == IN_MEMORY:
            created_as = self.open_table(version, created_as=created_as).table_id

        def open_table() -> LanceIndex:
            return self.open_table(version, created_as=created_as, with_vectors=with_vectors)

        before = self._opened()
        index = SkillIndex(
            self._segments(version, created_as),
            self._statistics(version, created_as),
            version=version,
            table_id=created_as,
            open_table=open_table,
            keys=keys,
            with_vectors=with_vectors,
            before=before,
        )
        self._opened = weakref.ref(index)
        return index

    def _segments(self, version: int, table_id: str) -> Sequence[Segment]:
        """Return what is searched of a version: from the files beside the table, else from its rows.

        What had to be read from the rows is kept in a file. Raises IndexDamaged.
        """
        files = self._segment_files
        if files is not None:
            try:
                return files.open(version, table_id, known=self._known_segments())
            except (OSError, ValueError) as error:
                log.debug("The postings are made from the table: %s", error)
            try:
                files.write(version, table_id, self._invert(version, table_id, files.builder()))
                return files.open(version, table_id)
            except (OSError, ValueError) as error:
                # Without the file each start of a server or a command loads LanceDB, and that is all.
                log.debug("The postings are not kept: %s", error)
        kept = io.BytesIO()
        try:
            write_segment(kept, self._invert(version, table_id, SegmentBuilder()).parts(), table_id=table_id)
            return (read_segment(kept.getvalue(), table_id),)
        except (OSError, ValueError) as error:
            raise damaged(error) from error

    def _known_segments(self) -> Sequence[Segment]:
        """Return what somebody has open."""
        opened = self._opened()
        return () if opened is None else opened.segments

    def _invert(self, version: int, table_id: str, skills: SegmentBuilder) -> SegmentBuilder:
        """Add all rows of a version of the table to `skills`, and return them. Raises IndexDamaged and OSError."""
        for row in self.open_table(version, created_as=table_id).each_row():
            skills.add(*row)
        return skills

    def open_table(self, version: int, *, created_as: str | None = None, with_vectors: bool = True) -> LanceIndex:
        """Open a version of the table in LanceDB, as `open` does. Raises IndexDamaged."""
        return LanceIndex(self._check_out(version, created_as), with_vectors=with_vectors)

    def _check_out(self, version: int, created_as: str | None = None) -> Any:
        """Return a version of LanceDB's table. Raises IndexDamaged."""
        try:
            table = self._connect().open_table(self.table)
            table.checkout(version)
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        if created_as is not None and table_id(table) != created_as:
            raise IndexDamaged("it is not the table that the index state names")
        return table

    def damages(self, version: int, *, created_as: str) -> Iterator[Damage]:
        """Read all of a version of the table and what lies beside it, and compare its files with what was written.

        Yields whatever a search, or the next change, could not read or would read as something else, naming the files.
        """
        changed = self._changed_files()
        of_table = [name for name in changed if not _is_statistics(name)]
        if of_table:
            # LanceDB is not asked to read them: what it takes for a length may end the process.
            yield Damage(IndexPart.TABLE, _since_written(of_table))
        else:
            # Through a connection of its own: this one has its files open, and what it read in memory.
            fresh = LanceStore(self.db_path, self.table) if self.db_path != IN_MEMORY else self
            try:
                fresh.open_table(version, created_as=created_as).check()
            except IndexDamaged as error:
                yield Damage(IndexPart.TABLE, str(error))
        if self._segment_files is None:
            return
        statistics = os.path.basename(self._statistics_path(version))
        try:
            load_statistics(self._statistics_path(version), created_as)
            if statistics in changed:
                yield Damage(IndexPart.STATISTICS, _since_written([statistics]))
        except FileNotFoundError:
            yield Damage(IndexPart.STATISTICS, f"missing: {statistics}", mends_itself=True)
        except (OSError, ValueError) as error:
            yield Damage(IndexPart.STATISTICS, _since_written([statistics]) if statistics in changed else str(error))
        try:
            self._segment_files.check(version, created_as)
        except FileNotFoundError as error:
            yield Damage(IndexPart.POSTINGS, f"missing: {os.path.basename(error.filename)}", mends_itself=True)
        except (OSError, ValueError) as error:
            yield Damage(IndexPart.POSTINGS, str(damaged(error)))

    def make_again(self, version: int, *, created_as: str) -> None:
        """Make what is derived from the rows again: postings and statistics. Raises IndexDamaged."""
        if self._segment_files is None:
            return
        try:
            self._segment_files.discard(version)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._statistics_path(version))
            self._known = None
            self.open(version, created_as=created_as)
            note_checksums(self.db_path, self._checksums_path, [self._table_directory, self._statistics_path(version)])
        except OSError as error:
            raise damaged(error) from error

    def kept_vectors(self, version: int, created_as: str) -> dict[str, Sequence[float]]:
        """Return the vectors that the postings beside the table have, by key; none where they are damaged."""
        try:
            return {} if self._segment_files is None else self._segment_files.vectors(version, created_as)
        except (OSError, ValueError) as error:
            log.debug("No vectors are kept beside the table: %s", error)
            return {}

    def rebuild(
        self,
        rows: Iterable[IndexRow],
        *,
        dimension: int | None,
        embedding: str | None = None,
        published: int | None = None,
    ) -> int:
        """Write a new table as one more version, index it, and return the version. Raises IndexDamaged.

        `embedding` is the identity of the embeddings that it has or will get. The version `published` stays readable
        until the new one is published, unless a file of the table is damaged.
        """
        schema = _schema(dimension, _metadata(embedding))
        if not self.is_as_written:
            self.discard()
        try:
            table, statistics = self._overwrite(schema, rows)
            written = int(table.version)
            _create_indexes(table)
            self._clean(table, published)
            if self._segment_files is not None:
                with _not_kept_is_no_failure():
                    self._segment_files.rename(written, int(table.version))
            return self._store_statistics(table, statistics, published)
        except LANCE_FAILURES as error:
            self._drop_leftovers()
            raise damaged(error) from error

    def with_keys(
        self, published: int, *, created_as: str, embedding: str, key_of: Callable[[str, str], str | None]
    ) -> int:
        """Write the rows of the version `published` as a new table with other keys, and return its version.

        `key_of` returns the key for a row's path and root, or None for a row that is left out. Nothing else of a row
        changes, and `published` stays readable until the new one is published. Raises IndexDamaged.
        """
        source = self.open_table(published, created_as=created_as)
        schema = source.schema.with_metadata(_metadata(embedding))
        try:
            statistics = self._statistics(published, created_as)
            left_out: list[str] = []
            table: Any = None
            # Each piece is read before it is handed over: LanceDB reads in the thread that it also writes in.
            for piece in _pieces(source, schema, key_of, left_out):
                if table is None:
                    table = self._connect().create_table(
                        self.table, data=piece, schema=schema, mode="overwrite", on_bad_vectors="null"
                    )
                else:
                    table.add(piece, on_bad_vectors="null")
            _create_indexes(table)
            self._clean(table, published)
            if left_out:
                builder = StatisticsBuilder.from_statistics(statistics)
                for features, words in source.features(left_out).values():
                    builder.add(features, words, times=-1)
                statistics = builder.build()
            return self._store_statistics(table, statistics, published)
        except LANCE_FAILURES as error:
            self._drop_leftovers()
            raise damaged(error) from error

    def newest(self) -> LanceIndex | None:
        """Return the table as it was last written, published or not; None where there is none that can be trusted."""
        if not self.exists or self._changed_files():
            return None
        try:
            return LanceIndex(self._connect().open_table(self.table))
        except LANCE_FAILURES as error:
            log.debug("The table %s cannot be opened: %s", self.table, error)
            return None

    def discard(self) -> None:
        """Remove a table that cannot be overwritten; nothing is lost, as it is derived. Raises IndexDamaged."""
        try:
            if os.path.isdir(self._table_directory):
                shutil.rmtree(self._table_directory)
            elif os.path.lexists(self._table_directory):
                os.unlink(self._table_directory)
            self._remove_kept()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._checksums_path)
            self._connection = self._known = None
        except OSError as error:
            raise damaged(error) from error

    def mark_used(self) -> None:
        """Note that the table is in use, at most once a day. A database that cannot be written has no notes."""
        with contextlib.suppress(OSError):
            if self.db_path != IN_MEMORY and time.time() - self.used_at() > _NOTED_SECONDS:
                os.utime(self._table_directory)

    def used_at(self) -> float:
        """Return when the table was last noted to be in use, in seconds since the epoch, 0 for none. Raises OSError."""
        try:
            return os.stat(self._table_directory).st_mtime
        except FileNotFoundError:
            return 0.0

    def update(
        self, rows: Iterable[IndexRow], *, removed: Collection[str], dimension: int | None, published: int
    ) -> int:
        """Write changed rows to the version `published`, delete those with keys in `removed`; return the new version.

        Versions that a killed writer left after `published` are undone first. Raises IndexDamaged.
        """
        import pyarrow as pa

        try:
            table, before = self._begun_at(published)
            schema = _schema(dimension, before.schema.metadata)
            statistics = self._statistics(published, table_id(before))
            builder, skills = StatisticsBuilder.from_statistics(statistics), self._builder()
            written: list[str] = []
            for batch in _batches(rows, schema, builder, skills):
                written += batch.column("path").to_pylist()
                merge = table.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
                # A row may have no vector yet; without this, LanceDB rejects it as a bad vector.
                merge.execute(pa.Table.from_batches([batch], schema=schema), on_bad_vectors="null")
            for keys in chunks(sorted(removed), PATHS_PER_STATEMENT):
                table.delete(path_in(keys))
            for features, words in LanceIndex(before).features({*written, *removed}).values():
                builder.add(features, words, times=-1)
            self._maintain(table, published, statistics.skills)
            self._keep_update(table, skills, removed=removed, before=published)
            self._replaced = published
            return self._store_statistics(table, builder.build(), published)
        except LANCE_FAILURES as error:
            self._drop_leftovers()
            raise damaged(error) from error

    def _begun_at(self, published: int) -> tuple[Any, Any]:
        """Return the table to be written from the version `published`, and that version to be read."""
        table = self._connect().open_table(self.table)
        if int(table.version) != published:
            table.checkout(published)
            table.restore()
        before = self._connect().open_table(self.table)
        before.checkout(published)
        return table, before

    def add_vectors(self, vectors: Mapping[str, StoredVector], *, dimension: int, published: int) -> int:
        """Write vectors of that `dimension`, by key, to rows of the version `published`, and return the new version.

        The other columns of the rows stay as they are. Vectors of another dimension are all dropped. Raises
        IndexDamaged.
        """
        import numpy as np
        import pyarrow as pa

        try:
            table, before = self._begun_at(published)
            statistics = self._statistics(published, table_id(before))
            fields = _vector_fields(dimension)
            if "vector" in table.schema.names and table.schema.field("vector").type.list_size != dimension:
                table.drop_columns([field.name for field in fields])
            if "vector" not in table.schema.names:
                # Columns of nulls, for which no row is written again.
                table.add_columns(pa.schema(fields))
            schema = pa.schema([table.schema.field("path"), *fields])
            # Through one array: converting a thousand lists of numbers would keep searches waiting.
            numbers = np.array([own.vector for own in vectors.values()], dtype=np.float32).reshape(-1)
            column = pa.FixedSizeListArray.from_arrays(pa.array(numbers), dimension)
            texts = pa.array([own.text for own in vectors.values()], pa.string())
            merge = table.merge_insert("path").when_matched_update_all()
            merge.execute(pa.Table.from_arrays([pa.array(list(vectors), pa.string()), texts, column], schema=schema))
            self._maintain(table, published, statistics.skills)
            skills = self._builder()
            for path, (features, _) in LanceIndex(before).features(vectors.keys()).items():
                skills.add(path, decode_features(features), vectors[path].vector)
            self._keep_update(table, skills, removed=(), before=published)
            self._replaced = published
            return self._store_statistics(table, statistics, published)
        except LANCE_FAILURES as error:
            raise damaged(error) from error

    def _builder(self) -> SegmentBuilder:
        return SegmentBuilder() if self._segment_files is None else self._segment_files.builder()

    def _keep_update(self, table: Any, changed: SegmentBuilder, *, removed: Collection[str], before: int) -> None:
        if self._segment_files is not None:
            with _not_kept_is_no_failure():
                version, own_id = int(table.version), table_id(table)
                known = self._known_segments()
                share = self._segment_files.write_update(
                    version, own_id, changed, removed=removed, before=before, known=known
                )
                self._has_large_addition = share > ADDED_SHARE
                if self._has_large_addition:
                    self._tidy_at = time.monotonic()

    @property
    def is_as_written(self) -> bool:
        """Whether no file of the table has changed since it was written; reads all of them."""
        return not self._changed_files()

    def _changed_files(self) -> tuple[str, ...]:
        return () if self.db_path == IN_MEMORY else changed_files(self.db_path, self._checksums_path)

    @property
    def is_tidy(self) -> bool:
        """Whether `tidy` has nothing to do yet."""
        return self._tidy_at is None or time.monotonic() < self._tidy_at

    def tidy(self, published: int) -> int:
        """Merge what updates added, or remove what a merge or rebuild replaced, and return the version to publish.

        It is another one than `published` where rows were merged, and has the same rows. For a caller with the writer's
        lock. Raises IndexDamaged.
        """
        self._tidy_at = None
        try:
            table = self._connect().open_table(self.table)
            if int(table.version) != published:
                # What a killed writer left is undone by the next update.
                return published
            unmerged = self._unmerged_rows(table)
            is_wasteful = self._is_wasteful(table)
            enough = self._added(table, table.count_rows()) > 1
            if enough or (is_wasteful and _count_files(table) - unmerged > 1):
                # LanceDB would write the whole table anew for cleaning it alone, each time.
                self._merge(table, published)
            elif is_wasteful or not unmerged:
                self._clean(table, published)
            return self._tidied(table, published)
        except LANCE_FAILURES as error:
            self._drop_leftovers()
            raise damaged(error) from error

    def _tidied(self, table: Any, published: int) -> int:
        """Have what lies beside the table follow it, and return its version."""
        version, merges_postings = int(table.version), self._has_large_addition
        if self._segment_files is not None:
            with _not_kept_is_no_failure():
                if version != published:
                    self._segment_files.keep_as(published, version)
                if merges_postings:
                    self._segment_files.merge(version, table_id(table))
        self._has_large_addition = False
        replaced, self._replaced = self._replaced, None
        if version != published:
            self._store_statistics(table, self._statistics(published, table_id(table)), published, replaced)
        else:
            self._remove_kept(published, replaced)
        is_done = version == published and not merges_postings and replaced is None
        self._tidy_at = None if is_done else time.monotonic() + table_versions.KEPT_SECONDS
        return version

    def _connect(self) -> Any:
        if self._connection is None:
            # Before LanceDB starts its threads.
            lancedb = import_lancedb()
            if self.db_path != IN_MEMORY:
                make_private_directory(self.db_path)
            session = lancedb.Session(index_cache_size_bytes=_CACHE_BYTES, metadata_cache_size_bytes=_CACHE_BYTES)
            self._connection = lancedb.connect(self.db_path, session=session)
        return self._connection

    @property
    def _table_directory(self) -> str:
        return os.path.join(self.db_path, f"{self.table}.lance")

    def _statistics(self, version: int, created_as: str) -> Statistics:
        """Return the statistics of a version of the table; if their file is lost, it is written again.

        Raises IndexDamaged.
        """
        known = self._known
        if known is not None and known[:2] == (version, created_as):
            return known[2]
        try:
            statistics = load_statistics(self._statistics_path(version), created_as)
        except (OSError, ValueError) as error:
            log.debug("The statistics are made from the table: %s", error)
            statistics = self._count_anew(version, created_as)
        self._known = version, created_as, statistics
        return statistics

    def _count_anew(self, version: int, created_as: str) -> Statistics:
        """Return the statistics of a version's rows, and keep them beside the table. Raises IndexDamaged."""
        builder = StatisticsBuilder()
        table = self._check_out(version, created_as)
        try:
            for batch in table.search().select(COUNTED_COLUMNS).limit(None).to_batches():
                for row in batch.to_pylist():
                    builder.add(row["features"], short_words((row["name"], row["description"], *row["tags"])))
            statistics = builder.build()
        except LANCE_FAILURES as error:
            raise damaged(error) from error
        if self.db_path != IN_MEMORY:
            with contextlib.suppress(OSError):
                save_statistics(self._statistics_path(version), statistics, created_as)
        return statistics

    def _store_statistics(self, table: Any, statistics: Statistics, *read: int | None) -> int:
        """Save the statistics of a new version beside the table; delete what belongs to others than those `read`."""
        version = int(table.version)
        self._known = version, table_id(table), statistics
        if self.db_path == IN_MEMORY:
            return version
        save_statistics(self._statistics_path(version), statistics, table_id(table))
        self._remove_kept(version, *read)
        kept = [self._statistics_path(one) for one in (version, *read) if one is not None]
        note_checksums(self.db_path, self._checksums_path, [self._table_directory, *kept])
        return version

    def _remove_kept(self, *but: int | None) -> None:
        """Delete the statistics, rows and segments kept beside the table, but for those of some versions."""
        if self._segment_files is not None:
            self._segment_files.remove(*but)
        # Before tables had ids, a database had one table, and its statistics no name of a table. Schema 2 kept rows.
        table = rf"(?:{self.table}-){'?' * (self.table == FIRST_TABLE)}"
        for name in os.listdir(self.db_path):
            found = re.fullmatch(rf"(?:statistics|rows)-{table}(\d+)\.npz(?:(?:\.[-\d]+)?\.new)?", name)
            if found and int(found[1]) not in but:
                os.unlink(os.path.join(self.db_path, name))

    @property
    def _checksums_path(self) -> str:
        return os.path.join(self.db_path, f"checksums-{self.table}.json")

    def _statistics_path(self, version: int) -> str:
        return os.path.join(self.db_path, f"statistics-{self.table}-{version}.npz")

    def _overwrite(self, schema: Any, rows: Iterable[IndexRow]) -> tuple[Any, Statistics]:
        """Write a new table, not indexed yet, and the segment of that version; return it with its statistics."""
        # Before the first row is read: large skills are kept in a file in the database's directory, which this makes.
        connection = self._connect()
        if self.db_path != IN_MEMORY:
            # LanceDB would leave it to the umask who else may read it.
            make_private_directory(self._table_directory)
        statistics, skills = StatisticsBuilder(), self._builder()
        batches = _batches(rows, schema, statistics, skills)
        # LanceDB reads the first batch in the thread that also runs searches: it is computed before.
        data = itertools.chain([next(batches)], batches)
        # A row may have no vector yet, which LanceDB would refuse as a bad one.
        table = connection.create_table(self.table, data=data, schema=schema, mode="overwrite", on_bad_vectors="null")
        if self._segment_files is not None:
            with _not_kept_is_no_failure():
                self._segment_files.write(int(table.version), table_id(table), skills)
        return table, statistics.build()

    def _unmerged_rows(self, table: Any) -> int:
        indexed = table.index_stats(_WATCHED_INDEX)
        if indexed is None:
            raise RuntimeError("the full-text index is missing")
        return int(indexed.num_unindexed_rows)

    def _maintain(self, table: Any, published: int, rows: int) -> None:
        """Have `tidy` merge what was added, or clean up, if there is enough of either. `rows` are all rows.

        Far more than enough is merged at once: then nobody came to do it, as in memory, where nobody does.
        """
        in_memory = self.db_path == IN_MEMORY
        added = self._added(table, rows)
        if added > (1 if in_memory else _OVERDUE):
            self._merge(table, published)
        elif not in_memory:
            unread = TableVersions(self._table_directory).unread(published=published, newest=int(table.version))
            if len(unread) > _UNREAD_VERSIONS:
                _unlink(unread)
            if added > 1 or self._is_wasteful(table):
                self._tidy_at = time.monotonic()

    def _added(self, table: Any, rows: int) -> float:
        """Return how many times as many rows or files were added as are enough for a merge. `rows` are all rows."""
        share = max(_MERGE_AFTER_ROWS, rows // _LARGE_LIBRARY_SHARE)
        many = max(_FEWEST_MERGED, min(rows // _MERGED_SHARE, share))
        return max(self._unmerged_rows(table) / many, _count_files(table) / _MERGE_AFTER_FILES)

    def _is_wasteful(self, table: Any) -> bool:
        """Whether there is much that nobody reads."""
        versions = TableVersions(self._table_directory)
        is_read_by_none = versions.seconds_since_merge() > table_versions.KEPT_SECONDS
        return is_read_by_none and versions.disk_bytes() > _WASTEFUL * _bytes_in_use(table)

    def _merge(self, table: Any, published: int | None) -> None:
        """Merge all rows into one file and into the indexes, and remove what lies there for nobody."""
        table.optimize(cleanup_older_than=_NEVER)
        if _count_files(table) > 1:
            # LanceDB does not merge rows that are in the indexes with those that are not: now all are. As one file the
            # table can be cleaned later without being written again.
            table.optimize(cleanup_older_than=_NEVER)
        self._clean(table, published)

    def _drop_leftovers(self) -> None:
        """Remove the files of a write that failed, as far as that is possible: on a full disk they would add up."""
        with contextlib.suppress(*LANCE_FAILURES):
            if self.db_path != IN_MEMORY:
                table = self._connect().open_table(self.table)
                table.optimize(cleanup_older_than=_NEVER, delete_unverified=True)

    def _clean(self, table: Any, published: int | None) -> None:
        """Remove versions that nobody reads, and all files of none but those.

        On disk LanceDB removes no version by itself, but every file that no version has: nobody else is writing one.
        """
        if self.db_path == IN_MEMORY:
            versions = {version["version"]: version["timestamp"] for version in table.list_versions()}
            newest = max(versions.values())
            kept = dt.timedelta(seconds=table_versions.KEPT_SECONDS)
            table.optimize(cleanup_older_than=newest - versions.get(published, newest) + kept)
            return
        _unlink(TableVersions(self._table_directory).unread(published=published, newest=int(table.version)))
        table.optimize(cleanup_older_than=_NEVER, delete_unverified=True)
        self._tidy_at = time.monotonic() + table_versions.KEPT_SECONDS


def _is_statistics(name: str) -> bool:
    return name.startswith("statistics-")


def _since_written(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_FILES
    rest = f" and {more:,} more" if more > 0 else ""
    return f"changed since it was written: {', '.join(names[:_NAMED_FILES])}{rest}"


def _count_files(table: Any) -> int:
    return int(table.stats()["fragment_stats"]["num_fragments"])


def _bytes_in_use(table: Any) -> int:
    return int(table.stats()["total_bytes"])


def _unlink(paths: Iterable[str]) -> None:
    for path in paths:
        os.unlink(path)


def _create_indexes(table: Any) -> None:
    from lancedb.index import FTS, Bitmap, BTree, LabelList

    for field in TEXT_FIELDS:
        # icu/split finds words in every script without a model; LanceDB's default finds none in Japanese, Chinese and
        # Korean.
        table.create_index(field, config=FTS(base_tokenizer="icu/split"))
    table.create_index("category", config=Bitmap(), name="category_bitmap")
    table.create_index("tags", config=LabelList())
    table.create_index("path", config=BTree())


def _metadata(embedding: str | None) -> dict[bytes, bytes]:
    """Return the metadata of a table that is created now."""
    own = {TABLE_ID: secrets.token_hex(_ID_BYTES).encode()}
    return own if embedding is None else own | {EMBEDDING: embedding.encode("utf-8", "surrogateescape")}


def _pieces(
    source: LanceIndex, schema: Any, key_of: Callable[[str, str], str | None], left_out: list[str]
) -> Iterator[Any]:
    """Yield the rows of a table with their new keys, many at once; one piece at least. Adds to `left_out`."""
    import pyarrow as pa

    pending: list[Any] = []
    waiting, yielded = 0, False
    for batch in source.record_batches():
        paths, roots = (batch.column(name).to_pylist() for name in ("path", "root"))
        keys = [key_of(path, root) for path, root in zip(paths, roots, strict=True)]
        left_out += [path for path, key in zip(paths, keys, strict=True) if key is None]
        kept = [key for key in keys if key is not None]
        chosen = batch.filter(pa.array([key is not None for key in keys]))
        columns = [chosen.column(name) for name in schema.names]
        columns[schema.names.index("path")] = pa.array(kept, pa.string())
        columns[schema.names.index("root")] = pa.array(list(map(label_of, kept)), pa.string())
        pending.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        waiting += len(chosen)
        if waiting >= _PIECE_ROWS:
            yield pa.Table.from_batches(pending, schema=schema)
            pending, waiting, yielded = [], 0, True
    if waiting or not yielded:
        yield pa.Table.from_batches(pending, schema=schema)


def _schema(dimension: int | None, metadata: Mapping[bytes, bytes]) -> Any:
    """Return the schema of a table. `dimension` is the length of the vectors, None for a table without them."""
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
        pa.field("features", pa.binary(), nullable=False),
    ]
    if dimension is not None:
        fields += _vector_fields(dimension)
    return pa.schema(fields, metadata=dict(metadata))


def _vector_fields(dimension: int) -> list[Any]:
    import pyarrow as pa

    return [pa.field("embedded_text", pa.string()), pa.field("vector", pa.list_(pa.float32(), dimension))]


def _batches(
    rows: Iterable[IndexRow], schema: Any, statistics: StatisticsBuilder, skills: SegmentBuilder
) -> Iterator[Any]:
    """Yield the rows as record batches, so that the bodies of a large library are never all in memory at once.

    What is searched of them is added to `statistics` and `skills`.
    """
    counter = TermCounter()
    for several in _several(rows):
        counted = counter.count([(row.skill, row.instructions) for row in several])
        statistics.add_counted(counted)
        skills.add_counted([row.key for row in several], counted, [row.vector for row in several])
        yield _record_batch(several, counted, schema)


def _several(rows: Iterable[IndexRow]) -> Iterator[Sequence[IndexRow]]:
    pending: list[IndexRow] = []
    characters = 0
    yielded = False
    for row in rows:
        pending.append(row)
        characters += len(row.instructions)
        if len(pending) >= _BATCH_ROWS or characters >= _BATCH_CHARACTERS:
            yield pending
            pending, characters, yielded = [], 0, True
    if pending or not yielded:
        # LanceDB requires at least one batch, even an empty one.
        yield pending


@contextlib.contextmanager
def _not_kept_is_no_failure() -> Iterator[None]:
    """Go on where a file with postings cannot be written: whoever opens the version has it made from the rows."""
    try:
        yield
    except (OSError, ValueError) as error:
        log.debug("The postings are not kept: %s", error)


def _record_batch(rows: Sequence[IndexRow], counted: CountedSkills, schema: Any) -> Any:
    import pyarrow as pa

    skills = [row.skill for row in rows]
    columns: dict[str, Sequence[object]] = {
        "path": [row.key for row in rows],
        "root": [label_of(row.key) for row in rows],
        "content_hash": [skill.stamp.content_hash for skill in skills],
        "name": [skill.name for skill in skills],
        "description": [skill.description for skill in skills],
        "category": [skill.category for skill in skills],
        "tags": [list(skill.tags) for skill in skills],
        "tags_text": [" ".join(skill.tags) for skill in skills],
        "instructions": [row.instructions for row in rows],
        "metadata": [json.dumps(skill.metadata, ensure_ascii=False, sort_keys=True) for skill in skills],
    }
    arrays = {name: pa.array(values, schema.field(name).type) for name, values in columns.items()}
    numbers, begins = counted.encoded()
    where = pa.py_buffer((begins * numbers.itemsize).astype("<i4"))
    arrays["features"] = pa.Array.from_buffers(pa.binary(), len(rows), [None, where, pa.py_buffer(numbers)])
    if "vector" in schema.names:
        is_embedded = [not (row.vector is None or row.is_stale) for row in rows]
        texts = [skill.searchable_text if own else None for skill, own in zip(skills, is_embedded, strict=True)]
        arrays["embedded_text"] = pa.array(texts, pa.string())
        arrays["vector"] = _vector_array([row.vector for row in rows], schema.field("vector").type)
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _vector_array(vectors: Sequence[Sequence[float] | None], kind: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    matrix = np.zeros((len(vectors), kind.list_size), dtype=np.float32)
    mends_itself = np.array([vector is None for vector in vectors], dtype=bool)
    for number, vector in enumerate(vectors):
        if vector is not None:
            matrix[number] = vector
    # Through one array: converting a thousand lists of numbers would keep searches waiting.
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), type=kind, mask=pa.array(mends_itself))
