"""The one writer: takes the lock, finds out which rows must change, writes them, and publishes the version.

A sync writes new versions of the table and then replaces `index_state.json`, which is the commit. A writer killed at
any moment leaves the last published version in use, and the next sync starts from what the table actually holds.

A sync publishes the text of a skill at once. Its vector comes behind it, from `embed_missing`, which holds no lock
while it asks a provider: until then text search finds the skill, however long the provider takes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from skillhub_mcp.embedders.base import Embedder
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.identity import IndexIdentity
from skillhub_mcp.index.kept_vectors import copies_of, free_table, unchanged_vectors, vectors_before, vectors_found
from skillhub_mcp.index.keyed_rows import with_keys
from skillhub_mcp.index.keys import RowKeys
from skillhub_mcp.index.lance import IndexDamaged, LanceIndex, NoRoom
from skillhub_mcp.index.lance_store import IN_MEMORY, KEYS_SINCE, SCHEMA_VERSION, LanceStore
from skillhub_mcp.index.missing_vectors import texts_to_embed, vectors_to_add
from skillhub_mcp.index.moved_roots import located_anew
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.root_states import has_others, merged, with_missing
from skillhub_mcp.index.row_embedder import ASK_AGAIN, EmbeddingOptions, RowEmbedder
from skillhub_mcp.index.row_keys import keys_of, keys_with, located, paths_in
from skillhub_mcp.index.row_source import RowSource
from skillhub_mcp.index.rows import StoredVector
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.state import (
    FIRST_TABLE,
    NO_EMBEDDING,
    STATE_FORMAT,
    IndexState,
    PublishedTable,
    StateStamp,
    TableVersion,
    load_state,
    save_state,
    state_stamp,
)
from skillhub_mcp.index.unused_indexes import remove_unused
from skillhub_mcp.index.writer_lock import WriterLock, unwritable
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import CachedSkillFile, Scan, ScanCache, changed_entries

log = logging.getLogger(__name__)

# Above, all rows are asked for at once.
_MANY_ROWS = 5_000


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
    without_vectors: frozenset[str]
    touched: frozenset[str]
    report: SyncReport


@dataclass(frozen=True, slots=True)
class Embedded:
    """What embedding did: the index with the new vectors if there are any, how many, and why it failed if it did."""

    published: Published | None = None
    rows: int = 0
    failure: str | None = None

    def reported(self, before: SyncReport | None) -> SyncReport | None:
        """Return the report of the sync before, with what embedding added to it."""
        if before is None and (self.rows or self.failure):
            before = SyncReport("skills had no embeddings yet", self.rows, 0, rebuilt=False)
        if before is None or self.failure is None:
            return before
        return replace(before, embedding_failure=self.failure)


@dataclass(frozen=True, slots=True)
class Published:
    """The published index: the version to read, the state that describes it, and the state file's stamp.

    `report` and `stamp` are None where nothing was written; `stamp` also where the state is kept in memory.
    """

    index: SkillIndex
    state: IndexState
    report: SyncReport | None = None
    stamp: StateStamp | None = None


class Indexer:
    """Keeps one database in sync with scans of `roots`. `embedder` is None for full text alone.

    `lock_timeout` is how many seconds to wait for another writer. One thread may sync while another embeds.
    """

    def __init__(
        self,
        db_path: str,
        roots: tuple[SkillRoot, ...],
        *,
        embedder: Embedder | None,
        lock_timeout: float = 600.0,
        embedding: EmbeddingOptions = ASK_AGAIN,
        progress: ProgressCallback = no_progress,
    ) -> None:
        self.db_path = db_path
        self.use_roots(roots)
        self._progress = progress
        self._store = LanceStore(db_path)  # that of the last table used: it holds a connection
        # The state as it was last read or written, and the stamp of its file: one value, as two threads set it.
        self._last: tuple[IndexState | None, StateStamp | None] = (None, None)
        self._cancelled = threading.Event()
        self._writer = WriterLock(db_path, lambda: self.identity, timeout=lock_timeout, check=self._check_cancelled)
        self._rows_embedder = (
            None
            if embedder is None
            else RowEmbedder(embedder, options=embedding, cancelled=self._cancelled, progress=progress)
        )

    def use_roots(self, roots: tuple[SkillRoot, ...]) -> None:
        """Sync the rows of these roots from now on; those of others stay as they are."""
        self._roots = {root.path: root.source.value for root in roots}

    @property
    def embedding(self) -> str:
        """The identity of the embeddings that the index holds."""
        return NO_EMBEDDING if self._rows_embedder is None else self._rows_embedder.embedder.identity

    @property
    def embedding_pause(self) -> float | None:
        """How many seconds to wait before `embed_missing` may ask the embedder again; None without an embedder."""
        return None if self._rows_embedder is None else self._rows_embedder.pause

    @property
    def identity(self) -> IndexIdentity:
        """Whose the index is: its database, and its embedder. A link in the path may point elsewhere the next time."""
        return IndexIdentity.of(self.db_path, self.embedding)

    def state(self) -> IndexState | None:
        """Return the published state, or None: also where a newer version of SkillHub wrote it. Loads no database."""
        if self._in_memory:
            return self._last[0]
        files = self.identity.find()
        # Before the state: where it is replaced in between, it is read once more the next time.
        stamp = None if files is None else state_stamp(files.state_path)
        if files is None or stamp is None:
            return None
        state, known = self._last
        if stamp != known:
            state = load_state(files.state_path, state)
            self._last = (state, stamp)
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
            hint="update skillhub, or set SKILLHUB_DB_PATH to another path; the newer index is left as it is",
        )

    def state_stamp(self) -> StateStamp | None:
        """Return the stamp of this index's state file, or None if it has none. Parses nothing but its head.

        Who asks uses the index, which is noted: a server may be idle for longer than unused indexes are kept.
        """
        files = None if self._in_memory else self.identity.find()
        if files is None:
            return None
        self._store_of(files.table).mark_used()
        return state_stamp(files.state_path)

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
        return self.reason_to_write(state) or ("skills changed" if scan.changed else None)

    def reason_to_write(self, state: IndexState | None) -> str | None:
        """Return why the published index must be written anew whatever the files are, or None if it need not."""
        if state is None:
            other = None if self._in_memory else next(self.identity.others(), None)
            return "there is no index yet" if other is None else f"there is no index for {self.identity.embedder} yet"
        if not self._store_of(state.table.name).exists:
            return "the database is missing"
        if state.schema != SCHEMA_VERSION:
            return f"the index has schema {state.schema}, this version writes {SCHEMA_VERSION}"
        if state.embedding != self.embedding:
            return f"the embeddings changed from {state.embedding} to {self.embedding}"
        if any(root not in state.roots for root in self._roots):
            return "a skills directory is not in the index yet"
        if state.entries_lost:
            return "what was read from the skills is lost"
        return None

    def open(self, state: IndexState) -> SkillIndex:
        """Open the published version; vectors of another provider are not used. Raises IndexDamaged."""
        own = self._rows_embedder is not None and state.embedding == self.embedding
        self._writer.make_private()
        store = self._store_of(state.table.name)
        keys = keys_of(state, known=paths_in(state.memory))
        index = store.open(state.table_version, keys=keys, created_as=state.table.id, with_vectors=own)
        store.mark_used()
        return index

    def _open_table(self, state: IndexState) -> LanceIndex:
        """Open the published version to write another: in LanceDB, with all its vectors. Raises IndexDamaged."""
        return self._store_of(state.table.name).open_table(state.table_version, created_as=state.table.id)

    def missing_vectors(self, state: IndexState) -> int:
        """Return how many skills of this indexer's roots have no vector of their present text."""
        if self._rows_embedder is None or state.embedding != self.embedding:
            return 0
        return sum(state.roots[root].missing_vectors for root in self._roots if root in state.roots)

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
        with self._writer.held():
            return self._sync_locked(take_scan, force_reason=force_reason, rebuild=rebuild, failed=failed)

    def embed_missing(self, *, seconds: float | None = None) -> Embedded:
        """Embed the rows of the published index that lack a vector, and publish their vectors.

        No lock is held while the embedder works; a row whose text changes meanwhile keeps its place for the next time.
        Where another process embeds, or the embedder failed a short while ago, nothing is done. With `seconds` a user
        is waiting: what is not embedded by then is left for later. Raises IndexUnavailable where the vectors cannot be
        written.
        """
        if self._rows_embedder is None or self._rows_embedder.pause > 0.0:
            return Embedded()
        published: list[Published] = []
        rows = 0

        def publish(vectors: Mapping[str, StoredVector]) -> None:
            nonlocal rows
            with self._writer.held():
                done = self._publish_vectors(vectors)
            if done is not None:
                published[:] = [done]
                rows += len(vectors)

        try:
            with self._writer.embedding_turn() as ours:
                texts, dimension = self._texts_to_embed() if ours else ({}, None)
                failure = self._rows_embedder.embed(texts, publish, seconds=seconds, dimension=dimension)
        except IndexUnavailable:
            # Asked again at once, the provider would be paid for vectors that cannot be kept.
            self._rows_embedder.rest()
            raise
        return Embedded(published[0] if published else None, rows, failure)

    def save_stamps(self, scan: Scan, published: IndexState) -> None:
        """Save the stamps of files that were opened and found unchanged, so that they are not opened again.

        This is an optimisation only. It is skipped where it saves nothing, where the state cannot be written now, and
        where another state was published since `published` was read.
        """
        before = published.memory_of(self._roots)
        if self._in_memory or not any(_has_newer_stamp(entry, before.get(path)) for path, entry in scan.memory.items()):
            return
        try:
            with self._writer.at_once():
                state = self.state()
                if state is not None and state.table_version == published.table_version:
                    self._save(replace(state, roots=merged(state, scan.memory, self._roots)), before=state)
        except OSError as error:
            log.debug("The index state was not updated: %s", error)

    def tidy(self) -> bool:
        """Merge what this process added, or remove what it replaced a while ago, where that is due and nobody writes.

        Returns whether another version was published for that, which has the same rows.
        """
        if self._store.is_tidy or self._in_memory:
            return False
        try:
            with self._writer.at_once():
                return self._tidy_locked()
        except (OSError, IndexDamaged) as error:
            log.debug("The index was not tidied: %s", error)
            return False

    def _tidy_locked(self) -> bool:
        state = self.state()
        if state is None or state.table.name != self._store.table:
            return False
        version = self._store.tidy(state.table_version)
        if version == state.table_version:
            return False
        tidied = replace(state, table_version=version)
        # Before the state is saved, which is the commit: a version that cannot be read is not published.
        self.open(tidied)
        self._save(tidied, before=state)
        return True

    def cancel(self) -> None:
        """Stop a sync that is waiting or writing in another thread; the published index stays unchanged."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise IndexUnavailable("Indexing was stopped before it finished", hint="start it again")

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
        # Who asks for a table that is written anew asks for other vectors, too.
        keep_vectors = not rebuild
        is_failed = failed is not None and state is not None and state.published == failed
        if is_failed:
            reason, rebuild = force_reason or "the index cannot be read", True
        if reason is None and state is not None:
            try:
                return scan, Published(self.open(state), state)
            except IndexDamaged as error:
                reason = f"the database is damaged ({error})"
        log.info("Indexing %s: %s", self.db_path, reason)
        written = self._write(
            None if rebuild and (is_failed or not has_others(state, self._roots)) else state,
            scan,
            reason or "",
            published=state,
            keep_vectors=keep_vectors,
            thorough=force_reason is not None or (state is not None and state.entries_lost),
        )
        return scan, written

    def _write(
        self,
        base: IndexState | None,
        scan: Scan,
        reason: str,
        *,
        published: IndexState | None,
        keep_vectors: bool,
        thorough: bool,
    ) -> Published:
        """Write the scan as changes to `base`, or as a new table where there is no usable base, and publish it.

        Where it is to be `thorough`, every row is compared with the files, else those that the state says have changed.
        Unless it is to `keep_vectors`, all of this indexer's rows are written anew, and get new ones.
        """
        skills = scan.snapshot.everything
        try:
            if base is not None and base.schema == KEYS_SINCE - 1 and base.embedding == self.embedding:
                base = published = self._with_keys(base)
            base = None if base is None else located_anew(base, self._roots)
            written, kept = self._update(base, scan, reason, thorough=thorough, anew=not keep_vectors), base
            if written is None:
                # Vectors of texts that are the same are as good as ever, but for who asks for others.
                written, kept = self._rebuild(skills, reason, published, same_vectors=keep_vectors), None
            index = self._store_of(written.table).open(
                written.version, keys=keys_with(kept, self._roots, known=paths_in(scan.memory))
            )
            identity = self.identity
            state = IndexState(
                database=identity.database_name,
                embedder=identity.embedder,
                schema=SCHEMA_VERSION,
                embedding=self.embedding,
                table=PublishedTable(written.table, index.table_id),
                table_version=written.version,
                roots=merged(kept, scan.memory, self._roots, written.touched, written.without_vectors),
            )
            state, stamp = self._save(state, before=published)
        except IndexDamaged as error:
            self._check_cancelled()
            raise unwritable(self.db_path, str(error)) from error
        if not self._in_memory:
            remove_unused(self.identity)
        return Published(index, state, written.report, stamp)

    def _update(
        self, base: IndexState | None, scan: Scan, reason: str, *, thorough: bool, anew: bool
    ) -> _Written | None:
        """Write the differences from `base`, or all rows `anew`, beside those of other servers' roots.

        Return None where `base` is not usable: then the table is rebuilt. Raises NoRoom, since a new table would take
        more of it.
        """
        if base is None or base.schema != SCHEMA_VERSION or base.embedding != self.embedding:
            return None
        try:
            index = self._open_table(base)
            return self._update_rows(base, index, scan, reason, thorough=thorough, anew=anew)
        except NoRoom:
            raise
        except IndexDamaged as error:
            self._check_cancelled()
            log.warning("The index at %s cannot be updated and is rebuilt: %s", self.db_path, error)
            return None

    def _update_rows(
        self, base: IndexState, index: LanceIndex, scan: Scan, reason: str, *, thorough: bool, anew: bool
    ) -> _Written:
        keys = keys_with(base, self._roots)
        claimed = base.memory_of(self._roots)
        differing = changed_entries(claimed, scan.memory)
        skills: Sequence[Skill] = scan.snapshot.everything
        if thorough or len(differing) > _MANY_ROWS:
            stored = index.stored()
        else:
            stored = index.stored([key for directory in differing for key in keys.of(directory)])
            found = map(scan.snapshot.by_directory, differing)
            skills = [skill for skill in found if skill is not None]
        present = {skill.directory for skill in skills}
        rows_of: dict[str, str] = {}
        removed: set[str] = set()
        for key, directory in zip(stored, keys.directories(stored), strict=True):
            gone = directory not in present and (keys.root(key) in self._roots or directory in claimed)
            if gone or not directory or rows_of.setdefault(directory, key) != key:
                removed.add(key)
        hashes = {directory: stored[key] for directory, key in rows_of.items()}
        changed = [skill for skill in skills if anew or hashes.get(skill.directory) != skill.stamp.content_hash]

        def key_of(skill: Skill) -> str:
            return rows_of.get(skill.directory) or keys.key(skill.root, skill.directory)

        new = [skill for skill in changed if skill.directory not in rows_of]

        def known() -> dict[str, StoredVector]:
            if self._rows_embedder is None:
                return {}
            copies = (key for directory in copies_of(new, base) for key in keys.of(directory))
            return unchanged_vectors(changed, index, keys, donors=(*removed, *copies))

        rows = self._source(
            changed,
            known,
            key_of,
            anew=anew,
            dimension=index.dimension,
            embeds=index.dimension is not None,
        )
        version = index.version
        without = self._unembedded(base, index, keys)
        paths = frozenset(skill.directory for skill in changed)
        gone_directories = frozenset(keys.directories(removed)) - present
        if changed or removed:
            store = self._store_of(base.table.name)
            version = store.update(rows, removed=removed, dimension=index.dimension, published=version)
            if self._rows_embedder is not None:
                without = (without - paths - gone_directories) | rows.unembedded
        return _Written(
            table=base.table.name,
            version=version,
            without_vectors=without,
            touched=paths | gone_directories,
            report=SyncReport(reason, len(changed), len(removed), rebuilt=anew, embedding_failure=rows.failure),
        )

    def _unembedded(self, state: IndexState, index: LanceIndex, keys: RowKeys) -> frozenset[str]:
        """Return the rows that lack the vector of their present text; asks the table only where there are some."""
        if self._rows_embedder is None or not any(root.missing_vectors for root in state.roots.values()):
            return frozenset()
        return located(index.unembedded(), keys)

    def _with_keys(self, state: IndexState) -> IndexState:
        """Publish a table of the schema before keys with keys, and return its state.

        Where that cannot be done, `state` is returned, and the table written anew. Raises NoRoom.
        """
        log.info("Indexing %s: the rows get keys that do not name this machine's directories", self.db_path)
        try:
            keyed = with_keys(state, self._store_of(state.table.name), self.identity)
        except NoRoom:
            raise
        except IndexDamaged as error:
            self._check_cancelled()
            log.warning("The index at %s cannot be updated and is rebuilt: %s", self.db_path, error)
            return state
        return self._save(keyed, before=state)[0]

    def _rebuild(
        self, skills: Sequence[Skill], reason: str, published: IndexState | None, *, same_vectors: bool
    ) -> _Written:
        keys = keys_with(None, self._roots)

        def key_of(skill: Skill) -> str:
            return keys.key(skill.root, skill.directory)

        rows = self._source(skills, partial(self._vectors_before, skills, published), key_of, anew=not same_vectors)
        now = None if published is None else published.table_version
        store = self._store_of(FIRST_TABLE if self._in_memory else free_table(self.identity, self.embedding))
        is_first = not store.occupied
        try:
            version = store.rebuild(rows, dimension=rows.dimension, embedding=self.embedding, published=now)
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
            version = store.rebuild(rows, dimension=rows.dimension, embedding=self.embedding)
        return _Written(
            table=store.table,
            version=version,
            without_vectors=frozenset() if self._rows_embedder is None else frozenset(rows.unembedded),
            touched=frozenset(),
            report=SyncReport(reason, len(skills), 0, rebuilt=True, embedding_failure=rows.failure),
        )

    def _is_readable(self, published: IndexState) -> bool:
        """Whether the published version can be read: then it is not removed for one that may never be written."""
        try:
            self._open_table(published).stored()
        except IndexDamaged:
            return False
        return True

    def _vectors_before(self, skills: Sequence[Skill], published: IndexState | None) -> dict[str, StoredVector]:
        """Return the vectors of the published table whose text is unchanged, for a table that is written anew."""
        if self._rows_embedder is None:
            return {}
        if published is None:
            return {} if self._in_memory else vectors_found(skills, self.identity, self.embedding)
        if published.embedding != self.embedding:
            return {}
        return vectors_before(skills, published, self._store_of(published.table.name))

    def _source(
        self,
        skills: Sequence[Skill],
        known: Callable[[], Mapping[str, StoredVector]],
        key_of: Callable[[Skill], str],
        *,
        anew: bool,
        dimension: int | None = None,
        embeds: bool = True,
    ) -> RowSource:
        """Return the rows of skills, with the vectors of theirs that are `known` or, to be written `anew`, with others.

        Those that a local embedder makes need no request, so writing waits for it; vectors of any other come later,
        which is no failure. Searches go on using the known ones until then: where the provider is down, none is lost.
        """
        rows = self._rows_embedder
        is_local = embeds and rows is not None and rows.embedder.is_instant

        def source(vectors: Mapping[str, StoredVector]) -> RowSource:
            return RowSource(
                skills,
                vectors,
                key_of=key_of,
                embedder=rows if is_local else None,
                dimension=dimension or _length(vectors),
                check=self._check_cancelled,
                progress=self._progress,
            )

        if not anew:
            return source(known())
        others = source({})
        if is_local and others.failure is None:
            return others
        found = source({directory: replace(own, text=None) for directory, own in known().items()})
        found.failure = found.failure or others.failure
        return found

    def _texts_to_embed(self) -> tuple[dict[str, str], int | None]:
        """Return what `texts_to_embed` does of the published index, and nothing where it cannot be read."""
        state = self.state()
        if state is None or state.schema != SCHEMA_VERSION or not self.missing_vectors(state):
            return {}, None
        try:
            return texts_to_embed(state, self._open_table(state), self._roots)
        except IndexDamaged as error:
            # The next sync finds this too, and replaces the index.
            log.debug("The index to embed cannot be read: %s", error)
            return {}, None

    def _publish_vectors(self, vectors: Mapping[str, StoredVector]) -> Published | None:
        """Write the vectors of those texts that the published index still holds without one. Holds the lock."""
        state = self.state()
        if state is None or state.schema != SCHEMA_VERSION or state.embedding != self.embedding:
            return None
        try:
            index = self._open_table(state)
            added = vectors_to_add(vectors, state, index, self._roots)
            if added is None:
                return None
            store = self._store_of(state.table.name)
            version = store.add_vectors(added.by_key, dimension=added.dimension, published=index.version)
            # Before the state is saved, which is the commit: a version that cannot be read is not published.
            opened = self.open(replace(state, table_version=version))
            roots = with_missing(state.roots, added.lacking)
            state, stamp = self._save(replace(state, table_version=version, roots=roots), before=state)
        except IndexDamaged as error:
            self._check_cancelled()
            raise unwritable(self.db_path, str(error)) from error
        return Published(opened, state, stamp=stamp)

    def _save(self, state: IndexState, *, before: IndexState | None) -> tuple[IndexState, StateStamp | None]:
        """Publish a state in the place of the one `before`; return it as it was saved, and its file's stamp."""
        stamp = None
        if not self._in_memory:
            state, stamp = save_state(self.identity.claim().state_path, state, before=before)
        self._last = (state, stamp)
        return state, stamp

    def _store_of(self, table: str) -> LanceStore:
        # One thread may sync while another embeds.
        store = self._store
        if store.table != table:
            store = self._store = LanceStore(self.db_path, table)
        return store


def _has_newer_stamp(entry: CachedSkillFile, before: CachedSkillFile | None) -> bool:
    # A file with an mtime in the future is read again by every scan: saving its stamp saves nothing.
    return before is not None and before.stamp.read_at_ns != entry.stamp.read_at_ns > entry.stamp.mtime_ns


def _length(vectors: Mapping[str, StoredVector]) -> int | None:
    return len(next(iter(vectors.values())).vector) if vectors else None
