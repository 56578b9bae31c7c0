"""When must we look again? Keeps one view fresh while others ask from it.

The rules of this module:
1. A caller gets one `View` and keeps it for its whole answer; a look replaces the view, it never changes one.
2. One thread looks. It is asked by a starting server, by the watcher, or by a caller who finds the last look too
   old; nobody who has a view waits for it, unless looking is cheap.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.events import NULL_OBSERVER, LibraryEvent, Observer
from skillhub_mcp.index.lance import LanceIndex
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.sync import IndexSync, SyncDepth, View
from skillhub_mcp.index.watcher import RootWatcher
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.snapshot import Snapshot

log = logging.getLogger(__name__)

_CHEAP_SECONDS = 0.05
_LOOK_AGAIN_SECONDS = 1.0
_POLL_SECONDS = 2.0
# Looking takes at most about a tenth of one processor, however large the library is.
_REST_FACTOR = 10
FIRST_ANSWER_SECONDS = 120.0
_CLOSING_SECONDS = 2.0


class LiveIndex:
    """The snapshot and the index of `roots`. The thread starts with `start` or with the first question.

    With `background` off there is no thread: each question is answered from one look, made when it is first needed.
    `steps` hear of each step towards an answer.
    """

    def __init__(
        self,
        roots: tuple[SkillRoot, ...],
        looker: IndexSync,
        *,
        automatic: bool,
        background: bool = True,
        observer: Observer = NULL_OBSERVER,
        steps: IndexProgress | None = None,
    ) -> None:
        self._looker = looker
        self._automatic = automatic
        self._background = background
        self._observer = observer
        self.steps = steps or IndexProgress()
        self._snapshot: Snapshot | None = None
        self._changed = threading.Condition()
        # A caller's own look and the thread's must not meet: they share what the looker remembers.
        self._looking = threading.Lock()
        self._view: View | None = None
        # What was seen before the thread began, and when.
        self._early: tuple[Snapshot, float] | None = None
        self._wanted = True
        # A look that nobody waits for, at the next poll.
        self._due = False
        # The thread is at a look that somebody asked for.
        self._running = False
        self._closing = False
        self._looks = 0
        self._looked_at = 0.0
        self._look_seconds = 0.0
        self._failure: IndexUnavailable | None = None
        self._thread: threading.Thread | None = None
        self._told: Snapshot | None = None
        self._listeners: list[Callable[[], None]] = []
        self._onlookers: list[Callable[[], None]] = []
        self._watcher = RootWatcher(roots, self._ask)

    def start(self) -> None:
        """Begin the first look in the background, so that the first question finds an answer ready."""
        with self._changed:
            if self._background and self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name="skillhub-look", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop both threads. An index that is being written is given up: the published one stays as it is."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self.steps.news()
        self._looker.cancel()
        self._watcher.stop()
        if self._thread is not None:
            self._thread.join(_CLOSING_SECONDS)

    def peek(self) -> View | None:
        """Return the present view, if there is one, without waiting or looking."""
        return self._view

    def snapshot(self) -> Snapshot:
        """Return the present snapshot, waiting only for the very first. Raises IndexUnavailable if none comes."""
        if not self._background and self._view is None:
            if self._snapshot is None:
                self._snapshot = self._looker.see()
            return self._snapshot
        return self._current(lambda _: True).snapshot

    def skills_alone(self, *, anew: bool = False) -> Snapshot:
        """Return the present snapshot without beginning to load the index, where that has not begun yet.

        For what is answered before a client's first question, which loading LanceDB beside it would delay. With `anew`
        nothing that was seen before that is trusted: a skill may have been written since.
        """
        if not self._background or self._thread is not None or self._view is not None:
            return self.snapshot()
        with self._looking:
            rest = max(_LOOK_AGAIN_SECONDS, self._looker.scan_seconds * _REST_FACTOR)
            if anew or self._early is None or time.monotonic() - self._early[1] > rest:
                self._early = (self._looker.see(), time.monotonic())
            return self._early[0]

    def searchable(self) -> tuple[View, LanceIndex]:
        """Return a view and its index. Raises IndexUnavailable when there is none and none came in time."""
        view = self._current(_searchable)
        if view.index is None:
            raise view.problem or not_built_yet()
        return view, view.index

    def answers(self) -> bool:
        """Whether a search would be answered, or refused, without waiting for the first index."""
        return not self._background or self._settled(_searchable)

    def look_now(self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None) -> View:
        """Look in the caller's thread, as asked, and return the view. With `only`, at those paths and nowhere else."""
        self._look(depth, only=only, asked=True)
        return self._require_view()

    def judged(self, admission: Admission) -> Snapshot:
        """Return the present skills as another reader would have them. Raises IndexUnavailable if there are none."""
        snapshot = self.snapshot()
        with self._looking:
            return self._looker.judged(snapshot, admission)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from the thread that looks, after each look that found other skills than the one before."""
        self._listeners.append(listener)

    def on_look(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each look, from the thread that looked, which may be a caller's."""
        self._onlookers.append(listener)

    def forget_index(self, failed: LanceIndex) -> None:
        """Give up an index that failed to answer; the next question waits for another."""
        self._looker.distrust(failed)
        with self._changed:
            if self._view is not None and self._view.index is failed:
                self._view = replace(self._view, index=None, problem=None)
            self._wanted = True
            self._changed.notify_all()

    def _current(self, enough: Callable[[View], bool]) -> View:
        if not self._background:
            if self._view is None or not enough(self._view):
                self._look(SyncDepth.CHANGES)
            return self._require_view()
        self.start()
        with self._changed:
            if self._settled(enough):
                self._freshen()
            self._changed.wait_for(lambda: self._settled(enough), FIRST_ANSWER_SECONDS)
        return self._require_view()

    def _settled(self, enough: Callable[[View], bool]) -> bool:
        view = self._view
        return self._closing or (self._failure is not None if view is None else enough(view))

    def _freshen(self) -> None:
        """Ask for a look when the last is too old, and wait for it where that is cheap. Holds the condition.

        A healthy watcher has already asked for a look if anything changed: without one, the look is left to the next
        poll and nobody waits for it. It still finds what a file system does not report, and another process's index.
        Without `automatic` a look only finds out whether another index was published.
        """
        age = time.monotonic() - self._looked_at
        if age < max(_LOOK_AGAIN_SECONDS, self._look_seconds * _REST_FACTOR):
            return
        looks = self._looks
        if not (self._wanted or self._running):
            if self._watcher.healthy:
                self._due = True
                return
            self._wanted = True
            self._changed.notify_all()
        if self._look_seconds < _CHEAP_SECONDS:
            self._changed.wait_for(lambda: self._closing or self._looks > looks, _LOOK_AGAIN_SECONDS)

    def _require_view(self) -> View:
        view = self._view
        if view is None:
            raise self._failure or IndexUnavailable(
                "The skills are still being read", hint="call again in a few seconds"
            )
        return view

    def _ask(self) -> None:
        with self._changed:
            self._wanted = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                wanted = self._changed.wait_for(lambda: self._wanted or self._closing, self._poll_seconds())
                if self._closing:
                    return
                due, self._wanted, self._due = self._due, False, False
                self._running = wanted
            if self._watcher.healthy and not (wanted or due) and not self._watcher.overlooks():
                continue
            try:
                self._look(SyncDepth.CHANGES)
            except Exception:  # the edge of a thread: what nobody foresaw is reported, and answers go on
                log.exception("A look at the skills failed unexpectedly; the last good index goes on answering")
                self._show_failure()
            if self._automatic:
                # The watcher asks for one more look once its watches are set: what changes until then gives no notice.
                self._watcher.start()

    def _poll_seconds(self) -> float | None:
        if not self._automatic:
            return None
        if self._watcher.healthy:
            # No look, only a check for roots that were made or replaced since.
            return _POLL_SECONDS
        return max(_POLL_SECONDS, self._look_seconds * _REST_FACTOR)

    def _look(self, depth: SyncDepth, *, only: Sequence[str] | None = None, asked: bool = False) -> None:
        with self._looking:
            view = self._looker.look(self._view, depth, only=only, asked=asked, on_snapshot=self._show_skills)
            self._show(view)
            # What is unchanged is the same value, so comparing costs next to nothing.
            before, self._told = self._told, view.snapshot
        if before is None or len(before.everything) != len(view.snapshot.everything):
            self._observer.start(LibraryEvent(skills=len(view.snapshot.everything)))()
        if before is not None and before.everything != view.snapshot.everything:
            for listener in self._listeners:
                listener()
        for onlooker in self._onlookers:
            onlooker()

    def _show(self, view: View) -> None:
        with self._changed:
            self._view = view
            self._failure = None
            self._running = False
            self._looks += 1
            self._looked_at = time.monotonic()
            self._look_seconds = self._looker.scan_seconds
            self._changed.notify_all()
        self.steps.over()

    def _show_failure(self) -> None:
        failure = IndexUnavailable("The skills could not be read", hint="the server's log says why")
        with self._changed:
            self._failure = failure
            if self._view is not None and self._view.index is None:
                self._view = replace(self._view, problem=failure)
            self._running = False
            self._looks += 1
            self._looked_at = time.monotonic()
            self._changed.notify_all()
        self.steps.over()

    def _show_skills(self, snapshot: Snapshot) -> None:
        with self._changed:
            self._view = View(snapshot, None) if self._view is None else replace(self._view, snapshot=snapshot)
            self._changed.notify_all()


def not_built_yet() -> IndexUnavailable:
    """Return what a search fails with that has waited too long for the first index."""
    return IndexUnavailable("The first index is still being built", hint="call again in a few seconds")


def _searchable(view: View) -> bool:
    return view.index is not None or view.problem is not None
