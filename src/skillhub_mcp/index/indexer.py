"""How does the index come to hold what a scan found? One writer at a time; the published index stays whole.

A sync writes new versions of the table and then replaces `index_state.json`, which is the commit: killed at any
moment, it leaves the last published version answering, and the next sync starts from what the table really
holds, never from what an unfinished one meant to write.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillhub_mcp.embedders.base import Embedder, Vector
from skillhub_mcp.errors import EmbeddingError, IndexUnavailable, SkillUnreadable
from skillhub_mcp.index.lance import IndexDamaged, LanceIndex
from skillhub_mcp.index.lance_store import IN_MEMORY, SCHEMA_VERSION, LanceStore
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.rows import IndexRow
from skillhub_mcp.index.state import (
    NO_EMBEDDING,
    IndexState,
    RootState,
    StateStamp,
    load_state,
    root_digest,
    save_state,
    state_path,
)
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import CachedSkillFile, Scan, ScanCache

log = logging.getLogger(__name__)

LOCK_FILE = "index.lock"
_EMBEDDED_AT_ONCE = 256
_LOCK_STEP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did. `reason` says why it had to, `embedding_failure` why it holds no vectors though it should."""

    reason: str
    written: int
    removed: int
    rebuilt: bool
    embedding_failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    """A table version that is ready to be published. `touched` are the rows changed or removed since the last one."""

    version: int
    embedding: str
    without_vectors: frozenset[str]
    touched: frozenset[str]
    report: SyncReport


@dataclass(frozen=True, slots=True)
class Published:
    """The index as published: the version to ask, the state that describes it, and that file's stamp.

    `report` and `stamp` are None where nothing had to be written, and the stamp where the state is in no file.
    """

    index: LanceIndex
    state: IndexState
    report: SyncReport | None = None
    stamp: StateStamp | None = None


class Indexer:
    """Keeps one database in step with scans of `roots`. `embedder` is None for full text alone.

    An embedder that failed is left alone for `rest_seconds`; a lock is waited for `lock_timeout` seconds.
    """

    def __init__(
        self,
        db_path: str,
        roots: tuple[SkillRoot, ...],
        *,
        embedder: Embedder | None,
        lock_timeout: float = 600.0,
        rest_seconds: float = 300.0,
        progress: ProgressCallback = no_progress,
    ) -> None:
        self.db_path = db_path
        self._roots = tuple(root.path for root in roots)
        self._embedder = embedder
        self._lock_timeout = lock_timeout
        self._rest_seconds = rest_seconds
        self._progress = progress
        self._store = LanceStore(db_path)
        self._memory_state: IndexState | None = None
        self._cancelled = threading.Event()
        self._rests_until = float("-inf")

    @property
    def embedding(self) -> str:
        """Whose embeddings the index should hold now: none while a provider that failed is left to rest."""
        return NO_EMBEDDING if self._rests else self._own_embedding

    @property
    def _own_embedding(self) -> str:
        return NO_EMBEDDING if self._embedder is None else self._embedder.identity

    @property
    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until

    def state(self) -> IndexState | None:
        """Return the published state, or None. Loads no database."""
        return self._memory_state if self._in_memory else load_state(state_path(self.db_path))

    def reason_to_sync(self, state: IndexState | None, scan: Scan) -> str | None:
        """Return why the published index must be synced with `scan`, or None if it need not be (seed 002 §4.2)."""
        if state is None:
            return "there is no index yet"
        if not self._store.exists:
            return "the database is gone"
        if state.schema != SCHEMA_VERSION:
            return f"the index has schema {state.schema}, this version writes {SCHEMA_VERSION}"
        if state.embedding != self.embedding and not (self._rests and self._embedder is not None):
            return f"the embeddings changed from {state.embedding} to {self.embedding}"
        if any(root not in state.roots for root in self._roots):
            return "a skills directory is new to the index"
        missing = sum(state.roots[root].missing_vectors for root in self._roots)
        if missing and self._embedder is not None and not self._rests:
            return f"{missing} skills still lack embeddings"
        return "skills changed" if scan.changed else None

    def open(self, state: IndexState) -> LanceIndex:
        """Open the published version; another provider's vectors in it are left unused. Raises IndexDamaged."""
        own = self._embedder is not None and state.embedding == self._embedder.identity
        return self._store.open(state.table_version, with_vectors=own)

    def sync(
        self,
        take_scan: Callable[[ScanCache], Scan],
        *,
        force_reason: str | None = None,
        rebuild: bool = False,
        failed_version: int | None = None,
    ) -> tuple[Scan, Published]:
        """Bring the index in step with the files and return it with the scan it now holds.

        `take_scan` scans given what is remembered; it is called under the lock, so that what is published is what was
        seen. `force_reason`, a reason, compares every row even where nothing seems changed; with `rebuild` the table is
        written anew. `failed_version` is a version that could not answer: where it is still the published one, it is
        written anew too. Raises IndexUnavailable, naming the path, when the database cannot be locked or written.
        """
        if self._in_memory:
            return self._sync_locked(
                take_scan, force_reason=force_reason, rebuild=rebuild, failed_version=failed_version
            )
        from filelock import FileLock

        try:
            os.makedirs(os.path.dirname(self._lock_path), exist_ok=True)
            # The operating system frees the lock of a process that died, so a stale lock cannot block.
            lock = FileLock(self._lock_path)
            self._acquire(lock)
            try:
                return self._sync_locked(
                    take_scan, force_reason=force_reason, rebuild=rebuild, failed_version=failed_version
                )
            finally:
                lock.release()
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def save_stamps(self, scan: Scan, published: IndexState) -> None:
        """Note the stamps of files that were opened and found unchanged, so that they are not opened again.

        Only a saving: where nothing is gained by it, where the state cannot be written now, or where another was
        published since `published` was read, it is let go.
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
            log.debug("The index state was not refreshed: %s", error)

    def cancel(self) -> None:
        """Let a sync that is waiting or writing in another thread give up; what is published stays as it is."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether this indexer was told to give up."""
        return self._cancelled.is_set()

    def _acquire(self, lock: Any) -> None:
        from filelock import Timeout

        deadline = time.monotonic() + self._lock_timeout
        while True:
            self._check_cancelled()
            try:
                # In steps, so that a closing server need not wait for a writer elsewhere.
                lock.acquire(timeout=max(0.0, min(_LOCK_STEP_SECONDS, deadline - time.monotonic())))
            except Timeout as error:
                if time.monotonic() < deadline:
                    continue
                raise IndexUnavailable(
                    f"Another process has been writing the index at {self.db_path} for {self._lock_timeout:g} seconds",
                    hint="wait for it, or stop it",
                ) from error
            return

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise IndexUnavailable("Indexing was stopped before it was done", hint="start again")

    @property
    def _lock_path(self) -> str:
        return os.path.join(os.path.dirname(os.path.abspath(self.db_path)), LOCK_FILE)

    @property
    def _in_memory(self) -> bool:
        return self.db_path == IN_MEMORY

    def _sync_locked(
        self,
        take_scan: Callable[[ScanCache], Scan],
        *,
        force_reason: str | None,
        rebuild: bool,
        failed_version: int | None,
    ) -> tuple[Scan, Published]:
        # Read here, under the lock: another process may have published while this one waited.
        state = self.state()
        scan = take_scan({} if state is None else state.memory_of(self._roots))
        reason = force_reason or self.reason_to_sync(state, scan)
        if failed_version is not None and state is not None and state.table_version == failed_version:
            reason, rebuild = "the index failed to answer", True
        if reason is None and state is not None:
            try:
                return scan, Published(self.open(state), state)
            except IndexDamaged as error:
                reason = f"the database is damaged ({error})"
        log.info("Indexing %s: %s", self.db_path, reason)
        return scan, self._write(None if rebuild else state, scan, reason or "", published=state)

    def _write(self, base: IndexState | None, scan: Scan, reason: str, *, published: IndexState | None) -> Published:
        """Write what `scan` saw upon `base`, or anew where there is no base to build upon, and publish it."""
        skills = scan.snapshot.everything
        try:
            accepted = {self.embedding, self._own_embedding} if self._rests else {self.embedding}
            written = self._update(base, skills, reason, accepted)
            if written is None:
                vectors, failure = self._embed(skills)
                if failure is not None:
                    # What is there without vectors already is as good as what could be written now.
                    written = self._update(base, skills, reason, {NO_EMBEDDING}, failure)
                written = written or self._rebuild(skills, vectors, reason, failure, published)
            kept = None if written.report.rebuilt else base
            state = IndexState(
                schema=SCHEMA_VERSION,
                embedding=written.embedding,
                table_version=written.version,
                roots=self._merged(kept, scan.memory, written),
            )
            index = self.open(state)
            stamp = self._save(state)
        except IndexDamaged as error:
            self._check_cancelled()
            raise self._unwritable(str(error)) from error
        return Published(index, state, written.report, stamp)

    def _update(
        self,
        base: IndexState | None,
        skills: Sequence[Skill],
        reason: str,
        accepted: Collection[str],
        failure: str | None = None,
    ) -> _Written | None:
        """Write what differs from `base`. Return None where it cannot be built upon: then all is written anew.

        `accepted` are the embeddings that `base` may hold; `failure` is why it gets no better ones.
        """
        if base is None or base.schema != SCHEMA_VERSION or base.embedding not in accepted:
            return None
        try:
            index = self._store.open(base.table_version)
            if index.dimension is None and base.embedding != NO_EMBEDDING and skills:
                # It was written when there was nothing to embed.
                return None
            return self._update_rows(base, index, skills, reason, failure)
        except IndexDamaged as error:
            self._check_cancelled()
            log.warning("The index at %s cannot be brought up to date and is built anew: %s", self.db_path, error)
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
            version = self._store.update(rows, removed=removed, dimension=index.dimension, published=version)
        paths = frozenset(skill.directory for skill in changed)
        return _Written(
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
        try:
            version = self._store.rebuild(self._rows(skills, vectors), dimension=dimension, published=now)
        except IndexDamaged as error:
            self._check_cancelled()
            if published is not None and self._is_readable(published):
                raise
            log.warning("The table at %s cannot be overwritten and is removed: %s", self.db_path, error)
            self._store.discard()
            version = self._store.rebuild(self._rows(skills, vectors), dimension=dimension)
        return _Written(
            version=version,
            embedding=self._own_embedding if vectors or not skills else NO_EMBEDDING,
            without_vectors=frozenset(),
            touched=frozenset(),
            report=SyncReport(reason, len(skills), 0, rebuilt=True, embedding_failure=failure),
        )

    def _is_readable(self, published: IndexState) -> bool:
        """Whether the published version can be read: then it is not given up for one that may never be written."""
        try:
            self._store.open(published.table_version).stored()
        except IndexDamaged:
            return False
        return True

    def _unchanged_vectors(self, skills: Sequence[Skill], index: LanceIndex) -> dict[str, Vector]:
        """Return the vectors of those skills whose searchable text is still the one that was embedded."""
        earlier = index.vectors([skill.directory for skill in skills])
        return {
            skill.directory: earlier[skill.directory].vector
            for skill in skills
            if skill.directory in earlier and earlier[skill.directory].text == skill.searchable_text
        }

    def _embed(self, skills: Sequence[Skill]) -> tuple[dict[str, Vector], str | None]:
        """Return the vectors by directory, or none and why: an index of half the vectors would hide the other half."""
        if self._embedder is None or self._rests:
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
        self._rests_until = time.monotonic() + self._rest_seconds
        log.warning("Search answers from text alone for what could not be embedded: %s", error.message)
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
                # It vanished after the scan: the row stays findable until the next scan removes it.
                log.warning("%s: %s", error.path, error.message)
                instructions = ""
            vector = vectors.get(skill.directory)
            # A row without the vector it should have matches no file's hash, so that the next sync completes it.
            content_hash = "" if vectors_wanted and vector is None else skill.stamp.content_hash
            yield IndexRow(skill, content_hash, instructions, vector)
        self._progress("indexing", len(skills), len(skills))

    def _merged(
        self, state: IndexState | None, memory: ScanCache, written: _Written | None = None
    ) -> dict[str, RootState]:
        """Return what is remembered of every root once `memory` is what is known of this indexer's own.

        Other roots keep theirs, but for directories whose rows were `written`: their servers look at those again.
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
        return save_state(state_path(self.db_path), state)

    def _unwritable(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(
            f"The index at {self.db_path} cannot be written: {reason}",
            hint="free space or grant access there, or set DB_PATH to another place",
        )


def _has_newer_stamp(entry: CachedSkillFile, before: CachedSkillFile | None) -> bool:
    # A file whose time lies ahead of the clock is read again at every take_scan: noting that saves nothing.
    return before is not None and before.stamp.read_at_ns != entry.stamp.read_at_ns > entry.stamp.mtime_ns
