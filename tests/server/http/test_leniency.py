"""Requests that other servers accept: a session that ended, JSON without streams, a slash, a resumed stream."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import listening

pytestmark = pytest.mark.slow

TOKEN = "a-token-for-this-test"
SEARCH: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search_skills", "arguments": {"query": "alpha"}, "_meta": {"progressToken": "t"}},
}
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "search_skills"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def url(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[str]:
    write_skill("alpha")
    with listening(hub_environment) as url:
        yield url


@pytest.mark.parametrize("session", ["gone", ""])
def test_initialize_with_a_session_that_ended_starts_a_session(url: str, session: str) -> None:
    begun = httpx2.post(url, json=INITIALIZE, headers={**ACCEPT, "mcp-session-id": session})
    assert begun.status_code == 200
    assert begun.headers["mcp-session-id"] not in ("", "gone")
    lost = httpx2.post(url, json=SEARCH, headers={**ACCEPT, "mcp-session-id": "gone"})
    assert lost.status_code == 404


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/json; q=0.9, text/plain", ""])
def test_a_client_that_asks_for_no_stream_gets_json(url: str, accept: str) -> None:
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


def test_a_client_that_accepts_a_stream_gets_one(url: str) -> None:
    assert httpx2.post(url, json=INITIALIZE, headers=ACCEPT).headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
def test_a_subscription_is_no_json(url: str, accept: str) -> None:
    params = {"notifications": {}, "_meta": ENVELOPE}
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {"accept": accept, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}
    with httpx2.Client(timeout=30) as client, client.stream("POST", url, json=listen, headers=headers) as answer:
        # Only `*/*` accepts a stream.
        assert answer.status_code == (406 if accept == "application/json" else 200)


def test_the_endpoint_with_a_slash_is_the_endpoint(url: str) -> None:
    begun = httpx2.post(f"{url}/", json=INITIALIZE, headers=ACCEPT, follow_redirects=False)
    assert begun.status_code == 200
    lost = httpx2.get(f"{url}/nothing/", follow_redirects=False)
    assert lost.status_code == 404


def test_every_path_that_the_front_page_names_has_the_prefix_of_the_proxy(hub_environment: dict[str, str]) -> None:
    environment = {**hub_environment, "SKILLHUB_PUBLIC_URL": "https://example.com/hub/mcp"}
    with listening(environment) as url:
        front = url.removesuffix("mcp")
        facts = httpx2.get(front, headers={"accept": "application/json"}).json()
        assert (facts["health"], facts["ready"], facts["skills"]) == ("/hub/healthz", "/hub/readyz", "/hub/skills")
        text = httpx2.get(front, headers={"accept": "text/plain"}).text
        assert "/hub/healthz" in text
        assert " /healthz" not in text


def test_a_request_without_a_token_is_refused_before_its_body_arrives(hub_environment: dict[str, str]) -> None:
    with listening({**hub_environment, "SKILLHUB_TOKEN": TOKEN}) as url:
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port), timeout=30) as stranger:
            lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Mcp-Session-Id: gone", "Content-Length: 4000", "", "{"]
            stranger.sendall("\r\n".join(lines).encode())
            assert stranger.recv(12) == b"HTTP/1.1 401"
        bearing = {**ACCEPT, "authorization": f"Bearer {TOKEN}", "mcp-session-id": "gone"}
        assert httpx2.post(url, json=INITIALIZE, headers=bearing).status_code == 200


def test_a_body_above_the_limit_is_refused_in_a_session_too(url: str) -> None:
    session = httpx2.post(url, json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
    large = iter([b"x" * 1_000_000] * 6)
    assert httpx2.post(url, content=large, headers={**ACCEPT, "mcp-session-id": session}).status_code == 413


@pytest.mark.parametrize("event", ["5", ""])
def test_a_client_that_names_the_last_event_it_has_seen_gets_a_stream(url: str, event: str) -> None:
    with httpx2.Client(timeout=20) as http:
        session = http.post(url, json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
        headers = {**ACCEPT, "mcp-session-id": session, "last-event-id": event}
        with http.stream("GET", url, headers=headers) as stream:
            assert (stream.status_code, stream.headers["content-type"]) == (200, "text/event-stream")
