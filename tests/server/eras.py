"""The four ways a real client reaches a server: stdio and HTTP, in both eras of the protocol.

Over stdio the server is a process of its own; over HTTP it listens on 127.0.0.1 from a thread of this one, which saves
each test the second that a process takes to start. `sessions.http_server` starts one that is a process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import mcp
import mcp_types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from tests.server.sessions import COMMAND

from skillhub_mcp.bootstrap import http_options, make_hub, make_metrics, make_observer, server_options
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.http import app as http_app
from skillhub_mcp.server.middleware.error_handling import ERROR_META_KEY
from skillhub_mcp.settings import read_settings

WAYS = [(transport, mode) for transport in ("stdio", "http") for mode in ("auto", "legacy")]


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool answered: its blocks of text, its structured content, its metadata, and its error's code."""

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
    def code(self) -> str | None:
        error = self.meta.get(ERROR_META_KEY)
        return None if error is None else str(error["code"])

    @property
    def session(self) -> str | None:
        handle = self.meta.get("io.skillhub/session")
        return None if handle is None else str(handle)


class Caller:
    """A client that goes on in its session by itself, as a model does that passes the handle it was told."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client
        self.handle: str | None = None
        self.takes_handle: frozenset[str] = frozenset()

    async def look(self) -> list[mcp_types.Tool]:
        tools = (await self.client.list_tools()).tools
        self.takes_handle = frozenset(
            tool.name for tool in tools if "session" in tool.input_schema.get("properties", {})
        )
        return tools

    async def call(self, tool: str, **arguments: Any) -> Said:
        if self.handle is not None and tool in self.takes_handle:
            arguments["session"] = self.handle
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, mcp_types.CallToolResult)
        texts = tuple(getattr(block, "text", "") for block in result.content)
        said = Said(texts, result.structured_content, result.meta or {})
        assert bool(result.is_error) == (said.code is not None), result
        self.handle = said.session or self.handle
        return said

    async def prompt(self, name: str, /, **arguments: str) -> str:
        result = await self.client.get_prompt(name, arguments)
        assert isinstance(result, mcp_types.GetPromptResult)
        (message,) = result.messages
        return str(getattr(message.content, "text", ""))

    async def prompt_error(self, name: str, /, **arguments: str) -> str:
        try:
            await self.client.get_prompt(name, arguments)
        except MCPError as error:
            return error.error.message
        raise AssertionError(name)


@asynccontextmanager
async def caller(target: Any, mode: str, **options: Any) -> AsyncIterator[Caller]:
    """A client in one session."""
    async with mcp.Client(target, mode=mode, **options) as client:
        made = Caller(client)
        if isinstance(target, str) and mode == "auto":
            # Only these clients may need to pass a handle.
            await made.look()
        yield made


@contextmanager
def listening(environment: Mapping[str, str]) -> Iterator[str]:
    """The address of a server over HTTP in a thread."""
    settings, _ = read_settings(environment)
    metrics = make_metrics(settings)
    hub = make_hub(settings, observer=make_observer(settings, serving=True, metrics=metrics))
    server = make_server(hub, server_options(settings, hub, over_http=True))
    options = http_options(settings, host="127.0.0.1", port=0, metrics=metrics)
    # The server's own way to listen: a socket of `create_server` makes every answer wait for an acknowledgement.
    with http_app.listening(options) as listener:
        serving = http_app.make_uvicorn(http_app.make_http_app(server, hub, options), options)
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            serving.should_exit = True
            thread.join()


def stdio(environment: Mapping[str, str]) -> Any:
    """A server process of its own, over stdio."""
    return stdio_client(StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=dict(environment)))


@asynccontextmanager
async def reached(way: tuple[str, str], environment: Mapping[str, str], **options: Any) -> AsyncIterator[Caller]:
    """A client of a server process, in one of the four ways."""
    transport, mode = way
    if transport == "stdio":
        async with caller(stdio(environment), mode, **options) as made:
            yield made
        return
    with listening(environment) as url:
        async with caller(url, mode, **options) as made:
            yield made
