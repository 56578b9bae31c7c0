"""Log each request, that a server is ready, and what is new about its library."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from skillhub_mcp.events import REQUEST_CONTEXT, Event, RequestEvent
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.snapshot import Problem, ShadowReason, Snapshot, refusal_problems, root_problems, shadowing

_requests = logging.getLogger("skillhub_mcp.requests")
_start = logging.getLogger("skillhub_mcp.start")
_library = logging.getLogger("skillhub_mcp.library")


class AccessLog:
    """Logs requests."""

    def start(self, event: Event) -> Callable[[], None]:
        """Log a request when it has ended."""

        def finish() -> None:
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

        return finish


def log_ready(facts: Mapping[str, object]) -> None:
    """Log that a server is ready, with facts about it."""
    _start.info("Ready", extra=dict(facts))


_AT_ONCE = 20


class LibraryLog:
    """Logs the problems that a snapshot has and the one before had not. Thread-safe."""

    def __init__(
        self,
        name_problems: Callable[[Snapshot], Sequence[Problem]] = lambda _: (),
        elsewhere: Callable[[Snapshot], Sequence[Problem]] = lambda _: (),
    ) -> None:
        self._name_problems = name_problems
        self._elsewhere = elsewhere
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._known: frozenset[str] = frozenset()

    def report(self, snapshot: Snapshot) -> None:
        """Log what is new in `snapshot`: at most twenty problems, and the number of the others."""
        with self._lock:
            if snapshot is self._snapshot:
                return
            if self._snapshot is None:
                for one in self._elsewhere(snapshot):
                    _library.info("%s", one.sentence())
            self._snapshot = snapshot
            lost = Names(snapshot).shadowed()
            copies = [shadowing(one) for one in lost if one.why is ShadowReason.COPY]
            problems = [shadowing(one) for one in lost if one.why is not ShadowReason.COPY]
            # Directories and rules first: they concern many skills.
            settings = (*root_problems(snapshot.report), *self._name_problems(snapshot))
            present = (*settings, *refusal_problems(snapshot.report), *problems, *copies)
            lines = dict.fromkeys(problem.sentence() for problem in present)
            new = [line for line in lines if line not in self._known]
            self._known = frozenset(lines)
            of_copies = {copy.sentence() for copy in copies}
            for number, line in enumerate(new):
                if number == _AT_ONCE:
                    _library.warning("%d more problems; `skillhub doctor` lists them", len(new) - _AT_ONCE)
                    return
                _library.log(logging.INFO if line in of_copies else logging.WARNING, "%s", line)
