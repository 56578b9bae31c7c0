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

from skillhub_mcp.errors import EmbeddingError, IndexUnavailable, SkillUnreadable
from skillhub_mcp.search.embedders.base import Embedder, Vector
from skillhub_mcp.search.lance import IN_MEMORY, SCHEMA_VERSION, IndexDamaged, LanceIndex, LanceStore, Row
from skillhub_mcp.search.state import (
    NO_EMBEDDING,
    IndexState,
    load_state,
    root_hashes,
    save_state,
    state_path,
)
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.registry import Memory, Scan, read_document
from skillhub_mcp.skills.roots import SkillRoot

log = logging.getLogger(__name__)

LOCK_FILE = "index.lock"
_EMBEDDED_AT_ONCE = 256
_REST_AFTER_FAILURE_SECONDS = 300.0

Progress = Callable[[str, int, int], None]


def no_progress(step: str, done: int, total: int) -> None:
    """Say nothing."""


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
    version: int
    missing_vectors: int
    report: SyncReport


@dataclass(frozen=True, slots=True)
class Published:
    """The index as published: the version to ask, and the state that describes it."""

    index: LanceIndex
    state: IndexState
    report: SyncReport | None


class Indexer:
    """Keeps one database in step with scans of `roots`. `embedder` is None for full text alone."""

    def __init__(
        self,
        db_path: str,
        roots: tuple[SkillRoot, ...],
        *,
        embedder: Embedder | None,
        lock_timeout: float = 600.0,
        progress: Progress = no_progress,
    ) -> None:
        self.db_path = db_path
        self._roots = roots
        self._embedder = embedder
        self._lock_timeout = lock_timeout
        self._progress = progress
        self._store = LanceStore(db_path)
        self._memory_state: IndexState | None = None
        self._cancelled = threading.Event()
        self._rests_until = float("-inf")

    @property
    def embedding(self) -> str:
        """Whose embeddings the index should hold now: none while a provider that failed is left to rest."""
        return NO_EMBEDDING if self._embedder is None or self._rests else self._embedder.identity

    @property
    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until

    def state(self) -> IndexState | None:
        """Return the published state, or None. Loads no database."""
        return self._memory_state if self._in_memory else load_state(state_path(self.db_path))

    def stale(self, state: IndexState | None, scan: Scan) -> str | None:
        """Return why the published index must be synced with `scan`, or None if it need not be (seed 002 §4.2)."""
        if state is None:
            return "there is no index yet"
        if not self._store.exists:
            return "the database is gone"
        if state.schema != SCHEMA_VERSION:
            return f"the index has schema {state.schema}, this version writes {SCHEMA_VERSION}"
        if state.embedding != self.embedding and not (self._rests and self._embedder is not None):
            return f"the embeddings changed from {state.embedding} to {self.embedding}"
        if state.missing_vectors and not self._rests:
            return f"{state.missing_vectors} skills still lack embeddings"
        if any(root.path not in state.hashes for root in self._roots):
            return "a skills directory is new to the index"
        return "skills changed" if scan.changed else None

    def open(self, state: IndexState) -> LanceIndex:
        """Open the published version. Raises IndexDamaged."""
        return self._store.open(state.table_version)

    def sync(self, look: Callable[[Memory], Scan], *, force: str | None = None) -> tuple[Scan, Published]:
        """Bring the index in step with the files and return it with the scan it now holds.

        `look` scans given what is remembered; it is called under the lock, so that what is published is what was
        seen. With `force`, the reason why, the table is written anew. Raises IndexUnavailable, naming the path,
        when the database cannot be locked or written.
        """
        if self._in_memory:
            return self._sync_locked(look, force=force)
        from filelock import FileLock, Timeout

        try:
            os.makedirs(os.path.dirname(self._lock_path), exist_ok=True)
            # The operating system frees the lock of a process that died, so a stale lock cannot block.
            with FileLock(self._lock_path, timeout=self._lock_timeout):
                return self._sync_locked(look, force=force)
        except Timeout as error:
            raise IndexUnavailable(
                f"Another process has been writing the index at {self.db_path} for {self._lock_timeout:g} seconds",
                hint="wait for it, or stop it",
            ) from error
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def remember(self, scan: Scan) -> None:
        """Note the stamps of files that were opened and found unchanged, so that they are not opened again.

        Only a saving: where the state cannot be written now, it is let go.
        """
        if self._in_memory:
            return
        from filelock import FileLock, Timeout

        try:
            with FileLock(self._lock_path, timeout=0):
                state = self.state()
                if state is not None:
                    self._save(replace(state, memory=self._merged(state, scan)))
        except (Timeout, OSError) as error:
            log.debug("The index state was not refreshed: %s", error)

    @property
    def _lock_path(self) -> str:
        return os.path.join(os.path.dirname(os.path.abspath(self.db_path)), LOCK_FILE)

    @property
    def _in_memory(self) -> bool:
        return self.db_path == IN_MEMORY

    def _sync_locked(self, look: Callable[[Memory], Scan], *, force: str | None) -> tuple[Scan, Published]:
        # Read here, under the lock: another process may have published while this one waited.
        state = self.state()
        scan = look({} if state is None else state.memory)
        reason = force or self.stale(state, scan)
        if reason is None and state is not None:
            try:
                index = self.open(state)
            except IndexDamaged as error:
                reason = f"the database is damaged ({error})"
            else:
                return scan, Published(index, state, None)
        log.info("Indexing %s: %s", self.db_path, reason)
        return scan, self._write(state, scan, reason or "", anew=force is not None)

    def _write(self, state: IndexState | None, scan: Scan, reason: str, *, anew: bool) -> Published:
        reusable = state is not None and not anew and state.schema == SCHEMA_VERSION
        same_vectors = state is not None and (state.embedding == self.embedding or self._rests)
        latest = self._latest() if reusable and same_vectors else None
        try:
            if state is not None and latest is not None:
                written = self._update(latest, scan.snapshot.everything, reason)
                embedding = state.embedding
                memory = self._merged(state, scan)
            else:
                written = self._rebuild(scan.snapshot.everything, reason)
                embedding = NO_EMBEDDING if written.report.embedding_failure else self.embedding
                memory = dict(scan.memory)
            roots = {*(entry.root for entry in memory.values()), *(root.path for root in self._roots)}
            published = IndexState(
                schema=SCHEMA_VERSION,
                embedding=embedding,
                missing_vectors=written.missing_vectors,
                table_version=written.version,
                hashes=root_hashes(memory, roots),
                memory=memory,
            )
            self._save(published)
            return Published(self._store.open(written.version), published, written.report)
        except IndexDamaged as error:
            raise self._unwritable(str(error)) from error

    def _latest(self) -> LanceIndex | None:
        """Return the table as it is, perhaps with more than was published; None when it cannot be used."""
        try:
            return self._store.open()
        except IndexDamaged as error:
            log.warning("The index at %s is damaged and is built anew: %s", self.db_path, error)
            return None

    def _update(self, latest: LanceIndex, skills: Sequence[Skill], reason: str) -> _Written:
        stored = latest.stored()
        own = {root.path for root in self._roots}
        present = {skill.directory for skill in skills}
        changed = [
            skill
            for skill in skills
            if (row := stored.get(skill.directory)) is None
            or (row.root, row.content_hash) != (skill.root, skill.stamp.content_hash)
        ]
        gone = [path for path, row in stored.items() if row.root in own and path not in present]
        vectors: dict[str, Vector] = {}
        failure = None
        if latest.dimension is not None:
            vectors = self._unchanged_vectors(changed, latest)
            try:
                vectors |= self._embed([skill for skill in changed if skill.directory not in vectors])
            except EmbeddingError as error:
                failure = self._note_failure(error)
        version = latest.version
        if changed or gone:
            rows = self._rows(changed, vectors, vectors_wanted=latest.dimension is not None)
            version = self._store.update(rows, gone=gone, dimension=latest.dimension)
        return _Written(
            version=version,
            missing_vectors=0 if latest.dimension is None else len(changed) - len(vectors),
            report=SyncReport(reason, len(changed), len(gone), rebuilt=False, embedding_failure=failure),
        )

    def _rebuild(self, skills: Sequence[Skill], reason: str) -> _Written:
        vectors: dict[str, Vector] = {}
        failure = None
        try:
            vectors = self._embed(skills)
        except EmbeddingError as error:
            failure = self._note_failure(error)
        dimension = len(next(iter(vectors.values()))) if vectors else None
        try:
            version = self._store.rebuild(self._rows(skills, vectors), dimension=dimension)
        except IndexDamaged as error:
            if self._cancelled.is_set():
                raise
            log.warning("The table at %s cannot be overwritten and is removed: %s", self.db_path, error)
            self._store.discard()
            version = self._store.rebuild(self._rows(skills, vectors), dimension=dimension)
        report = SyncReport(reason, len(skills), 0, rebuilt=True, embedding_failure=failure)
        return _Written(version=version, missing_vectors=0, report=report)

    def _unchanged_vectors(self, skills: Sequence[Skill], index: LanceIndex) -> dict[str, Vector]:
        """Return the vectors of those skills whose searchable text is still the one that was embedded."""
        earlier = index.vectors([skill.directory for skill in skills])
        return {
            skill.directory: earlier[skill.directory].vector
            for skill in skills
            if skill.directory in earlier and earlier[skill.directory].text == skill.searchable_text
        }

    def _embed(self, skills: Sequence[Skill]) -> dict[str, Vector]:
        if self._embedder is None or self._rests:
            return {}
        vectors: dict[str, Vector] = {}
        for start in range(0, len(skills), _EMBEDDED_AT_ONCE):
            part = skills[start : start + _EMBEDDED_AT_ONCE]
            self._progress("embedding", start, len(skills))
            answered = self._embedder.embed_documents([skill.searchable_text for skill in part])
            vectors.update(zip((skill.directory for skill in part), answered, strict=True))
        return vectors

    def _note_failure(self, error: EmbeddingError) -> str:
        self._rests_until = time.monotonic() + _REST_AFTER_FAILURE_SECONDS
        log.warning("Search answers from text alone for what could not be embedded: %s", error.message)
        return error.message

    def cancel(self) -> None:
        """Let a sync that is writing in another thread give up; what is published stays as it is."""
        self._cancelled.set()

    def _rows(
        self, skills: Sequence[Skill], vectors: Mapping[str, Vector], *, vectors_wanted: bool = False
    ) -> Iterator[Row]:
        for done, skill in enumerate(skills):
            if self._cancelled.is_set():
                raise IndexUnavailable("Indexing was stopped before it was done")
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
            yield Row(skill, content_hash, instructions, vector)
        self._progress("indexing", len(skills), len(skills))

    def _merged(self, state: IndexState, scan: Scan) -> Memory:
        own: Collection[str] = {root.path for root in self._roots}
        others = {path: entry for path, entry in state.memory.items() if entry.root not in own}
        return others | dict(scan.memory)

    def _save(self, state: IndexState) -> None:
        if self._in_memory:
            self._memory_state = state
        else:
            save_state(state_path(self.db_path), state)

    def _unwritable(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(
            f"The index at {self.db_path} cannot be written: {reason}",
            hint="free space or grant access there, or set DB_PATH to another place",
        )
