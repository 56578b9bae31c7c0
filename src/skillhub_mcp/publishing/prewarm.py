"""When are entries made? As soon as the skills are known, and whenever they change, beside all else."""

from __future__ import annotations

import logging
import threading

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher

log = logging.getLogger(__name__)

_CLOSING_SECONDS = 2.0


class EntryPrewarmer:
    """Keeps the entries of one hub's skills in step, in a thread that `start` begins."""

    def __init__(self, hub: SkillHub, publisher: Publisher) -> None:
        self._publisher = publisher
        self._wanted = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        hub.on_change(self._wanted.set)

    def start(self) -> None:
        """Begin; a second call does nothing."""
        if self._thread is None and not self._closing.is_set():
            self._wanted.set()
            self._thread = threading.Thread(target=self._run, name="skillhub-publish", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop, and close what the entries are kept in."""
        self._closing.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(_CLOSING_SECONDS)
        self._publisher.close()

    def _run(self) -> None:
        while self._wanted.wait() and not self._closing.is_set():
            self._wanted.clear()
            try:
                made = self._publisher.prepare(stop=self._closing)
            except SkillHubError as error:
                # Whoever asks is told the same; at the next change it is tried again.
                log.warning("The digests could not be made ready: %s", error.message)
            except Exception:  # the edge of a thread: what nobody foresaw is reported, and the next change is looked at
                log.exception("The digests could not be made ready")
            else:
                log.debug("Made %d entries", made)
