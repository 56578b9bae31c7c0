"""One sync of the index with the files, and the view it results in. `live_index` decides when, and owns the threads."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.events import NULL_OBSERVER, EmbeddingEvent, Observer, SyncEvent, observe
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.indexer import Embedded, Indexer, SyncReport
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.last_known import LARGE, last_known, places
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.state import IndexState, StateStamp, TableVersion
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.discovery import Walk, walk_roots
from skillhub_mcp.skills.late_snapshot import late_snapshot
from skillhub_mcp.skills.own_directory import is_being_changed
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import Scan, ScanCache, finds_as_known, scan, scan_from_cache, scan_report
from skillhub_mcp.skills.snapshot import Snapshot

log = logging.getLogger(__name__)

# A scan that is older when the writer's lock is held is made again: who held it before may have waited for.
_FRESH_SECONDS = 1.0
_REPAIR = "skillhub index --repair"


@dataclass(frozen=True, slots=True)
class View:
    """The snapshot and the index that one answer is computed from.

    `index` is None until there is a usable one. `report` says what the last sync wrote, None if nothing. `problem` is
    the last failure.
    """

    snapshot: Snapshot
    index: SkillIndex | None
    report: SyncReport | None = None
    problem: IndexUnavailable | None = None


class SyncDepth(Enum):
    """How much a sync checks. CHANGES trusts the files' stamps, VERIFY reads files and rows, REBUILD rewrites all.

    FORGET is CHANGES, and the skills of a root that is missing or suddenly empty are gone; else they stay.
    """

    CHANGES = "changes"
    VERIFY = "verify"
    REBUILD = "rebuild"
    FORGET = "forget"


JudgeRoots = Callable[[tuple[SkillRoot, ...]], tuple[SkillRoot, ...]]


def _as_they_are(roots: tuple[SkillRoot, ...]) -> tuple[SkillRoot, ...]:
    """Return the roots with the trust that they have."""
    return roots


class IndexSync:
    """Scans the skills below `roots`, and syncs the index with them where `automatic` allows it. Not thread-safe.

    `judge` returns roots with the trust that they have now; it is asked at each scan.

    When something fails, `View.problem` says what failed. The last usable index stays in use if it has what the files
    have now; else `make_spare` creates an index in memory.
    """

    def __init__(
        self,
        roots: tuple[SkillRoot, ...],
        indexer: Indexer,
        *,
        make_spare: Callable[[], Indexer],
        automatic: bool,
        admission: Admission,
        observer: Observer = NULL_OBSERVER,
        progress: ProgressCallback = no_progress,
        judge: JudgeRoots = _as_they_are,
    ) -> None:
        self._roots = roots
        self._judge = judge
        self._progress = progress
        self._indexer = indexer
        self._make_spare = make_spare
        self._spare: Indexer | None = None
        self._automatic = automatic
        self._admission = admission
        self._observer = observer
        self._state: IndexState | None = None
        # Where there is no state yet: that of another embedder's index of the same database.
        self._stand_in: IndexState | None = None
        self._state_stamp: StateStamp | None = None
        # The scan cache since the state was published: files read since are not in it.
        self._seen: ScanCache | None = None
        self._damaged: TableVersion | None = None
        # What the next scan takes over from: of everything that can be served, and of what this server admits.
        self._last_scan: Scan | None = None
        self._last_admitted: Scan | None = None
        self._scanned_at = 0.0
        # The walk that a sync is to go on from, and the directories that it knew.
        self._walked: tuple[Walk, AbstractSet[str]] | None = None
        # Whether views are as the state has them, and no sync has looked at all files yet.
        self._unseen = False
        # Whether the skills of roots that are missing are to go.
        self._forgets = False
        # How long the last scan of everything took, without the writing that followed.
        self.scan_seconds = 0.0
        # Directories that the last scan could not decide about: see `Scan`.
        self.undecided: tuple[str, ...] = ()

    def is_being_changed(self) -> bool:
        """Whether a command is exchanging skills of a root at this moment. Costs a look at one path for each."""
        return any(is_being_changed(root.path) for root in self._roots)

    def use_roots(self, roots: tuple[SkillRoot, ...]) -> None:
        """Scan and sync other roots from now on."""
        self._roots = roots
        self._indexer.use_roots(roots)
        # They hold the files of the roots before; the state has those of every root.
        self._seen = self._last_scan = self._last_admitted = self._spare = self._walked = None

    def scan(self) -> Snapshot:
        """Return the skills without the index; loads no database."""
        self._load_state()
        if self._automatic:
            return self._admitted(self._scan(self._memory()))
        return scan_from_cache(self._judge(self._roots), memory=self._memory(), admission=self._admission)

    def last_known(self) -> Scan | None:
        """Return the skills as the published state has them; None where all files are to be looked at first.

        That is so for a small library, and where there is no state and index that answer for these roots. Loads no
        database, and reads only the files of small roots and of projects.
        """
        self._load_state()
        state = self._state
        if not self._automatic or state is None or self._is_damaged(state):
            return None
        if self._indexer.reason_to_write(state) is not None:
            return None
        known = last_known(self._judge(self._roots), state, look=partial(_look_at_small, state))
        self._unseen = known is not None
        self._last_scan = known
        return known

    def last_known_of(self, named: Sequence[str]) -> Scan | None:
        """Return what `last_known` would of the skills that are so `named`, or at such a path, and perhaps of others.

        Whoever they name is the same skill among them as among all. None where it has to be looked for among all.
        """
        if not self._automatic or self._state is not None:
            return None
        roots = self._judge(self._roots)
        at = (root.as_configured(os.path.normpath(name)) for root in roots for name in named if os.path.isabs(name))
        found = self._indexer.state_of({*named, *at}, many=LARGE)
        if found is None or self._indexer.reason_to_write(found[0]) is not None:
            return None
        return last_known(roots, found[0], look=partial(_look_at_small, found[0]), known_large=found[1])

    def unchanged(self) -> View | None:
        """Return the view of a large library whose files all are as its index was published with; else None.

        All of them are looked at, as in a sync, and a value is made of a skill when somebody asks for it. It is for who
        has synced nothing yet.
        """
        began = time.perf_counter()
        if not self._automatic or self._state is not None or self._admission is not LENIENT:
            return None
        found = self._indexer.unread_state()
        if found is None or self._indexer.reason_to_write(found[0]) or self._indexer.missing_vectors(found[0]):
            return None
        state, entries = found
        walk = walk_roots(self._judge(self._roots), entries.known)
        if not finds_as_known(walk, entries.known):
            self._walked = (walk, entries.known.keys())
            return None
        report = scan_report(walk.roots, len(entries.known), entries.refused, walk.problems, walk.ignored, began=began)
        try:
            return View(late_snapshot(entries.skills, report), self._indexer.open(state))
        except (IndexDamaged, IndexUnavailable) as error:
            log.debug("The published index is not answered from as it is: %s", error)
            return None

    def open_last_known(self, known: Scan) -> View | None:
        """Return the view of what `last_known` returned, or None if the published index cannot be opened."""
        try:
            return None if self._state is None else View(self.admitted_of(known), self._indexer.open(self._state))
        except IndexDamaged as error:
            log.debug("The published index cannot be opened: %s", error)
            return None

    def admitted_of(self, known: Scan) -> Snapshot:
        """Return the skills of a scan that this server admits. May be called at any time, from any thread."""
        if self._admission is LENIENT:
            return known.snapshot
        return self._readmit(known.snapshot, known.memory, self._admission)

    def look_at(self, known: Scan, named: Sequence[str]) -> tuple[Scan, bool]:
        """Return `known` with what the files of some skills say now, and whether there was anything to look at.

        They are `named` by a name or a path. May be called at any time, from any thread.
        """
        roots = self._judge(known.snapshot.report.roots)
        changed = places(named, roots, known.memory)
        if not changed:
            return known, False
        return scan(roots, memory=known.memory, only=changed, keep_absent=True, before=known), True

    def snapshot_for(self, snapshot: Snapshot, admission: Admission) -> Snapshot:
        """Return `snapshot` under other admission rules; reads no file."""
        if self._last_scan is None:
            # What `unchanged` has returned was read without the entries.
            self._load_state()
        memory = self._memory() if self._last_scan is None else self._last_scan.memory
        return self._readmit(snapshot, memory, admission)

    def sync(
        self,
        before: View | None,
        depth: SyncDepth = SyncDepth.CHANGES,
        *,
        only: Sequence[str] | None = None,
        requested: bool = False,
        on_snapshot: Callable[[Snapshot, SkillIndex | None], None],
    ) -> View:
        """Return the view after one sync; `on_snapshot` receives the skills before the index is in sync with them.

        With the first skills it receives an index of the same database for another embedder, where there is one.

        With `only`, a sequence of changed paths, nothing else is scanned. A `requested` sync scans even without
        `automatic`. Never raises IndexUnavailable: it becomes the view's `problem`.
        """
        reopened = self._load_state() or self._is_behind(before)
        if not self._automatic and depth is SyncDepth.CHANGES and not requested:
            return self._open_published(before, reopened=reopened)
        self._forgets = depth is SyncDepth.FORGET
        reread = depth in (SyncDepth.VERIFY, SyncDepth.REBUILD)
        seen = self._scan(self._memory(), reread=reread, only=only)
        on_snapshot(self._admitted(seen), self._open_stand_in() if before is None else None)
        try:
            if depth is SyncDepth.REBUILD:
                _refuse_unavailable(seen.snapshot)
                return self._write(seen, force_reason="requested", rebuild=True)
            if self._state is None or self._is_damaged(self._state):
                return self._write(seen, only=only)
            if depth is SyncDepth.VERIFY and self._mend(self._state):
                if self._is_damaged(self._state):
                    return self._write(seen, force_reason="it is damaged")
                reopened = self._load_state() or True
            reason = self._indexer.reason_to_sync(self._state, seen)
            if reason is not None:
                return self._write(seen, only=only, force_reason=reason if depth is SyncDepth.VERIFY else None)
            view = self._unchanged(self._state, seen, before, reopened=reopened)
            if depth is SyncDepth.VERIFY and not self._matches(view, seen):
                return self._write(seen, force_reason="its rows differ from the files")
        except IndexUnavailable as problem:
            return self._read_only(seen, before, problem)
        else:
            return view

    def embed(self, view: View, *, seconds: float | None = None) -> View:
        """Embed what lacks a vector, and return `view` with it. See `Indexer.embed_missing` for `seconds`.

        Where that fails, the view's report says why. Nothing is embedded without a usable index.
        """
        if view.problem is not None or not self.missing_vectors:
            return view
        done = self._embed_missing(seconds)
        view = replace(view, report=done.reported(view.report))
        if done.published is not None:
            if done.published.stamp is None:
                self._load_state()
            else:
                self._set_state(done.published.state, done.published.stamp)
            view = replace(view, index=done.published.index)
        if done.failure is None and self.missing_vectors:
            log.warning(
                "%s skills have no vector yet and are found by text; skillhub index waits until all have one",
                f"{self.missing_vectors:,}",
            )
        return view

    def embed_behind(self) -> bool:
        """Embed what lacks a vector, in a thread of its own, and return whether the next sync finds another index."""
        return self._embed_missing(None).published is not None

    def tidy(self) -> bool:
        """Do what comes behind the syncs of this process, and return whether the next one finds another index.

        Rows are merged and old files removed, where that is due. May be called from any thread.
        """
        return self._indexer.tidy()

    @property
    def missing_vectors(self) -> int:
        """How many skills lacked a vector when the index was last opened; 0 also where none is wanted."""
        state = self._state
        return 0 if state is None else self._indexer.missing_vectors(state)

    @property
    def embedding_pause(self) -> float | None:
        """How many seconds to wait before the embedder may be asked again; None without an embedder."""
        return self._indexer.embedding_pause

    def _embed_missing(self, seconds: float | None) -> Embedded:
        with observe(self._observer, EmbeddingEvent()) as event:
            try:
                done = self._indexer.embed_missing(seconds=seconds)
            except IndexUnavailable as problem:
                if not self._indexer.cancelled:
                    log.warning("The vectors of skills cannot be written: %s", problem.message)
                done = Embedded(failure=problem.message)
            event.written, event.failed = done.rows, done.failure is not None
        return done

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged in the published index, reading all of it. Repairs nothing.

        Raises IndexUnavailable where a newer version of SkillHub wrote it.
        """
        refusal = self._indexer.refusal()
        if refusal is not None:
            raise refusal
        self._load_state()
        return tuple(self._indexer.damages(self._state))

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return the roots that the database's indexes have rows of."""
        return self._indexer.indexed_roots()

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows of roots from all indexes of the database. Raises IndexUnavailable."""
        self._indexer.forget(roots)

    def _mend(self, state: IndexState) -> bool:
        """Mend what is damaged beside the table, or mark a table that is; return whether anything was."""
        damages = tuple(self._indexer.damages(state))
        for damage in damages:
            if not damage.mends_itself:
                place = self._indexer.db_path
                log.warning("The %s of the index at %s: %s; %s", damage.part.value, place, damage.what, damage.mend)
        if any(damage.part is IndexPart.TABLE for damage in damages):
            self._damaged = state.published
        elif damages:
            self._indexer.mend(state, damages)
        return bool(damages)

    def is_replaced(self) -> bool:
        """Whether another index was published since the last sync. Reads no file."""
        return self._indexer.state_stamp() != self._state_stamp

    def mark_damaged(self, index: SkillIndex) -> None:
        """Record that `index` cannot be read: the next sync replaces it, if it is still the published one."""
        self._damaged = TableVersion(index.table_id, index.version)

    def cancel(self) -> None:
        """Abandon an index that is being written in another thread."""
        self._indexer.cancel()

    def _is_behind(self, view: View | None) -> bool:
        """Whether the state, which others than a sync load, too, is of another index than a view has."""
        index, state = None if view is None else view.index, self._state
        return index is not None and state is not None and (index.table_id, index.version) != state.published

    def _is_damaged(self, state: IndexState) -> bool:
        return state.published == self._damaged

    def _matches(self, view: View, seen: Scan) -> bool:
        """Whether the index holds exactly the skills of the scan."""
        own = {root.path for root in self._roots}
        wanted = {skill.directory: skill.stamp.content_hash for skill in seen.snapshot.everything}
        if view.index is None:
            return not wanted
        try:
            stored = view.index.table.stored()
        except IndexDamaged:
            return False
        keys = view.index.keys
        located = zip(stored, keys.directories(stored), strict=True)
        held = {place: stored[key] for key, place in located if keys.root(key) in own or place in wanted}
        return held == wanted

    def _unchanged(self, state: IndexState, seen: Scan, before: View | None, *, reopened: bool) -> View:
        self._seen = seen.memory if seen.opened else self._seen
        if seen.opened and (reopened or self._unseen or before is None or before.index is None):
            self._indexer.save_stamps(seen, state)
        self._unseen = False
        if before is not None and before.index is not None and before.problem is None and not reopened:
            # The same skills stay the same snapshot object, which keeps what was computed from it.
            served = self._admitted(seen)
            same = before.snapshot == served
            return replace(before, snapshot=before.snapshot if same else served, report=None)
        try:
            return View(self._admitted(seen), self._indexer.open(state))
        except IndexDamaged as error:
            log.warning("The index at %s is damaged and is rebuilt: %s", self._indexer.db_path, error)
            return self._write(seen)

    def _write(
        self, before: Scan, *, force_reason: str | None = None, rebuild: bool = False, only: Sequence[str] | None = None
    ) -> View:
        # A partial scan needs a cache of every root; where one has none, everything is scanned.
        covered = self._state is not None and all(root.path in self._state.roots for root in self._roots)
        known = self._memory()

        def take_scan(memory: ScanCache) -> Scan:
            fresh = time.monotonic() - self._scanned_at < _FRESH_SECONDS
            if fresh and not rebuild and self._indexer.state() is self._state:
                # Nobody has published since.
                return before
            # Another process may have published fewer roots or files since.
            partial = covered and (memory is known or memory.keys() >= known.keys())
            return self._scan(memory, recent=before.memory, only=only if partial else None)

        with observe(self._observer, SyncEvent()) as sync:
            seen, published = self._indexer.sync(
                take_scan, force_reason=force_reason, rebuild=rebuild, failed=self._damaged
            )
            if published.report is not None:
                sync.written, sync.removed = published.report.written, published.report.removed
                sync.rebuilt = published.report.rebuilt
                sync.embedding_failed = published.report.embedding_failure is not None
        self._spare = None
        if published.stamp is None:
            self._load_state()
        else:
            self._set_state(published.state, published.stamp)
        return View(self._admitted(seen), published.index, published.report)

    def _read_only(self, seen: Scan, before: View | None, problem: IndexUnavailable) -> View:
        if self._indexer.cancelled:
            return View(self._admitted(seen), None if before is None else before.index, problem=problem)
        if before is None or before.problem is None or before.problem.message != problem.message:
            log.error("%s; %s", problem.message, problem.hint)
        if self._state is not None and not self._is_damaged(self._state):
            try:
                published_view = View(self._admitted(seen), self._indexer.open(self._state), problem=problem)
                # An index that lacks what has changed since would answer as if it did not exist.
                if self._matches(published_view, seen):
                    return published_view
            except IndexDamaged as error:
                log.debug("The published index cannot be opened either: %s", error)
        if self._spare is None:
            self._spare = self._make_spare()
            self._spare.use_roots(self._roots)
        try:
            _, published = self._spare.sync(lambda memory: self._scan(memory or seen.memory, recent=seen.memory))
        except IndexUnavailable as second:
            log.warning("An index in memory failed too: %s", second.message)
            return View(self._admitted(seen), None, problem=problem)
        return View(self._admitted(seen), published.index, published.report, problem)

    def _open_published(self, before: View | None, *, reopened: bool) -> View:
        if before is not None and before.index is not None and not reopened:
            return before
        snapshot = scan_from_cache(self._judge(self._roots), memory=self._memory(), admission=self._admission)
        reason = "there is none" if self._state is None else "it cannot be read"
        mend = "skillhub --reindex" if self._state is None else "skillhub index"
        try:
            if self._state is not None and self._state.entries_lost:
                reason, mend = "what was read from the skills is lost", _REPAIR
            elif self._state is not None and not self._is_damaged(self._state):
                unseen = [root.given for root in self._roots if root.path not in self._state.roots]
                if not unseen:
                    return View(snapshot, self._indexer.open(self._state))
                reason = f"it does not cover {unseen[0]}"
        except IndexDamaged as error:
            log.warning("The index at %s is damaged: %s", self._indexer.db_path, error)
            reason, mend = "it is damaged", _REPAIR
        stand_in = self._open_stand_in()
        if stand_in is not None:
            return View(snapshot, stand_in)
        problem = self._indexer.refusal() or IndexUnavailable(
            f"There is no usable index at {self._indexer.db_path} ({reason}), and automatic indexing is off",
            hint=f"run {mend}",
        )
        return View(snapshot, None, problem=problem)

    def _memory(self) -> ScanCache:
        if self._seen is not None:
            return self._seen
        state = self._state or self._stand_in
        return {} if state is None else state.memory_of(root.path for root in self._roots)

    def _open_stand_in(self) -> SkillIndex | None:
        try:
            return None if self._stand_in is None else self._indexer.open(self._stand_in)
        except IndexDamaged as error:
            log.debug("The index of another embedder cannot stand in: %s", error)
            return None

    def _admitted(self, seen: Scan) -> Snapshot:
        """Return the skills of a scan that this server admits; the index holds all of them."""
        if self._admission is LENIENT:
            return seen.snapshot
        snapshot = self._readmit(seen.snapshot, seen.memory, self._admission, self._last_admitted)
        self._last_admitted = replace(seen, snapshot=snapshot, admission=self._admission)
        return snapshot

    def _readmit(
        self, snapshot: Snapshot, memory: ScanCache, admission: Admission, before: Scan | None = None
    ) -> Snapshot:
        report = snapshot.report
        return scan_from_cache(
            report.roots,
            memory=memory,
            admission=admission,
            problems=report.problems,
            ignored=report.ignored,
            unavailable=report.unavailable,
            before=before,
        )

    def _scan(
        self,
        memory: ScanCache,
        *,
        recent: ScanCache | None = None,
        reread: bool = False,
        only: Sequence[str] | None = None,
    ) -> Scan:
        walked, self._walked = self._walked, None
        is_whole = only is None and not (recent or reread)
        if walked is not None and not (is_whole and memory.keys() == walked[1]):
            # Another process has published since.
            walked = None
        seen = scan(
            self._judge(self._roots),
            memory=memory,
            recent=recent or {},
            admission=LENIENT,
            reread=reread,
            only=only,
            keep_absent=not self._forgets,
            before=self._last_scan,
            walked=None if walked is None else walked[0],
            on_progress=partial(self._progress, "reading"),
        )
        self._last_scan = seen
        self.undecided = seen.undecided
        self._scanned_at = time.monotonic()
        if only is None:
            self.scan_seconds = seen.snapshot.report.seconds
        return seen

    def _load_state(self) -> bool:
        """Reload the state if its file was replaced; return whether it was."""
        stamp = self._indexer.state_stamp()
        if stamp is not None and stamp == self._state_stamp:
            return False
        # Read after the stamp: if the file is replaced in between, the next sync finds another stamp.
        self._set_state(self._indexer.state(), stamp)
        return True

    def _set_state(self, state: IndexState | None, stamp: StateStamp | None) -> None:
        self._state = state
        self._stand_in = self._indexer.stand_in() if state is None else None
        self._state_stamp = stamp
        self._seen = None


def _look_at_small(state: IndexState, small: tuple[SkillRoot, ...]) -> Scan:
    return scan(small, memory=state.memory_of(root.path for root in small), keep_absent=True)


def _refuse_unavailable(snapshot: Snapshot) -> None:
    """Raise IndexUnavailable if rows cannot be written anew, since the files that they were read from are away."""
    for root in snapshot.report.unavailable:
        raise IndexUnavailable(
            f"The index is not rebuilt: {root.path} {root.reason}, and the rows of its skills would be lost",
            hint="mount or restore it, or run skillhub index --forget-missing first if they are gone for good",
        )
