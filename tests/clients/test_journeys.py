"""Search, load, read: by every client library, over stdio and HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import venv
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.conftest import SkillWriter
from tests.server.sessions import COMMAND, http_server

Environment = dict[str, str]

PROJECT = Path(__file__).parents[2]
EXPECTED = {
    "tools": ["search_skills", "load_skill", "read_skill_file"],
    "found": "pdf-reader",
    "instructions": "# How\n\nDo it.\n",
    "file": "A.",
    "failed": [True, "SKILL_NOT_FOUND"],
}


@pytest.fixture
def library(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    write_skill("pdf-reader", "Reads PDF files.", files={"references/a.md": "A."})
    write_skill("painter", "Paints walls.")
    return hub_environment


async def journey(tools: list[str], call: Callable[..., Awaitable[Any]]) -> dict[str, Any]:
    found = json.loads((await call("search_skills", query="read a PDF")).content[0].text)["skills"][0]["name"]
    loaded = json.loads((await call("load_skill", skill_name=found)).content[0].text)
    file = await call("read_skill_file", skill_name=found, file_path="references/a.md")
    failed = await call("load_skill", skill_name="nope")
    return {
        "tools": tools,
        "found": found,
        "instructions": loaded["instructions"],
        "file": json.loads(file.content[0].text)["content"],
        "failed": [failed.is_error, failed.content[0].text.split(":")[0]],
    }


async def with_fastmcp(target: Any) -> dict[str, Any]:
    async with Client(target) as client:
        tools = [tool.name for tool in await client.list_tools()]
        return await journey(tools, lambda tool, **given: client.call_tool(tool, given, raise_on_error=False))


async def with_official_sdk(target: Any, mode: str) -> dict[str, Any]:
    async with mcp.Client(target, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        seen = await journey(tools, lambda tool, **given: client.call_tool(tool, given))
        return {**seen, "protocol": client.protocol_version}


def test_fastmcps_client_completes_the_journey_over_stdio(library: Environment) -> None:
    transport = StdioTransport(COMMAND[0], list(COMMAND[1:]), env=library, keep_alive=False)
    assert asyncio.run(with_fastmcp(transport)) == EXPECTED


def test_fastmcps_client_completes_the_journey_over_http(library: Environment) -> None:
    with http_server(library) as url:
        assert asyncio.run(with_fastmcp(f"{url}/mcp")) == EXPECTED


ERAS = pytest.mark.parametrize(("mode", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])


@ERAS
def test_the_official_sdk_completes_the_journey_over_stdio(library: Environment, mode: str, protocol: str) -> None:
    server = stdio_client(StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=library))
    assert asyncio.run(with_official_sdk(server, mode)) == {**EXPECTED, "protocol": protocol}


@ERAS
def test_the_official_sdk_completes_the_journey_over_http(library: Environment, mode: str, protocol: str) -> None:
    with http_server(library) as url:
        assert asyncio.run(with_official_sdk(f"{url}/mcp", mode)) == {**EXPECTED, "protocol": protocol}


@pytest.fixture(scope="session")
def sdk1_python() -> str:
    """A Python that has the official SDK 1.x, which cannot be installed beside the 2.x that FastMCP needs."""
    directory = PROJECT / ".cache" / "mcp-1"
    python = directory / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    have = [str(python), "-c", "import mcp.client.streamable_http"]
    if not python.exists() or subprocess.run(have, capture_output=True, check=False).returncode:
        venv.create(directory, with_pip=True, clear=True)
        installed = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "mcp>=1.30,<2"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if installed.returncode:
            pytest.skip(f"the official SDK 1.x cannot be installed here: {installed.stderr.strip()[-200:]}")
    return str(python)


def sdk1_journey(python: str, *arguments: str) -> Any:
    script = Path(__file__).with_name("journey_sdk1.py")
    done = subprocess.run(
        [python, str(script), *arguments], capture_output=True, text=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_official_sdk_1_completes_the_journey_over_stdio(library: Environment, sdk1_python: str) -> None:
    seen = sdk1_journey(sdk1_python, "stdio", COMMAND[0], json.dumps(library))
    assert seen == {**EXPECTED, "protocol": "2025-11-25"}


def test_the_official_sdk_1_completes_the_journey_over_http(library: Environment, sdk1_python: str) -> None:
    with http_server(library) as url:
        seen = sdk1_journey(sdk1_python, "http", f"{url}/mcp")
    assert seen == {**EXPECTED, "protocol": "2025-11-25"}
