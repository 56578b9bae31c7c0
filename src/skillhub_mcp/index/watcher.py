"""File system notifications for the skills directories, where the operating system provides them."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import threading
from collections.abc import Callable, Collection

from skillhub_mcp.skills.roots import SkillRoot, is_own, located

log = logging.getLogger(__name__)

_DEBOUNCE_MS = 150
_STEP_MS = 50
# Paths: the system keeps 16,384 notices, up to six for each that is written.
MOST_CHANGES = 2_500

# Where a root's path leads: its canonical path, device and inode.
_Place = tuple[str, int, int]


class RootWatcher:
    """Calls `on_change` from its own thread after files below the roots changed, with their paths.

    The paths are None if they are not complete: after many changes at once, and each time watching starts, because
    changes made before the last watch is set are not reported. Changes in the hub's own directory of a root are left
    out. `healthy` is False without notifications (no such root yet, too many watches, no support): the caller has to
    poll.
    """

    def __init__(self, roots: tuple[SkillRoot, ...], on_change: Callable[[Collection[str] | None], None]) -> None:
        # Watched from the next `start` on.
        self.roots = roots
        self._on_change = on_change
        self._starting = threading.Lock()
        self._closed = False
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._watched: dict[str, _Place] = {}
        self._refused: str | None = None
        self.healthy = False

    def start(self) -> bool:
        """Start watching the roots that exist. Return False if exactly those are already watched."""
        existing = self._existing_roots()
        with self._starting:
            if not existing or self._closed:
                return False
            if self._thread is not None and self._thread.is_alive():
                if existing == self._watched:
                    return False
                self._end.set()
                self._thread.join()
            self._end = threading.Event()
            self._watched = existing
            self.healthy = True
            paths = [place[0] for place in existing.values()]
            self._thread = threading.Thread(
                target=self._watch, args=(paths, self._end), name="skillhub-watch", daemon=True
            )
            self._thread.start()
        return True

    def roots_changed(self) -> bool:
        """Whether a root was created, replaced, removed or switched to another place since watching started."""
        return self._existing_roots() != self._watched

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        with self._starting:
            self._closed = True
            self._end.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _existing_roots(self) -> dict[str, _Place]:
        """Return the place of each root that exists: a recreated directory is another one."""
        existing: dict[str, _Place] = {}
        for root in map(located, self.roots):
            with contextlib.suppress(OSError):
                status = os.stat(root.real)
                if stat.S_ISDIR(status.st_mode):
                    existing[root.path] = (root.real, status.st_dev, status.st_ino)
        return existing

    def _watch(self, roots: list[str], end: threading.Event) -> None:
        from watchfiles import Change, watch

        try:
            for found in watch(
                *roots,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                # Without a timeout: watchfiles drops a notification that arrives just as a timeout ends.
                rust_timeout=0,
                stop_event=_WatchesSet(end, lambda: self._on_change(None)),
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                paths = {path for _, path in found}
                is_lost = any(change is Change.deleted and path in roots for change, path in found)
                if is_lost:
                    # Its watch is gone, and a directory that is made in its place may get the same inode.
                    self._watched = {}
                if is_lost or len(paths) > MOST_CHANGES:
                    # watchfiles does not report that the system's queue was full.
                    self._on_change(None)
                elif outside := {path for path in paths if not any(is_own(path, root) for root in roots)}:
                    self._on_change(outside)
        except (OSError, RuntimeError) as error:
            # Watching is tried again after every sync: the same reason is logged once.
            level = logging.DEBUG if str(error) == self._refused else logging.INFO
            log.log(level, "The skills directories cannot be watched and are polled instead: %s", error)
            self._refused = str(error)
        finally:
            self.healthy = False


class _WatchesSet:
    """The stop event of `watch`, which polls it only after setting every watch: calls `on_set` at the first poll."""

    def __init__(self, end: threading.Event, on_set: Callable[[], None]) -> None:
        self._end = end
        self._on_set: Callable[[], None] | None = on_set

    def is_set(self) -> bool:
        if self._end.is_set():
            return True
        on_set, self._on_set = self._on_set, None
        if on_set is not None:
            on_set()
        return False
