"""Search, load, read, err: by the clients of this project's own SDKs, over stdio and HTTP, in both protocol versions.

`test_other_makers.py` has those that need an environment of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import mcp
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.clients.journeys.steps import Reached, walk
from tests.conftest import SkillWriter
from tests.server.sessions import COMMAND, http_server

pytestmark = pytest.mark.slow

Environment = dict[str, str]

SEEN: Mapping[str, Any] = {
    "instructed": True,
    "tools": ["search_skills", "load_skill", "read_skill_file"],
    "found": "pdf-reader",
    "body": "# How\n\nDo it.\n",
    "file": "A.",
    "failed": [True, "SKILL_NOT_FOUND: No skill is named 'nope'"],
    "resource": ["---\nname: pdf-reader\ndescription: Reads PDF files.\n---\n# How\n\nDo it.\n"],
}


@pytest.fixture
def library(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    write_skill("pdf-reader", "Reads PDF files.", files={"references/a.md": "A."})
    write_skill("painter", "Paints walls.")
    return hub_environment


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest, library: Environment) -> Iterator[str | None]:
    """The address of a server over HTTP, or None where the client is to start one."""
    if request.param == "stdio":
        yield None
        return
    with http_server(library) as url:
        yield f"{url}/mcp"


async def with_fastmcp(target: Any) -> dict[str, Any]:
    async with Client(target) as client:

        async def call(tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            return getattr(result.content[0], "text", ""), result.is_error

        async def read(uri: str) -> str:
            return str(getattr((await client.read_resource(uri))[0], "text", ""))

        tools = [tool.name for tool in await client.list_tools()]
        resources = [resource.uri for resource in await client.list_resources()]
        return await walk(
            Reached(client.protocol_version or "", client.instructions or "", tools, resources, call, read)
        )


async def with_official_sdk(target: Any, mode: str) -> dict[str, Any]:
    async with mcp.Client(target, mode=mode) as client:

        async def call(tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
            result: Any = await client.call_tool(tool, arguments)
            return result.content[0].text, bool(result.is_error)

        async def read(uri: str) -> str:
            result: Any = await client.read_resource(uri)
            return str(result.contents[0].text)

        tools = [tool.name for tool in (await client.list_tools()).tools]
        resources = [resource.uri for resource in (await client.list_resources()).resources]
        return await walk(Reached(client.protocol_version, client.instructions or "", tools, resources, call, read))


def test_fastmcps_client_completes_the_journey(library: Environment, transport: str | None) -> None:
    target = transport or StdioTransport(COMMAND[0], list(COMMAND[1:]), env=library, keep_alive=False)
    assert asyncio.run(with_fastmcp(target)) == {**SEEN, "protocol": "2026-07-28"}


@pytest.mark.parametrize(("mode", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_sdk_completes_the_journey(
    library: Environment, transport: str | None, mode: str, protocol: str
) -> None:
    parameters = StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=library)
    target = transport or stdio_client(parameters)
    assert asyncio.run(with_official_sdk(target, mode)) == {**SEEN, "protocol": protocol}
