"""The live view: the skills below some roots and their index, which a background thread keeps in sync with the files.

1. A caller gets one immutable `View`. A sync makes the next one and replaces it.
2. One thread syncs: at the start, when the watcher reports a change, at each poll without a watcher, and when a caller
   finds the last look too old. Callers with a view wait for a sync only if scanning is cheap.
3. Another thread embeds what a sync left without a vector, so that a slow provider does not delay a sync.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.events import NULL_OBSERVER, EmbeddingEvent, Observer, SyncEvent, observe
from skillhub_mcp.index.lance import IN_MEMORY, NoRoom
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.index.state_file import row_of
from skillhub_mcp.index.views import FIRST_ANSWER_SECONDS, View, ViewSource
from skillhub_mcp.index.watcher import RootWatcher
from skillhub_mcp.index.writer import Embedded, IndexWriter, SyncDepth, SyncReport
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import Scan, ScanCache, scan, scan_from_cache
from skillhub_mcp.skills.snapshot import Snapshot, UnavailableRoot

log = logging.getLogger(__name__)

_CHEAP_SCAN_SECONDS = 0.05
_MIN_INTERVAL_SECONDS = 1.0
_POLL_SECONDS = 2.0
# Scanning takes at most a tenth of one processor, and a hundredth if changes are reported.
_IDLE_FACTOR, _WATCHED_IDLE_FACTOR = 10, 100
# How long a search waits for missing vectors if no thread would bring them later.
_EMBEDDING_SECONDS = 10.0
_EMBEDDING_REST_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How a live view behaves.

    Without `automatic` it serves what is committed and looks for changes only on request. Without `background` there is
    no thread: one sync, made when it is first needed, answers all queries. `judge` returns roots with the trust that
    they have now, and `choose_roots` the roots that were chosen instead since the last call, or None.
    """

    automatic: bool = True
    background: bool = True
    admission: Admission = LENIENT
    judge: Callable[[tuple[SkillRoot, ...]], tuple[SkillRoot, ...]] = lambda roots: roots
    choose_roots: Callable[[], tuple[SkillRoot, ...] | None] = field(default=lambda: None)


class LiveView(ViewSource):
    """The skills of `roots`, and the index that `writer` keeps of them."""

    def __init__(
        self,
        roots: tuple[SkillRoot, ...],
        writer: IndexWriter,
        options: LiveOptions,
        *,
        observer: Observer = NULL_OBSERVER,
        progress: IndexProgress | None = None,
    ) -> None:
        work = {"sync": self._run}
        if options.automatic and writer.embedding_pause is not None:
            work["vectors"] = self._embed_behind
        super().__init__(work, background=options.background, progress=progress, observer=observer)
        self._options = options
        self.roots = roots
        self.writer = writer
        # The index in memory, while the one on disk cannot be written.
        self._spare: IndexWriter | None = None
        self._scan: Scan | None = None
        # What a caller has found since the last scan of a sync began.
        self._ahead: Scan | None = None
        # Syncs of callers and of the thread must not overlap.
        self._syncing = threading.Lock()
        self._looks = 0
        self._looked_at = 0.0
        self._scan_seconds = 0.0
        # What to look at next: None for everything, an empty set for nothing.
        self._wanted: set[str] | None = None
        # Roots that were chosen after the present sync began.
        self._next_roots: tuple[SkillRoot, ...] | None = None
        self._watcher = RootWatcher(roots, self._want)

    # What callers ask

    def close(self) -> None:
        """Stop all threads. What is being written is abandoned: the last commit stays unchanged."""
        self.writer.cancelled.set()
        self._watcher.stop()
        super().close()

    def snapshot(self, *, fresh: bool = False, admission: Admission | None = None) -> Snapshot:
        if not self._options.automatic and self.writer.state() is None:
            raise self._no_index("there is no index yet")
        beside: Scan | None = None
        if self._background:
            self.start()
            if fresh and self._syncing.locked():
                # The thread may be writing rows for seconds, or waiting for another process that does.
                memory = {} if self._scan is None else self._scan.memory
                roots = self._chosen_since() or self.roots
                beside = scan(self._options.judge(roots), memory=memory, keep_absent=True)
            with self._condition:
                if beside is not None:
                    self._ahead = beside
                    self._show(beside)
                    if self._next_roots is not None and self._view is not None:
                        # A search waits for the index of these roots.
                        self._view = replace(self._view, index=None, problem=None)
                    self._want(None)
                else:
                    self._refresh(now=fresh)
                self._condition.wait_for(lambda: self._closed or self._view or self._failure, FIRST_ANSWER_SECONDS)
        else:
            with self._syncing:
                if self._view is None or fresh:
                    self._show(self._take_scan(None) if self._options.automatic else self._committed_scan())
        snapshot, seen = self._required().snapshot, beside or self._ahead or self._scan
        if admission is None or admission is self._options.admission or seen is None:
            return snapshot
        return _admitted(seen, admission)

    def view(self, *, instead_of: SearchIndex | None = None) -> tuple[View, SearchIndex]:
        if instead_of is not None:
            self._discard(instead_of)
        if self._background:
            self.start()
            with self._condition:
                self._refresh()
                self._condition.wait_for(self._is_settled, FIRST_ANSWER_SECONDS)
        elif not self._is_settled():
            self._look(SyncDepth.CHANGES, waiting=True)
        view = self._required()
        if view.index is None:
            raise view.problem or self._not_built_yet()
        return view, view.index

    def sync(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        self._look(depth, only=only, requested=True, waiting=waiting)
        return self._required()

    def _is_settled(self) -> bool:
        """Whether a search would answer, or fail, at once."""
        view = self._view
        return self._closed or bool(self._failure if view is None else view.index or view.problem)

    def _discard(self, failed: SearchIndex) -> None:
        with self._condition:
            if self._view is None or self._view.index is not failed:
                return
            # If another process has removed this version, what it has committed since answers.
            self._view = replace(self._view, index=None, problem=None)
            (self._spare or self.writer).mark_damaged(failed.published)
            self._want(None)

    def _refresh(self, *, now: bool = False) -> None:
        """Have the files looked at if the last look is too old, and wait for it if that is cheap. Holds the condition.

        A healthy watcher has requested a sync if anything changed; then looking is for what no file system reports.
        """
        factor = _WATCHED_IDLE_FACTOR if self._watcher.healthy else _IDLE_FACTOR
        age, looks = time.monotonic() - self._looked_at, self._looks
        if now or (looks and age >= max(_MIN_INTERVAL_SECONDS, self._scan_seconds * factor)):
            self._want(None)
            if now or self._scan_seconds < _CHEAP_SCAN_SECONDS:
                self._condition.wait_for(lambda: self._closed or self._looks > looks, _MIN_INTERVAL_SECONDS)

    def _want(self, paths: Collection[str] | None) -> None:
        """Have the thread look at these paths; None for everything."""
        with self._condition:
            self._wanted = None if paths is None or self._wanted is None else self._wanted.union(paths)
            self._condition.notify_all()

    # The threads

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._wanted != set(), self._poll_seconds())
                if self._closed:
                    return
            try:
                self._follow()
            except Exception:  # the top of a thread: it is logged, and the last view stays in use
                log.exception("Syncing the index failed unexpectedly; the last usable index stays in use")
                self._fail()
            if self._options.automatic:
                # The watcher requests another sync once its watches are set: changes before that are not reported.
                self._watcher.start()

    def _follow(self) -> None:
        """Look at what may have changed, or tidy the index if nothing has."""
        changed = self._follow_roots() or self._watcher.roots_changed() or self._is_replaced()
        with self._condition:
            wanted, self._wanted = self._wanted, set()
        if not changed and wanted == set():
            if self.writer.tidy():
                changed = True
            elif self._watcher.healthy:
                return
        is_known = wanted and not changed and self._watcher.healthy
        self._look(SyncDepth.CHANGES, only=sorted(wanted) if wanted and is_known else None)

    def _embed_behind(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(
                    lambda: self._closed or (self._looks > 0 and self.writer.unembedded(self.roots) > 0)
                )
                if self._closed:
                    return
            try:
                if self._embed().rows:
                    self._want(())
            except Exception:  # the top of a thread: it is logged, and text search goes on
                log.exception("Embedding failed unexpectedly; until a restart, text alone finds skills without vectors")
                return
            finally:
                self.progress.finish()
            with self._condition:
                rest = max(_EMBEDDING_REST_SECONDS, self.writer.embedding_pause or 0.0)
                self._condition.wait_for(lambda: self._closed, rest)

    def _poll_seconds(self) -> float | None:
        if not self._options.automatic:
            return None
        return _POLL_SECONDS if self._watcher.healthy else max(_POLL_SECONDS, self._scan_seconds * _IDLE_FACTOR)

    def _is_replaced(self) -> bool:
        """Whether another process has committed since this view was made."""
        index, state = (None if self._view is None else self._view.index), self.writer.state()
        return index is not None and self._spare is None and state is not None and state.published != index.published

    def _chosen_since(self) -> tuple[SkillRoot, ...] | None:
        if self._options.automatic:
            self._next_roots = self._options.choose_roots() or self._next_roots
        return self._next_roots

    def _follow_roots(self) -> bool:
        roots = self._chosen_since()
        if roots is None:
            return False
        with self._syncing:
            self.roots, self._next_roots, self._scan, self._spare = roots, None, None, None
            if self._view is not None:
                # A search waits for the index of these roots.
                self._view = replace(self._view, index=None, problem=None)
            self._watcher.roots = roots
        return True

    def _fail(self) -> None:
        self._failure = IndexUnavailable("The skills could not be read", hint="the server's log says why")
        with self._condition:
            if self._view is not None and self._view.index is None:
                self._view = replace(self._view, problem=self._failure)
            self._record_look(whole=True)

    # One sync

    def _look(
        self,
        depth: SyncDepth,
        *,
        only: Sequence[str] | None = None,
        requested: bool = False,
        waiting: bool = False,
    ) -> None:
        with self._syncing:
            view = self._synced(depth, only=only, requested=requested)
            self._publish(view, whole=only is None)
            if not self._background and (self._options.automatic or requested):
                view = self._embedded(view, _EMBEDDING_SECONDS if waiting else float("inf"))
                if requested and not waiting and view.problem is None and self.writer.tidy():
                    view = replace(view, index=self._open(self.writer))
                self._publish(view, whole=only is None)
        self._announce(view.snapshot.everything)

    def _publish(self, view: View, *, whole: bool) -> None:
        with self._condition:
            if self._next_roots is None:
                # What a caller has found meanwhile is newer.
                self._view = view if self._ahead is None else replace(view, snapshot=self._required().snapshot)
            self._failure = None
            self._record_look(whole=whole)

    def _record_look(self, *, whole: bool) -> None:
        self._looks += 1
        if whole:
            self._looked_at = time.monotonic()
        self._condition.notify_all()
        self.progress.finish()

    def _synced(self, depth: SyncDepth, *, only: Sequence[str] | None, requested: bool) -> View:
        if not self._options.automatic and depth is SyncDepth.CHANGES and not requested:
            return self._as_committed()
        seen = self._take_scan(only, reread=depth is not SyncDepth.CHANGES)
        with self._condition:
            # The skills are served before their rows are written, and need no second look meanwhile.
            self._looked_at = time.monotonic()
            if self._ahead is None:
                self._show(seen)
            self._condition.notify_all()
        try:
            if depth is SyncDepth.REBUILD and seen.snapshot.report.unavailable:
                raise _rows_would_be_lost(seen.snapshot.report.unavailable[0])
            reason = "requested" if depth is not SyncDepth.CHANGES else self._reason(seen)
            if reason is None:
                self.writer.note(self.roots, seen.memory, opened=seen.opened > 0 and self._looks == 0)
                return self._view_of(seen, self.writer)
            with observe(self._observer, SyncEvent()) as event:
                seen, report = self.writer.sync(self.roots, partial(self._latest, seen), reason, depth)
                if report is not None:
                    event.written, event.removed, event.rebuilt = report.written, report.removed, report.rebuilt
                    event.embedding_failed = report.embedding_failure is not None
        except IndexUnavailable as problem:
            return self._without_writing(seen, problem)
        self._spare = None
        return replace(self._view_of(seen, self.writer), report=report)

    def _latest(self, seen: Scan) -> Scan:
        """Return a scan, or a new one if another process has held the lock of the index since: it may know more."""
        is_recent = time.monotonic() - self._looked_at < _MIN_INTERVAL_SECONDS
        return seen if is_recent else self._take_scan(None)

    def _reason(self, seen: Scan) -> str | None:
        """Return why the index has to be written, or None."""
        needed = self.writer.reason_to_write(self.roots)
        if needed is None and self._spare is not None:
            return "the index could not be written before"
        return needed or (None if self._is_in_sync(self.writer, seen) else "skills changed")

    def _is_in_sync(self, writer: IndexWriter, seen: Scan) -> bool:
        """Whether a writer's committed state has the rows of a scan."""
        committed = self._memory_of(writer)
        hashes = {one.directory: one.stamp.content_hash for one in seen.snapshot.everything}
        return hashes == {
            directory: entry.stamp.content_hash for directory, entry in committed.items() if row_of(entry) is not None
        }

    def _memory_of(self, writer: IndexWriter) -> ScanCache:
        state = writer.state()
        return {} if state is None else state.memory_of(self.roots)

    def _view_of(self, seen: Scan, writer: IndexWriter) -> View:
        snapshot, shown = _admitted(seen, self._options.admission), self._view
        if shown is not None and shown.snapshot == snapshot:
            # The same skills stay the same snapshot object, which keeps what was computed from it.
            snapshot = shown.snapshot
        return View(snapshot, self._open(writer))

    def _open(self, writer: IndexWriter) -> SearchIndex | None:
        """Return the committed index; that of the present view if it is the same."""
        state, shown = writer.state(), self._view
        return None if state is None else writer.open(state, self.roots, None if shown is None else shown.index)

    def _without_writing(self, seen: Scan, problem: IndexUnavailable) -> View:
        """Return the view of the last commit if the disk is full, or of an index in memory."""
        shown = self._view
        if self.writer.cancelled.is_set():
            return replace(self._view_of(seen, self.writer), problem=problem)
        if shown is None or shown.problem is None or shown.problem.message != problem.message:
            log.error("%s; %s", problem.message, problem.hint)
        if isinstance(problem.__cause__, NoRoom) and self.writer.reason_to_write(self.roots) is None:
            return replace(self._view_of(seen, self.writer), problem=problem)
        try:
            spare = self._spare or IndexWriter(IN_MEMORY, embedder=None)
            if spare.reason_to_write(self.roots) is not None or not self._is_in_sync(spare, seen):
                spare.sync(self.roots, lambda: seen, "the index on disk cannot be written", SyncDepth.CHANGES)
            self._spare = spare
        except IndexUnavailable as second:
            log.warning("An index in memory failed too: %s", second.message)
            return replace(self._view_of(seen, self.writer), index=None, problem=problem)
        return replace(self._view_of(seen, spare), problem=problem)

    def _as_committed(self) -> View:
        """Return the view of what is committed, without looking at the files."""
        if self._view is not None and self._view.index is not None and not self._is_replaced():
            return self._view
        view, reason = self._view_of(self._committed_scan(), self.writer), self.writer.reason_to_write(self.roots)
        if reason is None:
            return view
        return replace(view, index=None, problem=self.writer.refusal() or self._no_index(reason))

    def _no_index(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(
            f"There is no usable index at {self.writer.db_path} ({reason}), and automatic indexing is off",
            hint="run skillhub --reindex" if self.writer.state() is None else "run skillhub index",
        )

    def _committed_scan(self) -> Scan:
        memory = self._memory_of(self.writer)
        snapshot = scan_from_cache(self._options.judge(self.roots), memory=memory)
        self._scan = Scan(snapshot, memory, opened=0)
        return self._scan

    def _take_scan(self, only: Sequence[str] | None, *, reread: bool = False) -> Scan:
        # Another process may have forgotten a root.
        before, state = None if self._is_replaced() else self._scan, self.writer.state()
        ahead = self._ahead
        # What was never looked at is looked at whole.
        is_known = before is not None or (state is not None and all(root.path in state.roots for root in self.roots))
        self._scan = scan(
            self._options.judge(self.roots),
            memory=self._memory_of(self.writer) if before is None else before.memory,
            reread=reread,
            only=only if is_known else None,
            keep_absent=True,
            before=before,
            on_progress=partial(self.progress.report, "reading"),
        )
        if self._ahead is ahead:
            self._ahead = None
        if only is None:
            self._scan_seconds = self._scan.snapshot.report.seconds
        return self._scan

    def _show(self, seen: Scan) -> None:
        """Serve the skills, with the present index if there is one."""
        snapshot = _admitted(seen, self._options.admission)
        if self._view is None:
            self._view = View(snapshot, None)
        elif self._view.snapshot != snapshot:
            self._view = replace(self._view, snapshot=snapshot)

    def _embedded(self, view: View, seconds: float) -> View:
        """Return the view with what embedding adds to it."""
        if view.problem is not None or not self.writer.unembedded(self.roots):
            return view
        done = self._embed(seconds)
        report = view.report
        if done.rows or done.failure is not None:
            report = report or SyncReport("skills had no embeddings yet", done.rows, 0, rebuilt=False)
            report = replace(report, embedding_failure=report.embedding_failure or done.failure)
        if done.failure is None and (left := self.writer.unembedded(self.roots)):
            log.warning(
                "%s skills have no vector yet and are found by text; skillhub index waits until all have one",
                f"{left:,}",
            )
        return replace(view, index=self._open(self.writer), report=report)

    def _embed(self, seconds: float = float("inf")) -> Embedded:
        with observe(self._observer, EmbeddingEvent()) as event:
            try:
                done = self.writer.embed(self.roots, seconds=seconds)
            except IndexUnavailable as problem:
                if not self.writer.cancelled.is_set():
                    log.warning("The vectors of skills cannot be written: %s", problem.message)
                done = Embedded(failure=problem.message)
            event.written, event.failed = done.rows, done.failure is not None
        return done


def _admitted(seen: Scan, admission: Admission) -> Snapshot:
    """Return the skills of a scan that an admission lets in; the index has all of them."""
    if admission is seen.admission:
        return seen.snapshot
    report = seen.snapshot.report
    return scan_from_cache(
        report.roots,
        memory=seen.memory,
        admission=admission,
        problems=report.problems,
        ignored=report.ignored,
        unavailable=report.unavailable,
    )


def _rows_would_be_lost(root: UnavailableRoot) -> IndexUnavailable:
    """Return the error of a rebuild without the files from which the rows of a root were read."""
    return IndexUnavailable(
        f"The index is not rebuilt: {root.path} {root.reason}, and the rows of its skills would be lost",
        hint=f"mount or restore it, or run skillhub index --forget {root.path} first if they are gone for good",
    )
