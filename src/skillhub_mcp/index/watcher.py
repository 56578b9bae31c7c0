"""When did something below the roots change? The operating system's notices, where it gives any."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable

from skillhub_mcp.skills.roots import SkillRoot

log = logging.getLogger(__name__)

_DEBOUNCE_MS = 150
_STEP_MS = 50


class RootWatcher:
    """Calls `on_change` from a thread of its own after files below the roots changed; says nothing of which.

    It also calls `on_change` once each time it begins to watch. Setting the watches takes as long as the tree is
    large, and no notice comes of what changed until the last of them was set.

    `healthy` is False when the system gives no notices (no such root yet, too many watches, no support): the
    caller then has to look for itself.
    """

    def __init__(self, roots: tuple[SkillRoot, ...], on_change: Callable[[], None]) -> None:
        self._roots = roots
        self._on_change = on_change
        self._starting = threading.Lock()
        self._closed = False
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._watched: dict[str, tuple[int, int]] = {}
        self._refused: str | None = None
        self.healthy = False

    def start(self) -> bool:
        """Begin watching the roots that exist, and say so; does nothing while just those are being watched."""
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
            self._thread = threading.Thread(
                target=self._watch, args=(list(existing), self._end), name="skillhub-watch", daemon=True
            )
            self._thread.start()
        return True

    def roots_changed(self) -> bool:
        """Whether a root is there now that is not the one being watched. Looks at the roots alone."""
        return self._existing_roots() != self._watched

    def stop(self) -> None:
        """End the thread and wait for it."""
        with self._starting:
            self._closed = True
            self._end.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _existing_roots(self) -> dict[str, tuple[int, int]]:
        """Return the roots that exist, and which directory each is: one made anew in its place is another."""
        existing: dict[str, tuple[int, int]] = {}
        for root in self._roots:
            with contextlib.suppress(OSError):
                status = os.stat(root.path)
                if os.path.isdir(root.path):
                    existing[root.path] = (status.st_dev, status.st_ino)
        return existing

    def _watch(self, paths: list[str], end: threading.Event) -> None:
        from watchfiles import watch

        try:
            changes = watch(
                *paths,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                # Without a timeout: watchfiles drops a notice that comes just as one ends.
                rust_timeout=0,
                stop_event=_WatchesSet(end, self._on_change),
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
            for _ in changes:
                self._on_change()
        except (OSError, RuntimeError) as error:
            # Watching is tried again after every look: the same reason is told once.
            log.log(
                logging.DEBUG if str(error) == self._refused else logging.INFO,
                "The skills directories are polled, because they cannot be watched: %s",
                error,
            )
            self._refused = str(error)
        finally:
            self.healthy = False


class _WatchesSet:
    """The stop event of `watch`, which polls it only after it has set every watch: calls `then` at the first poll."""

    def __init__(self, end: threading.Event, then: Callable[[], None]) -> None:
        self._end = end
        self._then: Callable[[], None] | None = then

    def is_set(self) -> bool:
        if self._end.is_set():
            return True
        then, self._then = self._then, None
        if then is not None:
            then()
        return False
