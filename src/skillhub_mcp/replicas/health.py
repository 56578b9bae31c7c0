"""How the storage of a publication does, as a replica finds it; the log tells each change of it once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp.errors import PublicationDamaged, PublicationMissing, SkillHubError, StorageUnavailable

log = logging.getLogger(__name__)

# A look takes milliseconds, or seconds where there is something new to fetch, which says so.
STALLED_AFTER_SECONDS = 10.0


class StorageState(str, Enum):
    """How the storage does: STARTING before it was asked, STALLED where it does not answer, FAILING where it fails."""

    STARTING = "starting"
    OK = "ok"
    STALLED = "stalled"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class PublicationHealth:
    """The snapshot that is served, empty where there is none, and how the storage does.

    `since` is when the state began and `checked_at` when the storage last answered as it should, 0 for never, both in
    seconds since 1970. `problem` is why the storage fails, and names no path and no address.
    """

    snapshot: str
    storage: StorageState
    since: float
    checked_at: float
    problem: str = ""


class Health:
    """What is known of the storage. Safe to use from several threads.

    Without `tells_of_nothing` the log says nothing where nothing is served: the caller of a command gets the error.
    """

    def __init__(self, *, tells_of_nothing: bool = True, clock: Callable[[], float] = time.time) -> None:
        self._tells_of_nothing = tells_of_nothing
        self._clock = clock
        self._lock = threading.Lock()
        self._state = StorageState.STARTING
        self._since = clock()
        self._checked_at = 0.0
        self._problem = ""
        self._asking = False
        self._answered_at = 0.0
        self._timer: threading.Timer | None = None
        self.snapshot = ""

    def told(self) -> PublicationHealth:
        """Return what is known now."""
        with self._lock:
            return PublicationHealth(self.snapshot, self._state, self._since, self._checked_at, self._problem)

    @property
    def is_bad(self) -> bool:
        """Whether the storage failed, or did not answer, when it was asked last."""
        return self._state in (StorageState.FAILING, StorageState.STALLED)

    def asking(self) -> None:
        """Note that the storage is asked now: without an answer it is stalled in a while."""
        self._answered_at, self._asking = time.monotonic(), True
        self._watch_for(STALLED_AFTER_SECONDS)

    def answered(self) -> None:
        """Note that the storage gave something just now, while it is still being asked."""
        self._answered_at = time.monotonic()

    def not_asking(self) -> None:
        """Note that what the storage gave is worked on, which takes as long as it takes."""
        self._rest()

    def well(self) -> None:
        """Note that the storage answered as it should."""
        self._rest()
        self._checked_at = self._clock()
        self._become(StorageState.OK, "")

    def failed(self, error: SkillHubError) -> None:
        """Note that the storage failed."""
        self._rest()
        self._become(StorageState.FAILING, in_short(error))

    def close(self) -> None:
        """Ask no longer."""
        self._rest()

    def _become(self, state: StorageState, problem: str) -> None:
        with self._lock:
            before, since = self._state, self._since
            self._problem = problem
            if before is state:
                return
            self._state, self._since = state, self._clock()
        bad = (StorageState.FAILING, StorageState.STALLED)
        if state in bad and before not in bad and (self.snapshot or self._tells_of_nothing):
            served = f"snapshot {self.snapshot} is served from the mirror" if self.snapshot else "nothing is served yet"
            log.warning("The storage of the publication fails, %s: %s", served, problem)
        elif before in bad and state not in bad:
            log.info("The storage of the publication answers again, after %d seconds", self._clock() - since)

    def _watch_for(self, seconds: float) -> None:
        with self._lock:
            if self._asking:
                self._timer = threading.Timer(seconds, self._look_at_clock)
                self._timer.daemon = True
                self._timer.start()

    def _look_at_clock(self) -> None:
        left = self._answered_at + STALLED_AFTER_SECONDS - time.monotonic()
        if left > 0:
            self._watch_for(left)
        elif self._asking:
            self._become(StorageState.STALLED, f"the storage has not answered for {STALLED_AFTER_SECONDS:g} seconds")

    def _rest(self) -> None:
        with self._lock:
            self._asking = False
            if self._timer is not None:
                self._timer.cancel()


def in_short(error: SkillHubError) -> str:
    """Return what is wrong with the storage or the publication, without where that is."""
    match error:
        case PublicationDamaged():
            return f"{error.part} {error.reason}"
        case StorageUnavailable():
            return error.reason
        case PublicationMissing(snapshot=""):
            return "nothing is published there"
        case PublicationMissing():
            return f"there is no snapshot {error.snapshot}"
    return error.message
