"""The servers for the conformance tests, started once a file."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import mcp
import pytest
from tests.conformance.library import write_library
from tests.server.sessions import COMMAND, http_server

_FIXTURES = Path(__file__).with_name("fixture_server.py")

# As users start it; with every set of tools, and so with prompts; and the same with the suite's own components.
COMMANDS = {"hub": COMMAND, "full": COMMAND, "fixtures": (sys.executable, str(_FIXTURES))}
FULL = {"SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1"}
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "hub": {},
    "full": FULL,
    "fixtures": {**FULL, "SKILLHUB_ROOTS": "hub"},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a server over the library."""
    return write_library(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def address(library: Mapping[str, str]) -> Iterator[Callable[[str], str]]:
    """The address of one of these servers, which is started on first use."""
    with ExitStack() as running:

        @functools.cache
        def start(server: str) -> str:
            environment = {**library, **SETTINGS[server], "DB_PATH": library["DB_PATH"] + server}
            url = running.enter_context(http_server(environment, command=COMMANDS[server])) + "/mcp"
            asyncio.run(_warm(url))
            return url

        yield start


async def _warm(url: str) -> None:
    """Search once, which loads the index: the suite waits half a second for some answers."""
    async with mcp.Client(url) as client:
        await client.call_tool("search_skills", {"query": "pdf"})
