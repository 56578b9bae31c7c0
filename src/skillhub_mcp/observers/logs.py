"""Log each request, and what is new about the library."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence

from skillhub_mcp.events import REQUEST_CONTEXT, Event, Observer, RequestEvent
from skillhub_mcp.skills.model import Problem
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.snapshot import ShadowReason, Snapshot

_requests = logging.getLogger("skillhub_mcp.requests")
_library = logging.getLogger("skillhub_mcp.library")


class AccessLog(Observer):
    """Logs requests."""

    def record(self, event: Event) -> None:
        """Log a request."""
        if not (isinstance(event, RequestEvent) and _requests.isEnabledFor(logging.DEBUG)):
            return
        fields: dict[str, object] = {"duration_ms": round(event.seconds * 1_000, 1)}
        if event.tool:
            fields["tool"] = event.tool
        fields["outcome"] = event.outcome
        if (request := REQUEST_CONTEXT.get()) is not None:
            fields |= {"who": request.caller, "transport": request.transport}
            fields |= {"trace_id": request.trace_id} if request.trace_id else {}
        _requests.debug("%s", event.method, extra=fields)


_AT_ONCE = 20


class LibraryLog:
    """Logs the problems that a snapshot has and the one before had not. Thread-safe."""

    def __init__(
        self,
        name_problems: Callable[[Snapshot], Sequence[Problem]],
        elsewhere: Callable[[Snapshot], Sequence[Problem]],
    ) -> None:
        self._name_problems = name_problems
        self._elsewhere = elsewhere
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._known: Collection[str] = ()

    def report(self, snapshot: Snapshot) -> None:
        """Log what is new in `snapshot`: at most twenty problems, and the number of the others."""
        with self._lock:
            if snapshot is self._snapshot:
                return
            if self._snapshot is None:
                for one in self._elsewhere(snapshot):
                    _library.info("%s", one.sentence())
            self._snapshot = snapshot
            # Directories and rules first: they concern many skills.
            problems = [
                *snapshot.report.problems,
                *self._name_problems(snapshot),
                *(refused.as_problem() for refused in snapshot.report.refused),
            ]
            lost = Names(snapshot).shadowed()
            problems += [one.as_problem() for one in lost if one.why is not ShadowReason.COPY]
            copies = [one.as_problem() for one in lost if one.why is ShadowReason.COPY]
            levels = {one.sentence(): logging.WARNING for one in problems}
            levels |= {one.sentence(): logging.INFO for one in copies}
            new = [line for line in levels if line not in self._known]
            self._known = levels
            for line in new[:_AT_ONCE]:
                _library.log(levels[line], "%s", line)
            if len(new) > _AT_ONCE:
                _library.warning("%d more problems; `skillhub doctor` lists them", len(new) - _AT_ONCE)
