"""The interface through which the hub gets skills and their index, from directories or a publication."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.events import LibraryEvent, Observer
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.index.writer import SyncDepth, SyncReport
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.snapshot import Snapshot

FIRST_ANSWER_SECONDS = 20.0
_CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class View:
    """The snapshot and the index that one answer is computed from.

    `index` is None until there is a commit. `report` says what the last sync wrote, None if nothing. `problem` is the
    last failure: with an index, that one is older than the snapshot, or in memory.
    """

    snapshot: Snapshot
    index: SearchIndex | None
    report: SyncReport | None = None
    problem: IndexUnavailable | None = None


class ViewSource(ABC):
    """Provides immutable views; a caller takes one and uses it for its whole answer. Safe to use from several threads.

    `index.live.LiveView` follows directories, `store.replica.Replica` a publication. `progress` is that of what has to
    be done before there is an index. The threads run `work`, by their names, until `_closed` is set; without
    `background` there are none.
    """

    def __init__(
        self,
        work: Mapping[str, Callable[[], None]],
        *,
        background: bool,
        progress: IndexProgress | None,
        observer: Observer,
    ) -> None:
        self.progress = progress or IndexProgress()
        self._work = work
        self._background = background
        self._observer = observer
        self._condition = threading.Condition()
        self._view: View | None = None
        self._announced: Sequence[Skill] | None = None
        self._failure: IndexUnavailable | None = None
        self._closed = False
        self._threads: list[threading.Thread] = []
        self._listeners: list[Callable[[bool], None]] = []

    def start(self) -> None:
        """Begin in the background, so that the first query need not wait."""
        with self._condition:
            if self._background and not self._threads and not self._closed:
                for name, work in self._work.items():
                    self._threads.append(threading.Thread(target=work, name=f"skillhub-{name}", daemon=True))
                    self._threads[-1].start()

    def close(self) -> None:
        """Stop all threads."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self.progress.finish()
        for thread in self._threads:
            thread.join(_CLOSE_SECONDS)

    def peek(self) -> View | None:
        """Return the present view, if there is one, without waiting and without looking for changes."""
        return self._view

    @abstractmethod
    def snapshot(self, *, fresh: bool = False, admission: Admission | None = None) -> Snapshot:
        """Return the present skills; this waits for no index. Raises IndexUnavailable.

        With `fresh` changes are looked for first, but not for long; with an `admission` other rules decide which skills
        are served.
        """

    @abstractmethod
    def view(self, *, instead_of: SearchIndex | None = None) -> tuple[View, SearchIndex]:
        """Return a view and its index, waiting for the first commit. Raises IndexUnavailable.

        `instead_of` is an index that could not be read; it is dropped.
        """

    @abstractmethod
    def sync(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Look for changes in the caller's thread, at `only` some paths or everywhere. Raises IndexUnavailable.

        Without a background thread it also embeds what lacks a vector: all of it or, while a user is `waiting`, for
        some seconds.
        """

    def subscribe(self, listener: Callable[[bool], None]) -> None:
        """Call `listener` after each look for changes, from the thread that looked, with whether it found any."""
        self._listeners.append(listener)

    def _required(self) -> View:
        if self._view is None:
            raise self._failure or self._not_built_yet()
        return self._view

    def _not_built_yet(self) -> IndexUnavailable:
        """Return the error of a caller that has waited too long for the first index."""
        name, done, total = self.progress.latest or ("", 0, 0)
        how_far = f" ({name}, {done:,} of {total:,})" if total else ""
        return IndexUnavailable(f"The first index is still being built{how_far}", hint="call again in a few seconds")

    def _announce(self, skills: Sequence[Skill]) -> None:
        """Report the skills after a look for changes."""
        before, self._announced = self._announced, skills
        if before is None or len(before) != len(skills):
            self._observer.start(LibraryEvent(skills=len(skills)))()
        for listener in self._listeners:
            listener(before is not None and before != skills)
