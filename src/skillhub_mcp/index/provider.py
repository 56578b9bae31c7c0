"""What the hub asks for the skills and their index: those of directories, or those of a publication.

`live_index.LiveIndex` follows directories of this machine, `replicas.replica.Replica` a publication.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from skillhub_mcp.index.damage import Damage
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.sync import SyncDepth, View
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

    @property
    def looked(self) -> bool:
        """Whether what is new has been looked for since the start.

        Before, a skill that is about to be used is to be compared with its file, and looked at with `look_again`.
        """

    def snapshot_without_index(self, *, fresh: bool = False, named: Sequence[str] = ()) -> Snapshot:
        """Return the current snapshot without waiting for an index; with `fresh`, what is new is looked for first.

        Before all has been looked at, it is looked for where skills that are so `named`, or at these paths, would be.
        Raises IndexUnavailable.
        """

    def view_and_index(self) -> tuple[View, SkillIndex]:
        """Return a view and its index, waiting for the first. Raises IndexUnavailable."""

    def is_ready(self) -> bool:
        """Whether a search would return, or fail, without waiting for the first index."""

    def sync_now(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Look for what is new in the caller's thread, and return the view. Raises IndexUnavailable."""

    def look_again(self, *named: str) -> None:
        """Have what is new looked for now; wait for it, but not for long.

        Before all has been looked at, only skills that are so `named`, or at these paths, are looked at.
        """

    def wait_until_looked(self) -> None:
        """Wait until what is new has been looked for since the start."""

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

    def before_view(self, listener: Callable[[Snapshot, SkillIndex | None], None]) -> None:
        """Call `listener` with what the next view has, in the thread that made it; callers go on with the last one."""

    def discard_index(self, failed: SkillIndex) -> None:
        """Drop an index that could not be read; the next query waits for its replacement."""
