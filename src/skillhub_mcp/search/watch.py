"""When did something below the roots change? The operating system's notices, where it gives any."""

from __future__ import annotations

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

    `healthy` is False when the system gives no notices (no such root yet, too many watches, no support): the
    caller then has to look for itself.
    """

    def __init__(self, roots: tuple[SkillRoot, ...], on_change: Callable[[], None]) -> None:
        self._roots = roots
        self._on_change = on_change
        self._stop = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._refused: str | None = None
        self.healthy = False

    def start(self) -> None:
        """Begin watching the roots that exist; does nothing while already watching."""
        paths = [root.path for root in self._roots if os.path.isdir(root.path)]
        with self._starting:
            if not paths or self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self.healthy = True
            self._thread = threading.Thread(target=self._watch, args=(paths,), name="skillhub-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stop.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _watch(self, paths: list[str]) -> None:
        from watchfiles import watch

        try:
            changes = watch(
                *paths,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                stop_event=self._stop,
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
