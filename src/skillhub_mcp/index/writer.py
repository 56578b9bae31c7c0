"""The one writer of an index: takes the lock, writes the rows that changed, and commits the version in the state file.

A writer that is killed at any moment leaves the last commit in use. Rows are committed as text first; vectors that need
a provider follow, and no lock is held while it is asked. The operating system releases the lock of a dead process.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from skillhub_mcp._util.file_modes import make_private_directory, missing_feature, private_mode
from skillhub_mcp.embedders.base import Embedder
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.features import SkillTerms
from skillhub_mcp.index.lance import IN_MEMORY, IndexDamaged, NoRoom, damaged, is_in
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.rows import EmbeddingOptions, RowBatches, RowEmbedder, StoredVector
from skillhub_mcp.index.schema import table_schema, text_hash
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.index.state_file import (
    NO_EMBEDDING,
    SCHEMA_VERSION,
    STATE_FORMAT,
    IndexFiles,
    IndexState,
    LibraryKeys,
    RootState,
    TableVersionId,
    free_label,
    label_of,
    make_key,
)
from skillhub_mcp.index.statistics import RootStatistics, Statistics, counted
from skillhub_mcp.index.store import Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import Scan, ScanCache

if TYPE_CHECKING:
    from filelock import AcquireReturnProxy

T = TypeVar("T")

log = logging.getLogger(__name__)

LOCK_FILE = "index.lock"
# Several servers of one index would each pay the provider for the same texts.
EMBEDDING_LOCK = ".embedding.lock"
_POLL_SECONDS = 0.2


KEPT_ROOT_SECONDS = 30 * 24 * 3600.0
# How old the time at which a root was last seen may be: noting it costs a write of the state.
_NOTED_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did: `reason` says why it was needed, `embedding_failure` why vectors are missing."""

    reason: str
    written: int
    removed: int
    rebuilt: bool
    embedding_failure: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many rows got a vector, and why others did not."""

    rows: int = 0
    failure: str | None = None


class SyncDepth(Enum):
    """How much a sync checks. CHANGES trusts the files' stamps, VERIFY reads files and rows, REBUILD rewrites all."""

    CHANGES = "changes"
    VERIFY = "verify"
    REBUILD = "rebuild"


class IndexWriter:
    """Keeps the index of one database, for one embedder or none, in sync with scans. `lock_timeout` is in seconds.

    One thread may sync while another embeds. What cannot be written raises IndexUnavailable.
    """

    def __init__(
        self,
        db_path: str,
        *,
        embedder: Embedder | None,
        lock_timeout: float = 600.0,
        embedding: EmbeddingOptions | None = None,
        progress: ProgressCallback = no_progress,
    ) -> None:
        self.db_path = db_path
        self.embedding = NO_EMBEDDING if embedder is None else embedder.identity
        self._files = IndexFiles(db_path, self.embedding)
        self._progress = progress
        # Set to abandon what is being written in another thread.
        self.cancelled = threading.Event()
        self._lock_timeout = lock_timeout
        self._statistics = RootStatistics(db_path)
        self._stores: dict[str, Store] = {}
        self._failed: TableVersionId | None = None
        own = embedding or EmbeddingOptions()
        self._sendable = own.sendable
        # What was not sent, and at which version of the table.
        self._kept_back: tuple[int, tuple[Skill, ...]] = (-1, ())
        self._embedder = None
        if embedder is not None:
            self._embedder = RowEmbedder(embedder, options=own, cancelled=self.cancelled, progress=progress)

    # Reading

    def state(self) -> IndexState | None:
        """Return the committed state, None if there is none that this version reads. Loads no database."""
        return self._files.state()

    def refusal(self) -> IndexUnavailable | None:
        """Return why the index is neither read nor written: a newer version of SkillHub wrote it."""
        found = self._files.newer()
        if found is None:
            return None
        return IndexUnavailable(
            f"The index at {self.db_path} was written by a newer SkillHub (format {found.format}, schema "
            f"{found.schema}; this one reads up to {STATE_FORMAT} and {SCHEMA_VERSION})",
            hint="update skillhub, or set SKILLHUB_DB_PATH to another path; the newer index is left as it is",
        )

    def reason_to_write(self, roots: Sequence[SkillRoot]) -> str | None:
        """Return why the index has to be written whatever the files are, or None."""
        state = self.state()
        if state is None:
            return "there is no index yet"
        if state.published == self._failed:
            return "the database is damaged"
        if not self.store(state.table).exists:
            return "the database is missing"
        if any(root.path not in state.roots for root in roots):
            return "a skills directory is not in the index yet"
        return None

    def open(self, state: IndexState, roots: Sequence[SkillRoot], before: SearchIndex | None = None) -> SearchIndex:
        """Return a committed version for searches below some roots; `before` if that is the same. Loads no database."""
        own = state.among(roots)
        keys = LibraryKeys({path: root.label for path, root in own.items()})
        if before is not None and before.published == state.published and before.keys == keys:
            return before

        def open_table() -> tuple[TableVersion, Statistics]:
            table = self.open_table(state)
            return table, sum((self._count(root, table) for root in own.values()), Statistics())

        unembedded = None if self._embedder is None else sum(root.unembedded for root in own.values())
        return SearchIndex(state.published, keys, open_table, unembedded=unembedded)

    def _count(self, root: RootState, table: TableVersion) -> Statistics:
        return self._statistics.load(root.statistics, root.label, table)

    def open_table(self, state: IndexState) -> TableVersion:
        """Open the committed version. Raises IndexDamaged."""
        if state.published == self._failed:
            raise IndexDamaged("it cannot be read")
        return self.store(state.table).open(state.published.version, created_as=state.published.table_id)

    def mark_damaged(self, published: TableVersionId) -> None:
        """Have the next sync rebuild this version, if it is still the committed one."""
        self._failed = published

    def states(self) -> list[IndexState]:
        """Return the committed states of the database's indexes for all embedders. Loads no database."""
        own = self.state()
        return [*([] if own is None else [own]), *self._files.others()]

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows and entries of some roots, of the database's indexes for all embedders."""
        with self._writing():
            for state in self.states():
                kept = {path: root for path, root in state.roots.items() if path not in roots}
                if len(kept) < len(state.roots):
                    rest = replace(state, roots=kept)
                    removed = state.rows.keys() - rest.rows.keys()
                    version = self.store(state.table).update(state.published.version, (), removed=removed)
                    self._save(rest.with_version(version.version, kept), state)

    # Writing

    def sync(
        self, roots: Sequence[SkillRoot], take_scan: Callable[[], Scan], reason: str, depth: SyncDepth
    ) -> tuple[Scan, SyncReport | None]:
        """Commit what `take_scan` finds under the lock; return that and what was written, None if the rows were right.

        VERIFY compares the scan with the rows, not with the state. REBUILD writes all rows again, with new vectors.
        """
        with self._writing():
            log.info("Indexing %s: %s", self.db_path, reason)
            scan = take_scan()
            state, base, rebuild = self.state(), None, depth is SyncDepth.REBUILD
            if state is not None and self.store(state.table).exists:
                try:
                    base = self.open_table(state)
                    if not rebuild or state.roots.keys() - {root.path for root in roots}:
                        return scan, self._update(roots, scan, reason, depth, state, base)
                except NoRoom:
                    raise
                except IndexDamaged as error:
                    self._check_cancelled()
                    log.warning("The index at %s is damaged and is rebuilt: %s", self.db_path, error)
                    reason = reason if rebuild else "it is damaged"
            return scan, self._rebuild(roots, scan, reason, depth, base)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the writer's lock. Raises IndexUnavailable, also for what cannot be written and for a newer index."""
        from filelock import Timeout

        try:
            if self.db_path != IN_MEMORY:
                make_private_directory(self._files.directory)
            with self._locked(LOCK_FILE, self._lock_timeout):
                refusal = self.refusal()
                if refusal is not None:
                    raise refusal
                yield
        except Timeout as error:
            self._check_cancelled()
            raise IndexUnavailable(
                f"Another process has been writing the index at {self.db_path} for {self._lock_timeout:g} seconds",
                hint="wait for that process, or stop it",
            ) from error
        except (IndexDamaged, OSError, NotImplementedError) as error:
            self._check_cancelled()
            reason = damaged(error)
            why, hint = str(reason), "free space or grant access there, or set SKILLHUB_DB_PATH to another path"
            if missing := missing_feature(self._files.directory):
                why, hint = f"its file system has no {missing}", "set SKILLHUB_DB_PATH to a local disk"
            raise IndexUnavailable(f"The index at {self.db_path} cannot be written: {why}", hint=hint) from reason

    def _if_free(self, name: str, work: Callable[[], T], otherwise: T) -> T:
        """Return what `work` does under a lock, or `otherwise` if another process holds it, or the work fails."""
        try:
            with self._locked(name, 0):
                return work()
        except (IndexDamaged, OSError, NotImplementedError) as error:
            log.debug("The index at %s is left as it is: %s", self.db_path, error)
            return otherwise

    def _locked(self, name: str, timeout: float) -> AcquireReturnProxy | contextlib.nullcontext[None]:
        from filelock import FileLock

        if self.db_path == IN_MEMORY:
            return contextlib.nullcontext()
        # A process that can open the file can hold the lock, and keep every writer waiting.
        mode = private_mode(self._files.directory) or 0o660
        lock = FileLock(os.path.join(self._files.directory, name), mode=mode)
        return lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS, cancel_check=self.cancelled.is_set)

    def _update(
        self,
        roots: Sequence[SkillRoot],
        scan: Scan,
        reason: str,
        depth: SyncDepth,
        state: IndexState,
        base: TableVersion,
    ) -> SyncReport | None:
        """Write the differences from the committed version beside the rows of other roots."""
        rebuild, next_roots = depth is SyncDepth.REBUILD, _next_roots(roots, scan.memory, state)
        stored = {key: skill.stamp.content_hash for key, skill in state.rows.items()}
        if depth is SyncDepth.VERIFY:
            stored = base.hashes()
        present = _by_key(scan, next_roots)
        written = {
            key: skill for key, skill in present.items() if rebuild or stored.get(key) != skill.stamp.content_hash
        }
        removed = stored.keys() - replace(state, roots=next_roots).rows.keys()
        batches = self._batches(written, None if rebuild else base)
        version = base
        if written or removed:
            version = self.store(state.table).update(base.version, batches.pieces(base.schema), removed=removed)
            replaced = defaultdict[str, list[SkillTerms]](list)
            for key, terms in base.counted({*written, *removed}):
                replaced[label_of(key)].append(terms)
            for root in state.roots.values():
                if root.label in batches.statistics.keys() | replaced.keys():
                    batches.statistics[root.label] += self._count(root, base) - counted(replaced[root.label])
        self._commit(state.table, version, next_roots, batches, state)
        if not (written or removed) and state.roots.keys() == next_roots.keys():
            return None
        return SyncReport(reason, len(written), len(removed), rebuild, batches.failure)

    def _rebuild(
        self, roots: Sequence[SkillRoot], scan: Scan, reason: str, depth: SyncDepth, base: TableVersion | None
    ) -> SyncReport:
        """Write a new table with the rows of these roots. Servers that have others write theirs again."""
        next_roots = _next_roots(roots, scan.memory, None)
        written = _by_key(scan, next_roots)
        batches = self._batches(written, None if depth is SyncDepth.REBUILD else base)
        store, schema = self.store(self._files.table), table_schema(batches.dimension)
        if base is None:
            # What is there cannot be read, and perhaps not be overwritten.
            store.discard()
        version = store.rebuild(batches.pieces, schema)
        self._commit(store.name, version, next_roots, batches, None)
        return SyncReport(reason, len(written), 0, True, batches.failure)

    def _batches(self, skills: Mapping[str, Skill], known: TableVersion | None) -> RowBatches:
        """Return the rows of skills, with the vectors that `known` has of the same texts."""
        vectors: Mapping[str, Sequence[float]] = {}
        if self._embedder is not None and known is not None:
            with contextlib.suppress(IndexDamaged):
                vectors = known.vectors_of(text_hash(skill.searchable_text) for skill in skills.values())
        return RowBatches(
            skills, vectors, embedder=self._embedder, check=self._check_cancelled, progress=self._progress
        )

    def _commit(
        self,
        table: str,
        version: TableVersion,
        roots: Mapping[str, RootState],
        batches: RowBatches,
        before: IndexState | None,
    ) -> None:
        names = {label: self._statistics.save(table, label, version, own) for label, own in batches.statistics.items()}
        roots = {path: replace(root, statistics=names.get(root.label, root.statistics)) for path, root in roots.items()}
        if self._embedder is not None and (before is None or before.published.version != version.version):
            roots = _with_unembedded(roots, version)
        published = TableVersionId(version.table_id, version.version)
        self._save(IndexState(self._files.database_name, self.embedding, table, published, roots), before)

    def _save(self, state: IndexState, before: IndexState | None) -> None:
        """Commit a state. Raises OSError."""
        own = state.embedder == self.embedding
        files = self._files if own else IndexFiles(self.db_path, state.embedder)
        files.write(state)
        used = {root.statistics for one in (state, before) if one is not None for root in one.roots.values()}
        self._statistics.remove_unused(state.table, used)

    def note(self, roots: Sequence[SkillRoot], memory: ScanCache, *, opened: bool) -> None:
        """Commit the present stamps of files, if some were `opened` in vain, and that the roots are in use.

        Nothing is noted while another process writes, and where nothing can be written.
        """
        state, last = self.state(), time.time() - _NOTED_SECONDS
        if state is None or not (opened or any(root.seen < last for root in state.among(roots).values())):
            return

        def save() -> None:
            present = self.state()
            if present is not None and present.published == state.published:
                self._save(replace(present, roots=_next_roots(roots, memory, present)), present)

        self._if_free(LOCK_FILE, save, None)

    # Behind the syncs

    @property
    def embedding_pause(self) -> float | None:
        """How many seconds to wait before the embedder may be asked again; None without an embedder."""
        return None if self._embedder is None else self._embedder.pause

    def unembedded(self, roots: Sequence[SkillRoot]) -> int:
        """Return how many rows of some roots have no vector, without those that may not be sent."""
        state = self.state()
        if state is None or self._embedder is None:
            return 0
        version, kept_back = self._kept_back
        may_send = self._sendable()
        withheld = sum(not may_send(skill) for skill in kept_back) if version == state.published.version else 0
        return max(0, sum(root.unembedded for root in state.among(roots).values()) - withheld)

    def embed(self, roots: Sequence[SkillRoot], *, seconds: float = float("inf")) -> Embedded:
        """Embed what has no vector, and commit it now and then. With `seconds`, only for so long.

        Nothing is embedded while another process does.
        """
        embedder = self._embedder
        if embedder is None or not self.unembedded(roots) or embedder.pause > 0.0:
            return Embedded()
        lock = os.path.basename(self._files.path) + EMBEDDING_LOCK
        return self._if_free(lock, lambda: self._embed(embedder, roots, seconds), Embedded())

    def _embed(self, embedder: RowEmbedder, roots: Sequence[SkillRoot], seconds: float) -> Embedded:
        added: list[int] = []

        def publish(vectors: Mapping[str, StoredVector]) -> None:
            added.append(self._add_vectors(vectors))

        state = self.state()
        if state is None:
            return Embedded()
        table = self.open_table(state)
        labels = [root.label for root in state.among(roots).values()]
        rows, may_send = state.rows, self._sendable()
        skills = {key: rows[key] for key in table.without_vector(is_in("root", labels)) if key in rows}
        texts = {key: skill.searchable_text for key, skill in skills.items() if may_send(skill)}
        self._kept_back = state.published.version, tuple(skill for key, skill in skills.items() if key not in texts)
        failure = embedder.embed(texts, publish, seconds=seconds, dimension=table.dimension)
        return Embedded(sum(added), failure)

    def _add_vectors(self, vectors: Mapping[str, StoredVector]) -> int:
        """Commit the vectors of texts that the index still has; return how many."""
        with self._writing():
            state = self.state()
            if state is None:
                return 0
            rows = state.rows
            current = {key: one for key, one in vectors.items() if key in rows and rows[key].searchable_text == one[0]}
            added = {key: vector for key, (_, vector) in current.items()}
            if added:
                hashes = {key: text_hash(text) for key, (text, _) in current.items()}
                version = self.store(state.table).add_vectors(state.published.version, added, hashes)
                self._save(state.with_version(version.version, _with_unembedded(state.roots, version)), state)
        return len(added)

    def tidy(self) -> bool:
        """Merge rows into the indexes and remove old versions, if there is enough of either. Waits for no other writer.

        Return whether another version was committed.
        """
        state = self.state()
        if state is None or self.cancelled.is_set() or not self.store(state.table).exists:
            return False
        return self._if_free(LOCK_FILE, self._tidy, False)

    def _tidy(self) -> bool:
        state = self.state()
        version = None if state is None else self.store(state.table).tidy(state.published.version)
        if state is None or version is None:
            return False
        self._save(state.with_version(version.version, state.roots), state)
        return True

    def store(self, table: str) -> Store:
        """Return the store of a table of this database."""
        return self._stores.setdefault(table, Store(self.db_path, table))

    def _check_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise IndexUnavailable("Indexing was stopped", hint="call again")


def _next_roots(roots: Sequence[SkillRoot], memory: ScanCache, committed: IndexState | None) -> dict[str, RootState]:
    """Return the roots of the next state: these with the entries of a scan, and others that were seen lately.

    Their statistics and vectors are as they were committed.
    """
    now = time.time()
    before = {} if committed is None else committed.roots
    own = {root.path for root in roots}
    states = {path: root for path, root in before.items() if path not in own and now - root.seen < KEPT_ROOT_SECONDS}
    for root in roots:
        known = before.get(root.path)
        if known is None:
            label = free_label(root.source.value, {state.label for state in (*states.values(), *before.values())})
            known = RootState(label, {}, "", 0, now)
        # Two roots of one server may lie in each other. A row of the inner one belongs to servers that have it alone.
        kept = {at: one for at, one in known.files.items() if at in memory}
        entries = {at: one for at, one in memory.items() if one.root == root.path}
        states[root.path] = replace(known, files={**kept, **entries}, seen=now)
    return states


def _by_key(scan: Scan, roots: Mapping[str, RootState]) -> dict[str, Skill]:
    return {make_key(roots[skill.root].label, skill.root, skill.directory): skill for skill in scan.snapshot.everything}


def _with_unembedded(roots: Mapping[str, RootState], version: TableVersion) -> dict[str, RootState]:
    """Return the roots with the numbers of their rows that have no vector."""
    labels = [label_of(key) for key in version.without_vector("true")]
    return {path: replace(root, unembedded=labels.count(root.label)) for path, root in roots.items()}
