"""Clients with a token, and helpers that create tokens."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp
from joserfc.jwk import Key
from mcp.client.streamable_http import streamable_http_client
from tests.server.connections import Caller

from skillhub_mcp.policy.access_tokens import make_token
from skillhub_mcp.policy.files import TOKENS
from skillhub_mcp.policy.visibility import Visibility

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def bearing(token: str) -> dict[str, str]:
    """The headers of a request with a token."""
    return {"authorization": f"Bearer {token}", **ACCEPT}


def knock(url: str, token: str | None = None, **headers: str) -> httpx2.Response:
    """Begin a session of the older protocol, and return the response."""
    given = {**(ACCEPT if token is None else bearing(token)), **headers}
    return httpx2.post(url, json=INITIALIZE, headers=given, timeout=30)


@asynccontextmanager
async def bearer(url: str, token: str, mode: str = "auto", **options: Any) -> AsyncIterator[Caller]:
    """A client with a token."""
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with mcp.Client(transport, mode=mode, **options) as client:
            made = Caller(client)
            if mode == "auto":
                await made.look()
            yield made


def add_token(
    file: Path, name: str, *, skills: Collection[str] = (), categories: Collection[str] = (), may_run: bool = False
) -> str:
    """Add a token to a file, and return it."""
    token, secret = make_token(
        name, Visibility(frozenset(skills) or None, frozenset(categories) or None), may_run=may_run
    )
    TOKENS.change(str(file), lambda tokens: tokens.with_token(token))
    return secret


@contextmanager
def issuer(*keys: Key) -> Iterator[str]:
    """The address of an issuer that publishes the public `keys`."""
    published = json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()

    class Issuer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/.well-known/jwks.json" else 404)
            self.end_headers()
            self.wfile.write(published if self.path == "/.well-known/jwks.json" else b"")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()
