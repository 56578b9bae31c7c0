"""Limits of the SDK and uvicorn: unauthenticated bodies, large bodies, and connections, also reset ones."""

from __future__ import annotations

import socket
import struct
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import listening
from tests.server.sessions import serving

pytestmark = pytest.mark.slow

# Closes with a reset.
AT_ONCE = struct.pack("ii", 1, 0)


def connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def test_the_body_of_a_request_without_a_token_is_not_awaited(hub_environment: dict[str, str]) -> None:
    with listening({**hub_environment, "SKILLHUB_TOKEN": "x" * 40}) as url, connected(url) as stranger:
        head = f"POST /mcp HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Length: 1000000\r\n\r\n"
        stranger.sendall(head.encode() + b"{")
        assert stranger.recv(4096).startswith(b"HTTP/1.1 401 ")


def test_a_body_above_the_sdks_limit_is_refused(hub_environment: dict[str, str]) -> None:
    with listening(hub_environment) as url:
        refused = httpx2.post(url, content=b"x" * (4 * 1024 * 1024 + 1), headers=ACCEPT)
        assert refused.status_code == 413
        assert httpx2.post(url, json=INITIALIZE, headers=ACCEPT).status_code == 200


def test_requests_beyond_the_connection_limit_get_a_retry_answer(hub_environment: dict[str, str]) -> None:
    with listening({**hub_environment, "SKILLHUB_MAX_CONNECTIONS": "4"}) as url:
        with ExitStack() as held:
            # Each has sent part of a request, so the server has accepted it.
            for _ in range(4):
                held.enter_context(connected(url)).sendall(b"POST /mcp HTTP/1.1\r\n")
            assert httpx2.post(url, json=INITIALIZE, headers=ACCEPT).status_code == 503
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=3)) as client:
            statuses = (client.post(url, json=INITIALIZE, headers=ACCEPT).status_code for _ in range(100))
            # The places are given back.
            assert 200 in statuses


def test_clients_that_reset_their_connections_do_not_affect_others(hub_environment: dict[str, str]) -> None:
    with serving(hub_environment) as server:
        head = f"POST /mcp HTTP/1.1\r\nHost: {urlsplit(server.url).netloc}\r\nAccept: {ACCEPT['accept']}\r\n"
        head += "MCP-Protocol-Version: 2026-07-28\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        for _ in range(10):
            with connected(server.url) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                client.sendall(head.encode())
        assert httpx2.post(server.url, json=INITIALIZE, headers=ACCEPT).status_code == 200
        server.process.terminate()
    assert "Traceback" not in "".join(server.said)
