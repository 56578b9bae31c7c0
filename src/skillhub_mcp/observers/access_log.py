"""The access log: one DEBUG line for each request with its method, tool and outcome, and without its arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable

from skillhub_mcp.events import REQUEST_CONTEXT, Event, RequestEvent

log = logging.getLogger("skillhub_mcp.requests")

_MILLISECONDS_PER_SECOND = 1_000


class AccessLog:
    """Logs requests."""

    def start(self, event: Event) -> Callable[[], None]:
        """Log a request when it has ended."""

        def finish() -> None:
            if isinstance(event, RequestEvent) and log.isEnabledFor(logging.DEBUG):
                _log(event)

        return finish


def _log(event: RequestEvent) -> None:
    request = REQUEST_CONTEXT.get()
    fields: dict[str, object] = {"duration_ms": round(event.seconds * _MILLISECONDS_PER_SECOND, 1)}
    if event.tool:
        fields["tool"] = event.tool
    fields["outcome"] = event.outcome
    if request is not None:
        fields |= {"who": request.caller, "transport": request.transport}
        if request.trace_id:
            fields["trace_id"] = request.trace_id
    log.debug("%s", event.method, extra=fields)
