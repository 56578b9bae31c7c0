"""Clients that add nothing to what they measure: JSON lines over pipes, and plain requests over one connection."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

_MODERN = "2026-07-28"


class StdioServer:
    """A server process; `since_start` is the seconds from before it was spawned."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
        )
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    @property
    def since_start(self) -> float:
        return time.perf_counter() - self._began

    @property
    def process(self) -> int:
        return self._process.pid

    def initialize(self) -> Any:
        answer = self.request(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Mapping[str, object]) -> Any:
        return self.request("tools/call", {"name": tool, "arguments": dict(arguments)})

    def request(self, method: str, params: Mapping[str, object] | None = None) -> Any:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": dict(params or {})})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._next:
                return message["result"]
        raise RuntimeError(f"the server ended before it answered {method}")

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


class HttpConnection:
    """One kept connection to a server over HTTP, in the 2026-07-28 protocol."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._next = 0

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Any:
        return await self.request("tools/call", {"name": tool, "arguments": dict(arguments)}, name=tool)

    async def request(self, method: str, params: Mapping[str, object], *, name: str = "") -> Any:
        self._next += 1
        meta = {
            "io.modelcontextprotocol/protocolVersion": _MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": {**params, "_meta": meta}}
        body = json.dumps(message).encode()
        head = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"MCP-Protocol-Version: {_MODERN}",
            f"Mcp-Method: {method}",
            *([f"Mcp-Name: {name}"] if name else []),
            f"Content-Length: {len(body)}",
        ]
        self._writer.write("\r\n".join([*head, "", ""]).encode() + body)
        headers = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if "content-length:" not in headers:
            raise RuntimeError(f"{method} was not answered in one piece: {headers}")
        length = int(headers.partition("content-length:")[2].split("\r\n", 1)[0])
        answer = json.loads(await self._reader.readexactly(length))
        if "result" not in answer:
            raise RuntimeError(f"{method} failed: {answer}")
        return answer["result"]
