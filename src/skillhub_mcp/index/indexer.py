"""The one writer: takes the lock, finds out which rows must change, writes them, and publishes the version.

A sync writes new versions of the table and then replaces `index_state.json`, which is the commit. A writer killed at
any moment leaves the last published version in use, and the next sync starts from what the table actually holds.

While the embedding provider fails, rows are written without vectors and text search finds them; a later sync embeds
them.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillhub_mcp.circuit_breaker import CircuitBreaker
from skillhub_mcp.embedders.base import Embedder, Vector
from skillhub_mcp.errors import EmbeddingError, IndexUnavailable, SkillUnreadable
from skillhub_mcp.index.identity import IndexIdentity
from skillhub_mcp.index.lance import IndexDamaged, LanceIndex, damaged
from skillhub_mcp.index.lance_store import IN_MEMORY, SCHEMA_VERSION, LanceStore
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.rows import IndexRow
from skillhub_mcp.index.state import (
    FIRST_TABLE,
    NO_EMBEDDING,
    STATE_FORMAT,
    IndexState,
    PublishedTable,
    RootState,
    StateStamp,
    TableVersion,
    load_state,
    root_digest,
    save_state,
    state_stamp,
)
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import CachedSkillFile, Scan, ScanCache

log = logging.getLogger(__name__)

LOCK_FILE = "index.lock"
_EMBEDDED_AT_ONCE = 256
_LOCK_STEP_SECONDS = 0.2
_UNUSED_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did: `reason` says why it was needed, `embedding_failure` why vectors are missing."""

    reason: str
    written: int
    removed: int
    rebuilt: bool
    embedding_failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    """A table version that is ready to be published. `touched` are the rows changed or removed since the last one."""

    table: str
    version: int
    embedding: str
    without_vectors: frozenset[str]
    touched: frozenset[str]
    report: SyncReport


@dataclass(frozen=True, slots=True)
class Published:
    """The published index: the version to read, the state that describes it, and the state file's stamp.

    `report` and `stamp` are None where nothing was written; `stamp` also where the state is kept in memory.
    """

    index: LanceIndex
    state: IndexState
    report: SyncReport | None = None
    stamp: StateStamp | None = None


class Indexer:
    """Keeps one database in sync with scans of `roots`. `embedder` is None for full text alone.

    After a failure the embedder is not called for `cooldown_seconds`. `lock_timeout` is how many seconds to wait for
    another writer.
    """

    def __init__(
        self,
        db_path: str,
        roots: tuple[SkillRoot, ...],
        *,
        embedder: Embedder | None,
        lock_timeout: float = 600.0,
        cooldown_seconds: float = 300.0,
        progress: ProgressCallback = no_progress,
    ) -> None:
        self.db_path = db_path
        self._roots = tuple(root.path for root in roots)
        self._embedder = embedder
        self._lock_timeout = lock_timeout
        self._embedder_breaker = CircuitBreaker(cooldown_seconds)
        self._progress = progress
        self._store = LanceStore(db_path)  # that of the last table used: it holds a connection
        self._memory_state: IndexState | None = None
        self._cancelled = threading.Event()

    @property
    def embedding(self) -> str:
        """The identity of the embeddings that the index should hold: none while the embedder's circuit is open."""
        return NO_EMBEDDING if self._embedder_breaker.is_open else self._own_embedding

    @property
    def _own_embedding(self) -> str:
        return NO_EMBEDDING if self._embedder is None else self._embedder.identity

    @property
    def identity(self) -> IndexIdentity:
        """Whose the index is: its database, and its embedder. A link in the path may point elsewhere the next time."""
        return IndexIdentity.of(self.db_path, self._own_embedding)

    def state(self) -> IndexState | None:
        """Return the published state, or None: also where a newer version of SkillHub wrote it. Loads no database."""
        if self._in_memory:
            return self._memory_state
        files = self.identity.find()
        state = None if files is None else load_state(files.state_path)
        return None if state is None or state.schema > SCHEMA_VERSION else state

    def refusal(self) -> IndexUnavailable | None:
        """Return why the index is neither read nor written: a newer version of SkillHub wrote it."""
        found = None if self._in_memory else self.identity.newer()
        if found is None:
            return None
        newer = f"format {found.format}" if found.format > STATE_FORMAT else f"schema {found.schema}"
        known = STATE_FORMAT if found.format > STATE_FORMAT else SCHEMA_VERSION
        return IndexUnavailable(
            f"The index at {self.db_path} was written by a newer SkillHub ({newer}; this one reads up to {known})",
            hint="update skillhub, or set DB_PATH to another path; the newer index is left as it is",
        )

    def state_stamp(self) -> StateStamp | None:
        """Return the stamp of this index's state file, or None if it has none. Parses nothing but its head."""
        files = None if self._in_memory else self.identity.find()
        return None if files is None else state_stamp(files.state_path)

    def stand_in(self) -> IndexState | None:
        """Return the state of an index of the same database for another embedder that covers the same roots, or None.

        Opened without its vectors, it answers by text until this index is there. Loads no database.
        """
        for path, head in () if self._in_memory else self.identity.others():
            state = load_state(path) if head.schema == SCHEMA_VERSION else None
            if state is not None and all(root in state.roots for root in self._roots):
                return state
        return None

    def reason_to_sync(self, state: IndexState | None, scan: Scan) -> str | None:
        """Return why the published index must be synced with `scan`, or None if it is in sync."""
        if state is None:
            other = None if self._in_memory else next(self.identity.others(), None)
            return "there is no index yet" if other is None else f"there is no index for {self.identity.embedder} yet"
        if not self._store_of(state.table.name).exists:
            return "the database is missing"
        if state.schema != SCHEMA_VERSION:
            return f"the index has schema {state.schema}, this version writes {SCHEMA_VERSION}"
        if state.embedding != self.embedding and not (self._embedder_breaker.is_open and self._embedder is not None):
            return f"the embeddings changed from {state.embedding} to {self.embedding}"
        if any(root not in state.roots for root in self._roots):
            return "a skills directory is not in the index yet"
        missing = sum(state.roots[root].missing_vectors for root in self._roots)
        if missing and self._embedder is not None and not self._embedder_breaker.is_open:
            return f"{missing} skills have no embeddings yet"
        return "skills changed" if scan.changed else None

    def open(self, state: IndexState) -> LanceIndex:
        """Open the published version; vectors of another provider are not used. Raises IndexDamaged."""
        own = self._embedder is not None and state.embedding == self._embedder.identity
        store = self._store_of(state.table.name)
        index = store.open(state.table_version, created_as=state.table.id, with_vectors=own)
        store.mark_used()
        return index

    def sync(
        self,
        take_scan: Callable[[ScanCache], Scan],
        *,
        force_reason: str | None = None,
        rebuild: bool = False,
        failed: TableVersion | None = None,
    ) -> tuple[Scan, Published]:
        """Sync the index with the files, and return it with the scan that it now holds.

        `take_scan` returns a scan, given the scan cache of the published state. It is called under the lock, so that
        the scan is what is published. With a `force_reason` every row is compared, even where nothing seems to have
        changed. `rebuild` rewrites the table; so does a `failed` version that is still the published one. Raises
        IndexUnavailable, naming the path, when the database cannot be locked or written.
        """
        if self._in_memory:
            return self._sync_locked(take_scan, force_reason=force_reason, rebuild=rebuild, failed=failed)
        from filelock import FileLock

        try:
            os.makedirs(os.path.dirname(self._lock_path), exist_ok=True)
            # The operating system releases the lock of a dead process, so a stale lock cannot block.
            lock = FileLock(self._lock_path)
            self._acquire(lock)
            try:
                return self._sync_locked(take_scan, force_reason=force_reason, rebuild=rebuild, failed=failed)
            finally:
                lock.release()
        except OSError as error:
            raise self._unwritable(str(damaged(error))) from error

    def save_stamps(self, scan: Scan, published: IndexState) -> None:
        """Save the stamps of files that were opened and found unchanged, so that they are not opened again.

        This is an optimisation only. It is skipped where it saves nothing, where the state cannot be written now, and
        where another state was published since `published` was read.
        """
        before = published.memory_of(self._roots)
        if self._in_memory or not any(_has_newer_stamp(entry, before.get(path)) for path, entry in scan.memory.items()):
            return
        from filelock import FileLock, Timeout

        try:
            with FileLock(self._lock_path, timeout=0):
                state = self.state()
                if state is not None and state.table_version == published.table_version:
                    self._save(replace(state, roots=self._merged(state, scan.memory)))
        except (Timeout, OSError) as error:
            log.debug("The index state was not updated: %s", error)

    def cancel(self) -> None:
        """Stop a sync that is waiting or writing in another thread; the published index stays unchanged."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def _acquire(self, lock: Any) -> None:
        from filelock import Timeout

        deadline = time.monotonic() + self._lock_timeout
        while True:
            self._check_cancelled()
            try:
                # In steps, so that a closing server does not wait for another writer.
                lock.acquire(timeout=max(0.0, min(_LOCK_STEP_SECONDS, deadline - time.monotonic())))
            except Timeout as error:
                if time.monotonic() < deadline:
                    continue
                raise IndexUnavailable(
                    f"Another process has been writing the index at {self.db_path} for {self._lock_timeout:g} seconds",
                    hint="wait for that process, or stop it",
                ) from error
            return

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise IndexUnavailable("Indexing was stopped before it finished", hint="start it again")

    @property
    def _lock_path(self) -> str:
        return os.path.join(self.identity.directory, LOCK_FILE)

    @property
    def _in_memory(self) -> bool:
        return self.db_path == IN_MEMORY

    def _sync_locked(
        self,
        take_scan: Callable[[ScanCache], Scan],
        *,
        force_reason: str | None,
        rebuild: bool,
        failed: TableVersion | None,
    ) -> tuple[Scan, Published]:
        refusal = self.refusal()
        if refusal is not None:
            raise refusal
        # Loaded here, under the lock: another process may have published while this one waited.
        state = self.state()
        scan = take_scan({} if state is None else state.memory_of(self._roots))
        reason = force_reason or self.reason_to_sync(state, scan)
        if failed is not None and state is not None and state.published == failed:
            reason, rebuild = "the index cannot be read", True
        if reason is None and state is not None:
            try:
                return scan, Published(self.open(state), state)
            except IndexDamaged as error:
                reason = f"the database is damaged ({error})"
        log.info("Indexing %s: %s", self.db_path, reason)
        return scan, self._write(None if rebuild else state, scan, reason or "", published=state)

    def _write(self, base: IndexState | None, scan: Scan, reason: str, *, published: IndexState | None) -> Published:
        """Write the scan as changes to `base`, or as a new table where there is no usable base, and publish it."""
        skills = scan.snapshot.everything
        try:
            accepted = {self.embedding, self._own_embedding} if self._embedder_breaker.is_open else {self.embedding}
            written = self._update(base, skills, reason, accepted)
            if written is None:
                vectors, failure = self._embed(skills)
                if failure is not None:
                    # An existing table without vectors is as good as a new one.
                    written = self._update(base, skills, reason, {NO_EMBEDDING}, failure)
                written = written or self._rebuild(skills, vectors, reason, failure, published)
            kept = None if written.report.rebuilt else base
            own = self._embedder is not None and written.embedding == self._embedder.identity
            index = self._store_of(written.table).open(written.version, with_vectors=own)
            identity = self.identity
            state = IndexState(
                database=identity.database_name,
                embedder=identity.embedder,
                schema=SCHEMA_VERSION,
                embedding=written.embedding,
                table=PublishedTable(written.table, index.table_id),
                table_version=written.version,
                roots=self._merged(kept, scan.memory, written),
            )
            stamp = self._save(state)
        except IndexDamaged as error:
            self._check_cancelled()
            raise self._unwritable(str(error)) from error
        self._remove_unused()
        return Published(index, state, written.report, stamp)

    def _remove_unused(self) -> None:
        """Remove the database's indexes for other embedders that nobody has opened for a month."""
        for path, head in () if self._in_memory else list(self.identity.others()):
            store = LanceStore(self.db_path, head.table)
            try:
                used = max(os.stat(path).st_mtime, store.used_at())
                if time.time() - used < _UNUSED_SECONDS:
                    continue
                log.info("The index for %s at %s was last used a month ago; it is removed", head.embedder, self.db_path)
                os.unlink(path)
                store.discard()
            except (OSError, IndexDamaged) as error:
                log.warning("The unused index for %s cannot be removed: %s", head.embedder, error)

    def _update(
        self,
        base: IndexState | None,
        skills: Sequence[Skill],
        reason: str,
        accepted: Collection[str],
        failure: str | None = None,
    ) -> _Written | None:
        """Write the differences from `base`. Return None where `base` is not usable: then the table is rebuilt.

        `accepted` are the embeddings that `base` may hold; `failure` is why there are no better ones.
        """
        if base is None or base.schema != SCHEMA_VERSION or base.embedding not in accepted:
            return None
        try:
            index = self._store_of(base.table.name).open(base.table_version, created_as=base.table.id)
            if index.dimension is None and base.embedding != NO_EMBEDDING and skills:
                # It was written when there was no skill to embed.
                return None
            return self._update_rows(base, index, skills, reason, failure)
        except IndexDamaged as error:
            self._check_cancelled()
            log.warning("The index at %s cannot be updated and is rebuilt: %s", self.db_path, error)
            return None

    def _update_rows(
        self, base: IndexState, index: LanceIndex, skills: Sequence[Skill], reason: str, failure: str | None
    ) -> _Written:
        stored = index.stored()
        present = {skill.directory for skill in skills}
        changed = [
            skill
            for skill in skills
            if (row := stored.get(skill.directory)) is None or row.content_hash != skill.stamp.content_hash
        ]
        claimed = base.memory_of(self._roots)
        removed = [
            path for path, row in stored.items() if path not in present and (row.root in self._roots or path in claimed)
        ]
        vectors: dict[str, Vector] = {}
        if index.dimension is not None:
            vectors = self._unchanged_vectors(changed, index)
            embedded, failure = self._embed([skill for skill in changed if skill.directory not in vectors])
            vectors |= embedded
        version = index.version
        if changed or removed:
            rows = self._rows(changed, vectors, vectors_wanted=index.dimension is not None)
            store = self._store_of(base.table.name)
            version = store.update(rows, removed=removed, dimension=index.dimension, published=version)
        paths = frozenset(skill.directory for skill in changed)
        return _Written(
            table=base.table.name,
            version=version,
            embedding=base.embedding,
            without_vectors=frozenset() if index.dimension is None else paths - vectors.keys(),
            touched=paths.union(removed),
            report=SyncReport(reason, len(changed), len(removed), rebuilt=False, embedding_failure=failure),
        )

    def _rebuild(
        self,
        skills: Sequence[Skill],
        vectors: Mapping[str, Vector],
        reason: str,
        failure: str | None,
        published: IndexState | None,
    ) -> _Written:
        dimension = len(next(iter(vectors.values()))) if vectors else None
        now = None if published is None else published.table_version
        store = self._store_of(FIRST_TABLE if self._in_memory else self.identity.claim().table)
        is_first = not store.occupied
        try:
            version = store.rebuild(self._rows(skills, vectors), dimension=dimension, published=now)
        except IndexDamaged as error:
            self._check_cancelled()
            if published is not None and self._is_readable(published):
                raise
            if is_first:
                # Nothing was there that could be damaged: what it left is removed, and the cause is told as it is.
                store.discard()
                raise
            log.warning("The table at %s cannot be overwritten and is removed: %s", self.db_path, error)
            store.discard()
            version = store.rebuild(self._rows(skills, vectors), dimension=dimension)
        return _Written(
            table=store.table,
            version=version,
            embedding=self._own_embedding if vectors or not skills else NO_EMBEDDING,
            without_vectors=frozenset(),
            touched=frozenset(),
            report=SyncReport(reason, len(skills), 0, rebuilt=True, embedding_failure=failure),
        )

    def _is_readable(self, published: IndexState) -> bool:
        """Whether the published version can be read: then it is not removed for one that may never be written."""
        try:
            self._store_of(published.table.name).open(published.table_version, created_as=published.table.id).stored()
        except IndexDamaged:
            return False
        return True

    def _unchanged_vectors(self, skills: Sequence[Skill], index: LanceIndex) -> dict[str, Vector]:
        """Return the stored vectors of the skills whose searchable text is still the embedded one."""
        earlier = index.vectors([skill.directory for skill in skills])
        return {
            skill.directory: earlier[skill.directory].vector
            for skill in skills
            if skill.directory in earlier and earlier[skill.directory].text == skill.searchable_text
        }

    def _embed(self, skills: Sequence[Skill]) -> tuple[dict[str, Vector], str | None]:
        """Return the vectors by directory, or none and why: with only some, the other skills would be hidden."""
        if self._embedder is None or self._embedder_breaker.is_open:
            return {}, None
        vectors: dict[str, Vector] = {}
        try:
            for start in range(0, len(skills), _EMBEDDED_AT_ONCE):
                self._check_cancelled()
                self._progress("embedding", start, len(skills))
                part = skills[start : start + _EMBEDDED_AT_ONCE]
                answered = self._embedder.embed_documents([skill.searchable_text for skill in part])
                vectors.update(zip((skill.directory for skill in part), answered, strict=True))
        except EmbeddingError as error:
            return {}, self._record_failure(error)
        return vectors, None

    def _record_failure(self, error: EmbeddingError) -> str:
        self._embedder_breaker.record_failure()
        log.warning("Embedding failed; search uses full text alone for skills without vectors: %s", error.message)
        return error.message

    def _rows(
        self, skills: Sequence[Skill], vectors: Mapping[str, Vector], *, vectors_wanted: bool = False
    ) -> Iterator[IndexRow]:
        for done, skill in enumerate(skills):
            self._check_cancelled()
            self._progress("indexing", done, len(skills))
            try:
                instructions = read_document(skill).instructions
            except SkillUnreadable as error:
                # It was removed after the scan: the row can be found until the next scan removes it.
                log.warning("%s: %s", error.path, error.message)
                instructions = ""
            vector = vectors.get(skill.directory)
            # A row that lacks its vector has an empty hash, which no file has, so that the next sync completes it.
            content_hash = "" if vectors_wanted and vector is None else skill.stamp.content_hash
            yield IndexRow(skill, content_hash, instructions, vector)
        self._progress("indexing", len(skills), len(skills))

    def _merged(
        self, state: IndexState | None, memory: ScanCache, written: _Written | None = None
    ) -> dict[str, RootState]:
        """Return the state of every root, with `memory` as the scan cache of this indexer's own roots.

        Other roots keep theirs, except for directories whose rows were `written`: their servers scan those again.
        """
        merged: dict[str, RootState] = {}
        for root, earlier in ({} if state is None else state.roots).items():
            merged[root] = earlier
            touched = frozenset() if written is None else written.touched & earlier.memory.keys()
            if touched and root not in self._roots:
                rest = {path: entry for path, entry in earlier.memory.items() if path not in touched}
                merged[root] = replace(earlier, memory=rest)
        for root in self._roots:
            own = {path: entry for path, entry in memory.items() if entry.root == root}
            if written is not None:
                missing = len(own.keys() & written.without_vectors)
            else:
                missing = merged[root].missing_vectors if root in merged else 0
            merged[root] = RootState(root_digest(own, root), missing, own)
        return merged

    def _save(self, state: IndexState) -> StateStamp | None:
        if self._in_memory:
            self._memory_state = state
            return None
        return save_state(self.identity.claim().state_path, state)

    def _store_of(self, table: str) -> LanceStore:
        if self._store.table != table:
            self._store = LanceStore(self.db_path, table)
        return self._store

    def _unwritable(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(
            f"The index at {self.db_path} cannot be written: {reason}",
            hint="free space or grant access there, or set DB_PATH to another path",
        )


def _has_newer_stamp(entry: CachedSkillFile, before: CachedSkillFile | None) -> bool:
    # A file with an mtime in the future is read again by every scan: saving its stamp saves nothing.
    return before is not None and before.stamp.read_at_ns != entry.stamp.read_at_ns > entry.stamp.mtime_ns
