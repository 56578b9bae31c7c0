"""Ways to talk to a server in tests: within this process, over stdio, and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from tests.hubs import arguments_from, settings_from

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.bootstrap.server import server_options
from skillhub_mcp.cli.main import run
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.error_responses import ERROR_META_KEY

COMMAND = (sys.executable, "-m", "skillhub_mcp")


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's answer: text blocks, structured content and metadata."""

    texts: tuple[str, ...]
    structured: Any
    meta: Mapping[str, Any]

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any] | None:
        return self.meta.get(ERROR_META_KEY)

    @property
    def code(self) -> str | None:
        return None if self.error is None else str(self.error["code"])

    @property
    def session(self) -> str | None:
        handle = self.meta.get("io.skillhub/session")
        return None if handle is None else str(handle)


def answer_of(result: Any) -> Answer:
    """Return the answer in the result of any client."""
    texts = tuple(getattr(block, "text", "") for block in result.content)
    answer = Answer(texts, result.structured_content, result.meta or {})
    assert bool(result.is_error) == (answer.code is not None), result
    return answer


@asynccontextmanager
async def in_process(environment: Mapping[str, str], **options: Any) -> AsyncIterator[Client[Any]]:
    """A client of a server in this process."""
    settings = settings_from(environment)
    hub = make_hub(settings)
    server = make_server(hub, replace(server_options(settings, hub), **options))
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def over_stdio(environment: Mapping[str, str], *arguments: str) -> AsyncIterator[Client[Any]]:
    """A client of a server process, over stdio."""
    transport = StdioTransport(COMMAND[0], [*COMMAND[1:], *arguments], env=dict(environment), keep_alive=False)
    async with Client(transport) as client:
        yield client


@dataclass
class Process:
    """A server process that listens at `url`. `said` has its stderr, all of it once it has ended."""

    process: subprocess.Popen[str]
    url: str
    said: list[str]

    def ended(self) -> int:
        """Wait for its end and return its code."""
        return self.process.wait(timeout=120)

    @property
    def children(self) -> list[int]:
        """The worker processes of this server."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [pid for pid in map(int, found.split()) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@contextmanager
def serving(
    environment: Mapping[str, str], *arguments: str, command: Sequence[str] = COMMAND, cwd: Path | None = None
) -> Iterator[Process]:
    """A server process over HTTP on a free port; it is killed at the end if still running."""
    process = subprocess.Popen(
        [*command, "--transport", "http", "--port", "0", *arguments_from(environment), *arguments],
        env=dict(environment),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    server = Process(process, "", [])
    # The server drops output if nothing reads its stderr.
    hearing = threading.Thread(target=server.said.extend, args=(process.stderr,))
    try:
        for line in process.stderr:
            server.said.append(line)
            if found := re.search(r"Serving MCP at (\S+)", line):
                server.url = found[1]
                break
        assert server.url, "".join(server.said)
        hearing.start()
        yield server
        # Read the output of its children to the end too.
        process.wait(timeout=120)
    finally:
        process.kill()
        process.wait()
        if hearing.is_alive():
            hearing.join()
        process.stderr.close()


@contextmanager
def http_server(
    environment: Mapping[str, str], *arguments: str, command: Sequence[str] = COMMAND, cwd: Path | None = None
) -> Iterator[str]:
    """The address of a server process over HTTP, which ends with the block."""
    with serving(environment, *arguments, command=command, cwd=cwd) as server:
        try:
            yield server.url.removesuffix("/mcp")
        finally:
            server.process.terminate()


def command(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command in this process and return its output; faster than a process."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(printed):
        assert run(list(arguments)) == 0
    printed.flush()
    return printed.buffer.getvalue().decode()


async def call(client: Client[Any], tool: str, **arguments: Any) -> Answer:
    """Call a tool and return its answer, failed or not."""
    return answer_of(await client.call_tool(tool, arguments, raise_on_error=False))


def ask(environment: Mapping[str, str], tool: str, **arguments: Any) -> Answer:
    """Call one tool of a server in this process."""

    async def go() -> Answer:
        async with in_process(environment) as client:
            return await call(client, tool, **arguments)

    return asyncio.run(go())
