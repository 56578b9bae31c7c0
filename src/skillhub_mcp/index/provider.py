"""What the hub asks for the skills and their index: those of directories, or those of a publication.

`DirectoryViews` follows directories of this machine, `replicas.replica.Replica` a publication. Until the replica reads
LanceDB it cannot provide the eight methods of `index.views.ViewSource`; then this protocol goes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from skillhub_mcp.index.damage import Damage
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.live import LiveView
from skillhub_mcp.index.maintenance import damages, forget, indexed_roots
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.views import AnyIndex, SyncDepth, View
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.snapshot import Snapshot


class ViewProvider(Protocol):
    """Provides immutable `View`s: a caller gets one and uses it for its whole answer. Safe to use from several threads.

    What waits for the first view raises IndexUnavailable where there is none in time.
    """

    @property
    def progress(self) -> IndexProgress:
        """The progress of what has to be done before there is a view."""

    def start(self) -> None:
        """Begin in the background, so that the first query need not wait."""

    def close(self) -> None:
        """Stop all threads."""

    def peek(self) -> View | None:
        """Return the current view, if there is one, without waiting."""

    def snapshot(self) -> Snapshot:
        """Return the current snapshot, waiting for the first. Raises IndexUnavailable."""

    def snapshot_without_index(self, *, fresh: bool = False) -> Snapshot:
        """Return the current snapshot without waiting for an index; with `fresh`, what is new is looked for first.

        Raises IndexUnavailable.
        """

    def view_and_index(self) -> tuple[View, AnyIndex]:
        """Return a view and its index, waiting for the first. Raises IndexUnavailable."""

    def is_ready(self) -> bool:
        """Whether a search would return, or fail, without waiting for the first index."""

    def sync_now(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Look for what is new in the caller's thread, and return the view. Raises IndexUnavailable."""

    def look_again(self) -> None:
        """Have what is new looked for now; wait for it, but not for long."""

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged in the index, reading all of it. Raises IndexUnavailable for a newer one."""

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return the roots that the index has rows of, used here or not."""

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows of roots from the index. Raises IndexUnavailable."""

    def snapshot_for(self, admission: Admission) -> Snapshot:
        """Return the current skills under other admission rules. Raises IndexUnavailable."""

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each look that found other skills than the one before."""

    def on_sync(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each look, from the thread that looked."""

    def discard_index(self, failed: AnyIndex) -> None:
        """Drop an index that could not be read; the next query waits for its replacement."""


class DirectoryViews:
    """A live view of directories, as the hub asks for it."""

    def __init__(self, live: LiveView) -> None:
        self._live = live
        self.progress = live.progress
        self.start = live.start
        self.close = live.close
        self.peek = live.peek
        self.view_and_index = live.view
        self.sync_now = live.sync
        self.discard_index = live.discard
        self.is_ready = live.is_ready

    def snapshot(self) -> Snapshot:
        """Return the current snapshot. Raises IndexUnavailable."""
        return self._live.snapshot()

    def snapshot_without_index(self, *, fresh: bool = False) -> Snapshot:
        """Return the current snapshot; with `fresh`, what is new is looked for first. Raises IndexUnavailable."""
        return self._live.snapshot(fresh=fresh)

    def look_again(self) -> None:
        """Have what is new looked for now; wait for it, but not for long."""
        self._live.snapshot(fresh=True)

    def snapshot_for(self, admission: Admission) -> Snapshot:
        """Return the current skills under other admission rules. Raises IndexUnavailable."""
        return self._live.snapshot(admission=admission)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each look that found other skills than the one before."""
        self._live.subscribe(lambda is_other: listener() if is_other else None)

    def on_sync(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each look, from the thread that looked."""
        self._live.subscribe(lambda _: listener())

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged in the index, reading all of it. Raises IndexUnavailable for a newer one."""
        return damages(self._live.writer)

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return the roots that the index has rows of, used here or not."""
        return indexed_roots(self._live.writer, self._live.roots)

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows of roots from the index. Raises IndexUnavailable."""
        forget(self._live.writer, roots)
