"""Computing entries in the background, as soon as the skills are known and whenever they change."""

from __future__ import annotations

import logging
import threading

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher

log = logging.getLogger(__name__)

_CLOSING_SECONDS = 2.0
# What a client asks for when it connects comes first: both would share one interpreter.
_HEAD_START_SECONDS = 1.0


class EntryPrewarmer:
    """Keeps the cached entries in sync with one hub's skills, in a background thread."""

    def __init__(self, hub: SkillHub, publisher: Publisher) -> None:
        self._publisher = publisher
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        hub.views.subscribe(lambda is_other: self._changed.set() if is_other else None)

    def start(self) -> None:
        """Start the thread; a second call does nothing."""
        if self._thread is None and not self._closing.is_set():
            self._changed.set()
            self._thread = threading.Thread(target=self._run, name="skillhub-publish", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the thread and close the publisher's cache."""
        self._closing.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join(_CLOSING_SECONDS)
        self._publisher.close()

    def _run(self) -> None:
        self._closing.wait(_HEAD_START_SECONDS)
        while self._changed.wait() and not self._closing.is_set():
            self._changed.clear()
            try:
                made = self._publisher.prepare(stop=self._closing)
            except SkillHubError as error:
                # A client's request fails in the same way; the next change tries again.
                log.warning("Cannot compute the digests of skills: %s", error.message)
            except Exception:  # the top of a thread: an unexpected error must not end it
                log.exception("Cannot compute the digests of skills")
            else:
                log.debug("Computed %d entries", made)
