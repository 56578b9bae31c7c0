"""The four ways a real client reaches a server: stdio and HTTP, in both protocol versions.

The server runs in a thread of this process, which saves each test the second and a half that a process takes to start:
over HTTP it listens on 127.0.0.1, over stdio it reads and writes JSON lines on pipes. `stdio` and
`sessions.http_server` start one that is a process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import mcp
import mcp_types
import pytest
from fastmcp.server.context import reset_transport, set_transport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from tests.hubs import settings_from
from tests.server.sessions import COMMAND, Answer, answer_of

from skillhub_mcp.bootstrap.hub import make_hub, make_metrics
from skillhub_mcp.bootstrap.server import http_options, server_options
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.http import app as http_app
from skillhub_mcp.settings import read_settings

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


@asynccontextmanager
async def piped(environment: Mapping[str, str]) -> AsyncIterator[Any]:
    """The client's streams to a server over stdio in a thread, through two pipes."""
    # Refused settings raise here: a thread that ends before reading would leave its client waiting.
    read_settings(environment)
    from_client, to_server = os.pipe()
    from_server, to_client = os.pipe()
    problems: list[BaseException] = []

    def serve() -> None:
        try:
            asyncio.run(_serve_pipes(environment, from_client, to_client))
        except BaseException as problem:  # noqa: BLE001 - raised again where the client ends
            problems.append(problem)

    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, saying = anyio.create_memory_object_stream[SessionMessage](0)

    # Both end only with their streams: a cancelled test must not leave the server waiting for its stdin.
    async def hear() -> None:
        with anyio.CancelScope(shield=True):
            async with heard, await anyio.open_file(from_server, encoding="utf-8") as lines:
                listening = True
                async for line in lines:
                    # Read the rest after the client has left, so that the server can end.
                    try:
                        if listening:
                            await heard.send(SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line)))
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        listening = False

    async def say() -> None:
        with anyio.CancelScope(shield=True):
            async with saying, await anyio.open_file(to_server, "w", encoding="utf-8") as lines:
                async for message in saying:
                    await lines.write(message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
                    await lines.flush()

    thread = threading.Thread(target=serve)
    thread.start()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        try:
            yield read, write
        finally:
            write.close()
            read.close()
    await anyio.to_thread.run_sync(thread.join)
    for problem in problems:
        raise problem


async def _serve_pipes(environment: Mapping[str, str], stdin: int, stdout: int) -> None:
    """Serve as `FastMCP.run_stdio_async` does, which takes only the stdin and stdout of the whole process."""
    settings = settings_from(environment)
    hub = make_hub(settings, metrics=make_metrics(settings))
    server = make_server(hub, server_options(settings, hub))
    token = set_transport("stdio")
    try:
        with (
            os.fdopen(stdin, "r", encoding="utf-8", errors="replace") as asked,
            os.fdopen(stdout, "w", encoding="utf-8") as said,
        ):
            async with (
                server._lifespan_manager(),
                stdio_server(anyio.wrap_file(asked), anyio.wrap_file(said)) as (read, write),
            ):
                await server._mcp_server.run(read, write, server._mcp_server.create_initialization_options())
    finally:
        reset_transport(token)


@asynccontextmanager
async def reached(
    way: tuple[str, str], environment: Mapping[str, str], *, process: bool = False, **options: Any
) -> AsyncIterator[Caller]:
    """A client by one of the four ways. With `process`, a stdio server runs in its own process."""
    transport, mode = way
    if transport == "stdio":
        target = stdio(environment) if process else piped(environment)
        async with caller(target, mode, **options) as made:
            yield made
        return
    with listening(environment) as url:
        async with caller(url, mode, **options) as made:
            yield made
