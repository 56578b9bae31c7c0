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
    """A tool's answer: text, structured content, and the error's data if it failed."""

    text: str
    blocks: int
    structured: Any
    error: dict[str, Any] | None

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        return None if self.error is None else self.error["code"]


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


@contextmanager
def http_server(
    environment: Mapping[str, str],
    *arguments: str,
    command: Sequence[str] = COMMAND,
    cwd: Path | None = None,
    said: list[str] | None = None,
) -> Iterator[str]:
    """The address of a server process over HTTP on a free port; `said` collects the lines of its stderr."""
    process = subprocess.Popen(
        [*command, "--transport", "http", "--port", "0", *arguments_from(environment), *arguments],
        env={**environment, "LOG_LEVEL": "INFO"},
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    said = [] if said is None else said
    # The server drops output if stderr is closed.
    hearing = threading.Thread(target=said.extend, args=(process.stderr,))
    try:
        for line in process.stderr:
            said.append(line)
            found = re.search(r"Serving MCP at (http://\S+)/mcp", line)
            if found:
                break
        else:
            raise AssertionError("".join(said))
        hearing.start()
        yield found[1]
    finally:
        process.terminate()
        process.wait(timeout=30)
        if hearing.is_alive():
            hearing.join()
        process.stderr.close()


def shell(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command in a new process and return its output."""
    done = subprocess.run(
        [*COMMAND, *arguments], env=dict(environment), capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command in this process and return its output; faster than `shell`."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(printed):
        assert run(list(arguments)) == 0
    printed.flush()
    return printed.buffer.getvalue().decode()


async def call(client: Client[Any], tool: str, **arguments: Any) -> Answer:
    """Call a tool and return its answer, failed or not."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    error = (result.meta or {}).get(ERROR_META_KEY)
    assert result.is_error == (error is not None), result
    texts = [getattr(block, "text", "") for block in result.content]
    return Answer(texts[0], len(texts), result.structured_content, error)


def ask(environment: Mapping[str, str], tool: str, **arguments: Any) -> Answer:
    """Call one tool of a server in this process."""

    async def go() -> Answer:
        async with in_process(environment) as client:
            return await call(client, tool, **arguments)

    return asyncio.run(go())
