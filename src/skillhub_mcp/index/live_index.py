"""The live index: a snapshot and an index of the skills that a background thread keeps in sync with the files.

1. A caller gets one immutable `View` and uses it for its whole answer. A sync replaces the view.
2. The first view of a large library is that of the last published index: its files are looked at behind it
   (`last_known`). Until then, callers look at what they use, and have that alone looked at again.
3. One thread syncs. A starting server, the watcher, or a caller that finds the last sync too old requests it. A
   caller with a view does not wait for the sync, unless a scan is cheap.
4. Another thread embeds what a sync left without a vector. Nobody waits for it.
5. What the table needs after many changes comes when nothing was requested for some seconds. After as long without a
   search, the memory of what was read of the index goes back to the system.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.events import NULL_OBSERVER, LibraryEvent, Observer
from skillhub_mcp.index.damage import Damage
from skillhub_mcp.index.giving_way import GIVING_WAY
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.last_known import LARGE, is_outdated
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.sync import IndexSync, SyncDepth, View
from skillhub_mcp.index.watcher import RootWatcher
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.differences import differences
from skillhub_mcp.skills.half_written import JUST_WRITTEN_SECONDS
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.scanner import Scan
from skillhub_mcp.skills.snapshot import Snapshot

log = logging.getLogger(__name__)

_CHEAP_SCAN_SECONDS = 0.05
# Looking at more paths, or at more than one for so many skills, takes as long as looking at all.
_MOST_PATHS, _SKILLS_PER_PATH = 1_000, 10
_MIN_SYNC_INTERVAL_SECONDS = 1.0
_POLL_SECONDS = 2.0
# How long looking at the files waits for the watches: what changes after these are set is reported.
_WATCHES_SECONDS = 10.0
_STEP_SECONDS = 0.1
# How long a sync waits for a command that is exchanging skills, and then for the last notices of it.
_COMMAND_SECONDS = 3.0
_COMMAND_STEP_SECONDS = 0.02
_NOTICES_SECONDS = 0.3
# What a client asks for when it connects comes before the watches and the walk over all files of a large library.
_HEAD_START_SECONDS = 1.0
# Scanning takes at most about a tenth of one processor, however large the library is.
_IDLE_FACTOR = 10
# Of a large library whose changes are reported, a hundredth: it is for what file systems and full queues do not report.
_WATCHED_IDLE_FACTOR = 100
FIRST_ANSWER_SECONDS = 120.0
_CLOSE_SECONDS = 2.0
# How long a search waits for missing vectors where there is no thread that would bring them later.
_EMBEDDING_SECONDS = 10.0
# Between two looks for rows without a vector: another process may be embedding them.
_EMBEDDING_REST_SECONDS = 2.0
_UNEXPECTED_REST_SECONDS = 300.0


class LiveIndex:
    """The snapshot and the index of `roots`. The thread starts with `start` or with the first query.

    Without `background` there is no thread: one sync, made when it is first needed, answers all queries, and waits some
    seconds for an embedder. `progress` receives the steps of indexing. `choose_roots` returns the roots that have been
    chosen instead since it was called last, or None; the thread asks it every few seconds. Safe to use from several
    threads.
    """

    def __init__(
        self,
        roots: tuple[SkillRoot, ...],
        index_sync: IndexSync,
        *,
        automatic: bool,
        background: bool = True,
        observer: Observer = NULL_OBSERVER,
        progress: IndexProgress | None = None,
        choose_roots: Callable[[], tuple[SkillRoot, ...] | None] = lambda: None,
    ) -> None:
        self._choose_roots = choose_roots
        self._index_sync = index_sync
        self._automatic = automatic
        self._background = background
        self._observer = observer
        self.progress = progress or IndexProgress()
        self._snapshot: Snapshot | None = None
        self._condition = threading.Condition()
        # A sync in a caller's thread and one in the background must not overlap: they share the scan cache.
        self._sync_lock = threading.Lock()
        self._view: View | None = None
        # The skills as they were published, and what of it is served, until all files have been looked at.
        self._known: tuple[Scan, Snapshot] | None = None
        # Those of them that were asked for, where a process without a thread has not read the others.
        self._known_of: dict[tuple[str, ...], Snapshot] = {}
        # The scan made before the thread started, and its time.
        self._first_scan: tuple[Snapshot, float] | None = None
        self._sync_requested = True
        # What the watcher has reported since the last sync; None for who knows what.
        self._changed_paths: set[str] | None = None
        # A sync is due at the next poll; no caller waits for it.
        self._sync_due = False
        # The thread is running a requested sync.
        self._syncing = False
        self._closed = False
        self._sync_count = 0
        # When a sync last looked at everything.
        self._synced_at = 0.0
        self._scan_seconds = 0.0
        self._failure: IndexUnavailable | None = None
        self._thread: threading.Thread | None = None
        self._embedding_thread: threading.Thread | None = None
        self._reported: Snapshot | None = None
        self._change_listeners: list[Callable[[], None]] = []
        self._sync_listeners: list[Callable[[], None]] = []
        self._view_listeners: list[Callable[[Snapshot, SkillIndex | None], None]] = []
        self._watcher = RootWatcher(roots, self._request_sync)

    def start(self) -> None:
        """Start the first sync in the background, so that the first query need not wait for it."""
        with self._condition:
            if self._background and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="skillhub-sync", daemon=True)
                self._thread.start()
                if self._automatic and self._index_sync.embedding_pause is not None:
                    self._embedding_thread = threading.Thread(target=self._embed, name="skillhub-vectors", daemon=True)
                    self._embedding_thread.start()

    def close(self) -> None:
        """Stop all threads. An index that is being written is abandoned: the published one stays unchanged."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self.progress.notify()
        self._index_sync.cancel()
        self._watcher.stop()
        for thread in (self._thread, self._embedding_thread):
            if thread is not None:
                thread.join(_CLOSE_SECONDS)

    def peek(self) -> View | None:
        """Return the current view, if there is one, without waiting and without a scan."""
        return self._view

    def snapshot(self) -> Snapshot:
        """Return the current snapshot, waiting for the first. Raises IndexUnavailable if there is none in time."""
        if not self._background and self._view is None:
            if self._snapshot is None:
                self._forget_known()
                self._snapshot = self._index_sync.scan()
            return self._snapshot
        return self._wait_for_view(lambda _: True).snapshot

    @property
    def looked(self) -> bool:
        """Whether the files have been looked at since the start: before, skills are as the index was published with."""
        return self._known is None and not self._known_of

    def snapshot_without_index(self, *, fresh: bool = False, named: Sequence[str] = ()) -> Snapshot:
        """Return the current snapshot, without starting to load the index where that has not started yet.

        For requests before a client's first query, which loading LanceDB at the same time would delay. With `fresh`,
        an earlier scan is not reused: a skill may have been written since. As long as not all files were looked at,
        only those of skills that are so `named`, or at such a path, are. A process without a thread, which would look
        at all of them before it answers, does not for what is named. Raises IndexUnavailable.
        """
        if fresh and self._look_at(named):
            return self.snapshot_without_index(named=named)
        if named and not fresh and not self._background and self._view is None and self._snapshot is None:
            with self._sync_lock:
                known = self._take_known_of(tuple(named)) or self._take_known()
            if known is not None:
                return known
        if not self._background or self._thread is not None or self._view is not None:
            return self.snapshot()
        with self._sync_lock:
            known = self._take_known()
            if known is not None:
                return known
            rest = max(_MIN_SYNC_INTERVAL_SECONDS, self._index_sync.scan_seconds * _IDLE_FACTOR)
            if fresh or self._first_scan is None or time.monotonic() - self._first_scan[1] > rest:
                self._first_scan = (self._index_sync.scan(), time.monotonic())
            return self._first_scan[0]

    def view_and_index(self) -> tuple[View, SkillIndex]:
        """Return a view and its index, waiting for the first. Raises IndexUnavailable if there is none in time."""
        view = self._wait_for_view(_can_search)
        if view.index is None:
            raise view.problem or not_built_yet()
        return view, view.index

    def is_ready(self) -> bool:
        """Whether a search would return, or fail, without waiting for the first index."""
        return not self._background or self._is_settled(_can_search)

    def sync_now(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Sync in the caller's thread and return the view. With `only`, scan just those paths.

        Without `background` it also embeds what lacks a vector: all of it or, while a user is `waiting`, for some
        seconds. Raises IndexUnavailable if the skills could not be
        read.
        """
        self._sync(depth, only=only, requested=True, waiting=waiting)
        return self._require_view()

    def look_again(self, *named: str) -> None:
        """Have the files looked at now, because a caller noticed a change; wait for it, but not for a large library.

        As long as not all files were looked at, only those of skills that are so `named`, or at such a path, are.
        """
        if self._look_at(named):
            return
        if not self._background or self._thread is None:
            self.snapshot_without_index(fresh=True)
            return
        with self._condition:
            looks = self._sync_count
            self._request_everything()
            self._condition.wait_for(lambda: self._closed or self._sync_count > looks, _MIN_SYNC_INTERVAL_SECONDS)

    def wait_until_looked(self) -> None:
        """Wait until the files have been looked at since the start, if skills are as they were published till then."""
        if not self.looked and not self._background:
            self._forget_known()
        elif self._known is not None:
            self.start()
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._known is None, FIRST_ANSWER_SECONDS)

    def _take_known(self) -> Snapshot | None:
        """Return the skills as they were published, if that is what is served. Holds the lock of syncs."""
        if self._known is None and self._view is None:
            known = self._index_sync.last_known()
            if known is not None:
                self._known = known, self._index_sync.admitted_of(known)
        return None if self._known is None else self._known[1]

    def _take_known_of(self, named: tuple[str, ...]) -> Snapshot | None:
        """Return those of the skills as they were published that are so `named`, if that is what is served.

        None where there are none, or where their files say something else by now. Holds the lock of syncs.
        """
        if self._known is not None or named in self._known_of:
            return self._known_of.get(named)
        known = self._index_sync.last_known_of(named)
        if known is None:
            return None
        snapshot = self._index_sync.admitted_of(known)
        found = [skill for name in named for skill in (*snapshot.named(name), *snapshot.exactly(name))]
        if not found or any(map(is_outdated, found)):
            return None
        self._known_of[named] = snapshot
        return snapshot

    def _forget_known(self) -> None:
        """Have all files looked at before the next answer, where that is not as the index was published with."""
        self._known = None
        self._known_of = {}

    def _look_at(self, named: Sequence[str]) -> bool:
        """Look at the files of some skills, and return whether that is enough, as long as not all were looked at."""
        if self._known_of:
            with self._sync_lock:
                self._known_of = {}
                self._take_known()
        before = self._known
        if before is None:
            return False
        seen, there = self._index_sync.look_at(before[0], named)
        if there:
            known = seen, self._index_sync.admitted_of(seen)
            with self._condition:
                # Unless all files were looked at meanwhile. What another caller saw at once is looked at again.
                if self._known is not None:
                    self._known = known
                    self._view = None if self._view is None else replace(self._view, snapshot=known[1])
            return True
        # Elsewhere, for all that is known: looking at everything may be almost done.
        if not self._background:
            self._forget_known()
            return False
        self.start()
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._known is None, _MIN_SYNC_INTERVAL_SECONDS)
        return True

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged in the published index, reading all of it. Raises IndexUnavailable for a newer one."""
        with self._sync_lock:
            return self._index_sync.damages()

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return the roots that the database's indexes have rows of, used here or not."""
        with self._sync_lock:
            return self._index_sync.indexed_roots()

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows of roots from all indexes of the database. Raises IndexUnavailable."""
        with self._sync_lock:
            self._index_sync.forget(roots)

    def snapshot_for(self, admission: Admission) -> Snapshot:
        """Return the current skills under other admission rules. Raises IndexUnavailable if there is no snapshot."""
        snapshot = self.snapshot()
        with self._sync_lock:
            return self._index_sync.snapshot_for(snapshot, admission)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each sync that found other skills than the one before, from the thread that synced."""
        self._change_listeners.append(listener)

    def on_sync(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each sync, from the thread that synced, which may be a caller's."""
        self._sync_listeners.append(listener)

    def before_view(self, listener: Callable[[Snapshot, SkillIndex | None], None]) -> None:
        """Call `listener` with what the next view has, in the thread that made it; callers go on with the last one."""
        self._view_listeners.append(listener)

    def discard_index(self, failed: SkillIndex) -> None:
        """Drop an index that could not be read; the next query waits for its replacement."""
        self._index_sync.mark_damaged(failed)
        with self._condition:
            if self._view is not None and self._view.index is failed:
                self._view = replace(self._view, index=None, problem=None)
            self._request_everything()

    def _wait_for_view(self, enough: Callable[[View], bool]) -> View:
        if not self._background:
            if self._view is None or not enough(self._view):
                self._sync(SyncDepth.CHANGES)
            return self._require_view()
        self.start()
        with self._condition:
            if self._is_settled(enough):
                self._refresh()
            self._condition.wait_for(lambda: self._is_settled(enough), FIRST_ANSWER_SECONDS)
        return self._require_view()

    def _is_settled(self, enough: Callable[[View], bool]) -> bool:
        view = self._view
        return self._closed or (self._failure is not None if view is None else enough(view))

    def _refresh(self) -> None:
        """Request a sync when the last one is too old, and wait for it where that is cheap. Holds the condition.

        A healthy watcher has already requested a sync if anything changed. If it has not, the sync is left to the next
        poll and no caller waits for it: it finds changes that the file system does not report, and an index that
        another process published. Without `automatic`, a sync only checks whether another index was published.
        """
        age = time.monotonic() - self._synced_at
        if self._known is not None and not self._sync_count:
            return
        many = self._watcher.healthy and self._scan_seconds > _CHEAP_SCAN_SECONDS
        if age < max(_MIN_SYNC_INTERVAL_SECONDS, self._scan_seconds * (_WATCHED_IDLE_FACTOR if many else _IDLE_FACTOR)):
            return
        synced_before = self._sync_count
        if not (self._sync_requested or self._syncing):
            if self._watcher.healthy:
                self._sync_due = True
                return
            self._request_everything()
        if self._scan_seconds < _CHEAP_SCAN_SECONDS:
            self._condition.wait_for(
                lambda: self._closed or self._sync_count > synced_before, _MIN_SYNC_INTERVAL_SECONDS
            )

    def _require_view(self) -> View:
        view = self._view
        if view is None:
            raise self._failure or IndexUnavailable(
                "The skills are still being read", hint="call again in a few seconds"
            )
        return view

    def _request_sync(self, paths: Collection[str] | None) -> None:
        """Request a sync after these paths changed; None for all there are."""
        with self._condition:
            if paths is None or self._changed_paths is None:
                self._changed_paths = None
            else:
                self._changed_paths.update(paths)
            self._sync_requested = True
            self._condition.notify_all()

    def _request_everything(self) -> None:
        """Request a sync that looks at all files. Holds the condition."""
        self._changed_paths = None
        self._sync_requested = True
        self._condition.notify_all()

    def _take_changes(self) -> tuple[str, ...] | None:
        """Return the paths to look at, if no others can have changed, and looking at all takes long."""
        with self._condition:
            paths, self._changed_paths = self._changed_paths, set()
            view = self._view
            known = view is not None and view.problem is None and self._watcher.healthy
            skills = 0 if view is None else len(view.snapshot.everything)
            few = paths is not None and len(paths) <= max(_MOST_PATHS, skills // _SKILLS_PER_PATH)
            many_files = self._scan_seconds > _CHEAP_SCAN_SECONDS
        return tuple(sorted(paths)) if paths is not None and known and few and many_files else None

    def _run(self) -> None:
        try:
            self._open_known()
        except Exception:  # the top of a thread: it is logged, and the files are looked at first
            log.exception("The published index cannot be served before the files have been looked at")
            self._all_looked_at()
        undecided: tuple[str, ...] = ()
        while True:
            with self._condition:
                rest = JUST_WRITTEN_SECONDS if undecided else self._poll_seconds()
                wanted = self._condition.wait_for(lambda: self._sync_requested or self._closed, rest)
                if self._closed:
                    return
                if undecided:
                    # What was perhaps half written says by now what it is, and nobody may report it again.
                    self._request_sync(undecided)
                    wanted = True
                due, self._sync_requested, self._sync_due = self._sync_due, False, False
                self._syncing = wanted
            self._wait_for_command()
            # What another process published is opened even where nobody searches: it removes what was replaced.
            changed = self._follow_roots() or self._watcher.roots_changed() or self._index_sync.is_replaced()
            if not (wanted or due or changed):
                self._tidy()
                self._rest()
                if self._watcher.healthy:
                    continue
            paths = self._take_changes()
            only = None if due or changed else paths
            undecided = ()
            try:
                with GIVING_WAY:
                    self._sync(SyncDepth.CHANGES, only=only)
                undecided = self._index_sync.undecided if self._automatic else ()
            except Exception:  # the top of a thread: it is logged, and the last view stays in use
                log.exception("Syncing the index failed unexpectedly; the last usable index stays in use")
                self._publish_failure()
                with self._condition:
                    # What it was to look at is to be looked at the next time.
                    self._changed_paths = None
            if self._automatic:
                # The watcher requests another sync once its watches are set: changes before that are not reported.
                self._watch()

    def _tidy(self) -> None:
        try:
            if self._index_sync.tidy():
                # As if another process had published: the sync opens that version.
                self._request_sync(())
        except Exception:  # the top of a thread: it is logged, and is done again behind the next change
            log.exception("Tidying the index failed unexpectedly; what was published stays in use")

    def _rest(self) -> None:
        view = self._view
        if view is not None and view.index is not None:
            view.index.rest()

    def _wait_for_command(self) -> None:
        """Wait until a command has exchanged all its skills, and their notices are here: they are one change."""
        deadline = time.monotonic() + _COMMAND_SECONDS
        waited = False
        with self._condition:
            while not self._closed and time.monotonic() < deadline and self._index_sync.is_being_changed():
                waited = True
                self._condition.wait(_COMMAND_STEP_SECONDS)
            if waited:
                self._condition.wait_for(lambda: self._closed, _NOTICES_SECONDS)

    def _open_known(self) -> None:
        """Serve the published index of a large library, and set the watches: then its files are looked at once."""
        with self._sync_lock:
            snapshot = self._take_known()
            view = None if self._known is None else self._index_sync.open_last_known(self._known[0])
        if snapshot is None:
            return
        if view is None:
            self._all_looked_at()
            return
        with self._condition:
            self._view = view if self._known is None else replace(view, snapshot=self._known[1])
            self._reported = snapshot
            self._sync_requested = False
            self._condition.notify_all()
        self.progress.finish()
        self._observer.start(LibraryEvent(skills=len(snapshot.everything)))()
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._sync_requested, _HEAD_START_SECONDS)
        self._watch()
        deadline = time.monotonic() + _WATCHES_SECONDS
        with self._condition:
            while not (self._closed or self._sync_requested) and self._watcher.healthy and time.monotonic() < deadline:
                self._condition.wait(_STEP_SECONDS)
            self._sync_requested = True

    def _all_looked_at(self) -> None:
        with self._condition:
            self._known = None
            self._condition.notify_all()

    def _follow_roots(self) -> bool:
        """Use the roots that were chosen since the last look; return whether there are some."""
        roots = self._choose_roots() if self._automatic else None
        if roots is None:
            return False
        with self._sync_lock:
            self._index_sync.use_roots(roots)
            self._watcher.use_roots(roots)
        return True

    def _embed(self) -> None:
        """Embed whatever lacks a vector, for as long as the server runs."""
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._index_sync.missing_vectors > 0)
            rest = _EMBEDDING_REST_SECONDS
            try:
                if not self._closed and self._index_sync.embed_behind():
                    # As if another process had published: the sync opens the index that has the vectors.
                    self._request_sync(())
            except Exception:  # the top of a thread: it is logged, and text search goes on
                log.exception("Embedding failed unexpectedly; skills without vectors are found by text")
                rest = _UNEXPECTED_REST_SECONDS
            self.progress.finish()
            with self._condition:
                rest = max(rest, self._index_sync.embedding_pause or 0.0)
                if self._condition.wait_for(lambda: self._closed, rest):
                    return

    def _watch(self) -> None:
        with self._condition:
            skills = 0 if self._view is None else len(self._view.snapshot.everything)
        self._watcher.start(skills)

    def _poll_seconds(self) -> float | None:
        if not self._automatic:
            return None
        if self._watcher.healthy:
            # No scan, only a check for roots that were created or replaced.
            return _POLL_SECONDS
        return max(_POLL_SECONDS, self._scan_seconds * _IDLE_FACTOR)

    def _sync(
        self,
        depth: SyncDepth,
        *,
        only: Sequence[str] | None = None,
        requested: bool = False,
        waiting: bool = True,
    ) -> None:
        with self._sync_lock:
            view = None
            if not (self._background or requested) and self._view is None:
                # One search is answered by it, and what it costs is less than what a sync leaves for the next.
                view = self._index_sync.unchanged()
            view = view or self._index_sync.sync(
                self._view, depth, only=only, requested=requested, on_snapshot=self._publish_snapshot
            )
            self._publish(view, whole=only is None)
            if not self._background and (self._automatic or requested):
                view = self._index_sync.embed(view, seconds=_EMBEDDING_SECONDS if waiting else None)
                self._publish(view, whole=only is None)
                if requested and not waiting and self._index_sync.tidy():
                    # The view has the index before that: the one of now is opened, and no path looked at.
                    tidied = self._index_sync.sync(
                        view, SyncDepth.CHANGES, only=(), requested=True, on_snapshot=self._publish_snapshot
                    )
                    view = replace(tidied, report=view.report)
                    self._publish(view, whole=only is None)
            before, self._reported = self._reported, view.snapshot
        if before is None or len(before.everything) != len(view.snapshot.everything):
            self._observer.start(LibraryEvent(skills=len(view.snapshot.everything)))()
        if before is not None and _are_other_skills(before.everything, view.snapshot.everything):
            for listener in self._change_listeners:
                listener()
        for listener in self._sync_listeners:
            listener()

    def _publish(self, view: View, *, whole: bool) -> None:
        self._prepare(view.snapshot, view.index)
        with self._condition:
            self._view = view
            self._forget_known()
            self._failure = None
            self._syncing = False
            self._sync_count += 1
            if whole:
                self._synced_at = time.monotonic()
            self._scan_seconds = self._index_sync.scan_seconds
            self._condition.notify_all()
        self.progress.finish()
        if self._background and len(view.snapshot.everything) >= LARGE and self._sync_count.bit_count() == 1:
            # Looking through a large library for garbage takes longer than a search. After the first, second, fourth …
            # sync, what there is stays as it is: what was garbage just then is kept, too, so few times.
            gc.freeze()

    def _publish_failure(self) -> None:
        failure = IndexUnavailable("The skills could not be read", hint="the server's log says why")
        with self._condition:
            self._failure = failure
            if self._view is not None and self._view.index is None:
                self._view = replace(self._view, problem=failure)
            self._syncing = False
            self._sync_count += 1
            self._synced_at = time.monotonic()
            self._condition.notify_all()
        self.progress.finish()

    def _publish_snapshot(self, snapshot: Snapshot, index: SkillIndex | None) -> None:
        self._prepare(snapshot, index if self._view is None else self._view.index)
        with self._condition:
            self._view = View(snapshot, index) if self._view is None else replace(self._view, snapshot=snapshot)
            self._forget_known()
            self._condition.notify_all()

    def _prepare(self, snapshot: Snapshot, index: SkillIndex | None) -> None:
        view = self._view
        if view is not None and view.snapshot is snapshot and view.index is index:
            return
        for listener in self._view_listeners:
            listener(snapshot, index)


def not_built_yet() -> IndexUnavailable:
    """Return the error of a search that has waited too long for the first index."""
    return IndexUnavailable("The first index is still being built", hint="call again in a few seconds")


def _are_other_skills(before: Sequence[Skill], now: Sequence[Skill]) -> bool:
    """Whether there are other skills than before: one that was merely read once more is none."""
    gone, new = differences(before, now)
    return len(gone) != len(new) or any(map(_is_another, gone, new))


def _is_another(before: Skill, now: Skill) -> bool:
    read_at_ns = before.stamp.read_at_ns
    return before != now and before != replace(now, stamp=now.stamp._replace(read_at_ns=read_at_ns))


def _can_search(view: View) -> bool:
    return view.index is not None or view.problem is not None
