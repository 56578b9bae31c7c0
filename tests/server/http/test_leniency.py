"""Requests that other servers accept: an ended session, JSON without streams, a slash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import ACCEPT, ENVELOPE, INITIALIZE
from tests.server.connections import listening

pytestmark = pytest.mark.slow

SEARCH: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search_skills", "arguments": {"query": "alpha"}, "_meta": {"progressToken": "t"}},
}
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "search_skills"}


@pytest.fixture
def url(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[str]:
    write_skill("alpha")
    with listening(hub_environment) as url:
        yield url


@pytest.mark.parametrize("session", ["gone", ""])
def test_initialize_with_an_ended_session_starts_a_new_one(url: str, session: str) -> None:
    begun = httpx2.post(url, json=INITIALIZE, headers={**ACCEPT, "mcp-session-id": session})
    assert begun.status_code == 200
    assert begun.headers["mcp-session-id"] not in ("", "gone")
    lost = httpx2.post(url, json=SEARCH, headers={**ACCEPT, "mcp-session-id": "gone"})
    assert lost.status_code == 404


@pytest.mark.parametrize("accept", ["*/*", "application/json; q=0.9, text/plain", ""])
def test_a_client_that_does_not_accept_streams_gets_json(url: str, accept: str) -> None:
    headers = {"accept": accept}
    begun = httpx2.post(url, json=INITIALIZE, headers=headers)
    assert begun.headers["content-type"] == "application/json"
    assert begun.json()["result"]["serverInfo"]["name"] == "SkillHub"
    headers["mcp-session-id"] = begun.headers["mcp-session-id"]
    found = httpx2.post(url, json=SEARCH, headers=headers, timeout=60)
    assert found.json()["result"]["structuredContent"]["skills"][0]["name"] == "alpha"
    params = {**SEARCH["params"], "_meta": {**ENVELOPE, "progressToken": "t"}}
    modern = httpx2.post(url, json={**SEARCH, "params": params}, headers={"accept": accept, **MODERN}, timeout=60)
    assert modern.json()["result"]["structuredContent"]["skills"][0]["name"] == "alpha"


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
def test_a_subscription_needs_a_stream(url: str, accept: str) -> None:
    params = {"notifications": {}, "_meta": ENVELOPE}
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {"accept": accept, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}
    with httpx2.Client(timeout=30) as client, client.stream("POST", url, json=listen, headers=headers) as answer:
        # Only `*/*` accepts a stream.
        assert answer.status_code == (406 if accept == "application/json" else 200)


def test_the_endpoint_accepts_a_trailing_slash(url: str) -> None:
    begun = httpx2.post(f"{url}/", json=INITIALIZE, headers=ACCEPT, follow_redirects=False)
    assert (begun.status_code, begun.headers["content-type"]) == (200, "text/event-stream")
    lost = httpx2.get(f"{url}/nothing/", follow_redirects=False)
    assert lost.status_code == 404
