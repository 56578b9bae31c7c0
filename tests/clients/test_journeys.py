"""Search, load, read and fail with FastMCP's client and the official SDK, by both transports and protocol versions.

`test_other_makers.py` tests the clients that need their own environment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from typing import Any

import mcp
import pytest
from fastmcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.clients.journeys.steps import Reached, walk
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


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment of a server with two skills."""
    root = tmp_path_factory.mktemp("library")
    texts = {"pdf-reader": SEEN["resource"][0], "painter": "---\nname: painter\ndescription: Paints walls.\n---\n"}
    for name, text in texts.items():
        (root / "skills" / name / "references").mkdir(parents=True)
        (root / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
        (root / "skills" / name / "references" / "a.md").write_text("A.", encoding="utf-8")
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    places = {"HOME": str(root), "SKILLS_DIR": str(root / "skills"), "DB_PATH": str(root / "db")}
    return {**inherited, **places, "EMBEDDING_PROVIDER": "none"}


@pytest.fixture(scope="module")
def address(library: Environment) -> Iterator[str]:
    with http_server({**library, "DB_PATH": library["DB_PATH"] + "-http"}) as url:
        yield f"{url}/mcp"


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str | None:
    """The address of a server over HTTP, or None if the client starts one."""
    return request.getfixturevalue("address") if request.param == "http" else None


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


def test_fastmcps_client_completes_the_journey(address: str) -> None:
    assert asyncio.run(with_fastmcp(address)) == {**SEEN, "protocol": "2026-07-28"}


@pytest.mark.parametrize(("mode", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_sdk_completes_the_journey(
    library: Environment, transport: str | None, mode: str, protocol: str
) -> None:
    parameters = StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=library)
    target = transport or stdio_client(parameters)
    assert asyncio.run(with_official_sdk(target, mode)) == {**SEEN, "protocol": protocol}
