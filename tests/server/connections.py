"""The four ways a real client reaches a server: stdio and HTTP, in both protocol versions.

The server runs in this process, which saves each test the second and a half that a process takes to start: over HTTP
it listens on 127.0.0.1, in place of stdio it gets the client's messages from memory. `stdio` and `sessions.http_server`
start one that is a process.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import mcp
import mcp_types
import pytest
from fastmcp.client.transports import FastMCPTransport
from fastmcp.client.transports.base import TransportOptions
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from tests.hubs import settings_from
from tests.server.sessions import COMMAND, Answer, answer_of

from skillhub_mcp.bootstrap.hub import make_hub, make_metrics
from skillhub_mcp.bootstrap.server import http_options, server_options
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.http import app as http_app

# Lets every client run commands, also over HTTP.
RUN = {"SKILLHUB_ENABLE_RUN": "1", "--enable-run-over-http": "1", "--allow-anonymous": "1"}

WAYS = [(transport, mode) for transport in ("stdio", "http") for mode in ("auto", "legacy")]
# Each transport and protocol once, for behaviour that another test covers in all combinations.
TWO_WAYS = [("stdio", "legacy"), ("http", "auto")]
ways = pytest.mark.parametrize("way", WAYS, ids="-".join)
two_ways = pytest.mark.parametrize("way", TWO_WAYS, ids="-".join)
modes = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Caller:
    """A client that passes its session handle on, as a model does."""

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

    async def call(self, tool: str, **arguments: Any) -> Answer:
        if self.handle is not None and tool in self.takes_handle:
            arguments["session"] = self.handle
        answer = answer_of(await self.client.call_tool(tool, arguments))
        self.handle = answer.session or self.handle
        return answer

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


class Person:
    """Answers and records the questions to the client."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.questions: list[str] = []
        self.offered: list[str] = []

    async def __call__(self, _: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        assert isinstance(params, mcp_types.ElicitRequestFormParams)
        self.questions.append(params.message)
        self.offered = params.requested_schema["properties"]["answer"]["enum"]
        if self.answer is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content={"answer": self.answer})


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
    settings = settings_from(environment)
    metrics = make_metrics(settings)
    hub = make_hub(settings, metrics=metrics)
    server = make_server(hub, server_options(settings, hub, over_http=True))
    options = http_options(settings, host="127.0.0.1", port=0, metrics=metrics)
    # The server's own function: a socket of `create_server` delays every answer (Nagle).
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
    """A server process over stdio."""
    return stdio_client(StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=dict(environment)))


class _Streams:
    """In place of FastMCP's client session: the streams that it would use."""

    def __init__(self, read_stream: Any, write_stream: Any, **_: object) -> None:
        self._streams = read_stream, write_stream

    async def __aenter__(self) -> tuple[Any, Any]:
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        for stream in self._streams:
            await stream.aclose()


@asynccontextmanager
async def in_memory(environment: Mapping[str, str]) -> AsyncIterator[Any]:
    """The client's streams to a server with the options of stdio in this process."""
    settings = settings_from(environment)
    hub = make_hub(settings, metrics=make_metrics(settings))
    server = make_server(hub, server_options(settings, hub))
    streams = TransportOptions(session_class=cast("Any", _Streams))
    async with FastMCPTransport(server).connect_session(transport_options=streams) as made:
        yield made


@asynccontextmanager
async def reached(
    way: tuple[str, str], environment: Mapping[str, str], *, process: bool = False, **options: Any
) -> AsyncIterator[Caller]:
    """A client by one of the four ways. With `process`, a stdio server runs in its own process."""
    transport, mode = way
    if transport == "stdio":
        target = stdio(environment) if process else in_memory(environment)
        async with caller(target, mode, **options) as made:
            yield made
        return
    with listening(environment) as url:
        async with caller(url, mode, **options) as made:
            yield made
