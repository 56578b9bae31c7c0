"""A client that asks for what it has missed since an event gets a stream of what comes."""

from __future__ import annotations

import httpx2
import pytest
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import listening


@pytest.mark.slow
@pytest.mark.parametrize("event", ["5", ""])
def test_a_client_that_names_the_last_event_it_has_seen_gets_a_stream(
    hub_environment: dict[str, str], event: str
) -> None:
    with listening(hub_environment) as url, httpx2.Client(timeout=20) as http:
        session = http.post(url, json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
        headers = {**ACCEPT, "mcp-session-id": session, "last-event-id": event}
        with http.stream("GET", url, headers=headers) as stream:
            assert (stream.status_code, stream.headers["content-type"]) == (200, "text/event-stream")
