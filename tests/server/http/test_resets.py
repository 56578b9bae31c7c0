"""Fifty concurrent clients, half of which reset their connections in the middle of a request."""

from __future__ import annotations

import json
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.server.sessions import serving

pytestmark = pytest.mark.slow

CLIENTS, ROUNDS = 50, 2
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "load_skill",
        "arguments": {"skill_name": "walrus"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "load_skill",
}
# Closes with a reset.
AT_ONCE = struct.pack("ii", 1, 0)


def reset_in_the_middle(url: str) -> None:
    place = urlsplit(url)
    body = json.dumps(CALL).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    request = f"POST /mcp HTTP/1.1\r\nhost: {place.netloc}\r\n{head}content-type: application/json\r\n".encode()
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        connection.sendall(request + f"content-length: {len(body)}\r\n\r\n".encode() + body[: len(body) // 2])


def load(url: str) -> list[int]:
    with httpx2.Client(timeout=60, headers=HEADERS) as client:
        answers = [client.post(url, json=CALL) for _ in range(ROUNDS)]
    for answer in answers:
        assert not answer.json()["result"].get("isError")
    return [answer.status_code for answer in answers]


def test_clients_that_reset_connections_do_not_affect_others(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")

    def client(url: str, number: int) -> list[int]:
        if number % 2:
            return load(url)
        for _ in range(ROUNDS):
            reset_in_the_middle(url)
        return []

    with serving(hub_environment) as server, ThreadPoolExecutor(CLIENTS) as pool:
        answered = list(pool.map(lambda number: client(server.url, number), range(CLIENTS)))
        assert [len(one) for one in answered] == [0, ROUNDS] * (CLIENTS // 2)
        assert {status for one in answered for status in one} == {200}
        assert httpx2.get(server.url.replace("/mcp", "/healthz"), timeout=60).status_code == 200
        server.process.terminate()
    assert "Traceback" not in "".join(server.said)
