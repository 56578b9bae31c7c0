"""Which requests were answered? One line each in the log, at DEBUG: what was called and how it ended, not with what."""

from __future__ import annotations

import logging
from collections.abc import Callable

from skillhub_mcp.events import REQUEST_CONTEXT, Event, RequestEvent

log = logging.getLogger("skillhub_mcp.requests")

_MILLISECONDS_A_SECOND = 1_000


class AccessLog:
    """Logs requests."""

    def begins(self, happening: Event) -> Callable[[], None]:
        """Log a request when it has ended."""

        def ended() -> None:
            if isinstance(happening, RequestEvent) and log.isEnabledFor(logging.DEBUG):
                _log(happening)

        return ended


def _log(request: RequestEvent) -> None:
    asking = REQUEST_CONTEXT.get()
    facts: dict[str, object] = {"duration_ms": round(request.seconds * _MILLISECONDS_A_SECOND, 1)}
    if request.tool:
        facts["tool"] = request.tool
    facts["outcome"] = request.outcome
    if asking is not None:
        facts |= {"who": asking.who, "transport": asking.transport}
        if asking.trace_id:
            facts["trace_id"] = asking.trace_id
    log.debug("%s", request.method, extra=facts)
