"""Progress: a client that gave a token gets notifications, with increasing values and messages; others get none."""

from __future__ import annotations

import asyncio
import json
import os
from itertools import pairwise
from pathlib import Path

import anyio
import httpx2
import pytest
from fastmcp import Client
from filelock import FileLock
from tests.conftest import SkillWriter
from tests.hubs import settings_from
from tests.server.connections import WAYS, listening, reached
from tests.server.test_transports import INITIALIZE, INITIALIZED, RawClient, tool_call

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.bootstrap.server import server_options
from skillhub_mcp.index.writer_lock import LOCK_FILE
from skillhub_mcp.server.app import make_server

pytestmark = pytest.mark.slow

Environment = dict[str, str]

ways = pytest.mark.parametrize("way", WAYS, ids=["-".join(way) for way in WAYS])


@pytest.fixture
def environment(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    write_skill("pdf-reader", "Reads PDF files.")
    Path(hub_environment["DB_PATH"]).parent.mkdir()
    return {
        **hub_environment,
        "SKILLHUB_TOOLS": "core,registry",
        # The command waits at a pipe, which is outside what a confined one reaches.
        "SKILLHUB_SANDBOX": "off",
        "SKILLHUB_ENABLE_RUN": "1",
        "--enable-run-over-http": "1",
        "--allow-anonymous": "1",
    }


class Heard:
    """What a client was told of one call. `then` is called when it has been told so many times."""

    def __init__(self, times: int = 0, then: object = None) -> None:
        self._times, self._then = times, then
        self.told: list[tuple[float, float | None, str | None]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, total, message))
        if len(self.told) == self._times and callable(self._then):
            await asyncio.to_thread(self._then)

    def is_ever_further(self) -> bool:
        return all(before[0] < after[0] for before, after in pairwise(self.told)) and all(
            total is not None and done <= total and message for done, total, message in self.told
        )


@ways
def test_a_search_that_waits_for_the_first_index_says_how_far_it_is(
    way: tuple[str, str], environment: Environment
) -> None:
    # The test holds the lock that writing the index needs.
    lock = FileLock(Path(environment["DB_PATH"]).parent / LOCK_FILE, thread_local=False)
    heard = Heard(1, lock.release)

    async def journey() -> None:
        async with reached(way, environment) as hub:
            found = await hub.client.call_tool("search_skills", {"query": "PDF"}, progress_callback=heard)
            assert not found.is_error
            assert str(heard.told[0][2]).startswith("Reading the skills")
            assert heard.is_ever_further()

            again = Heard()
            await hub.client.call_tool("search_skills", {"query": "PDF"}, progress_callback=again)
            assert again.told == []

    with lock:
        asyncio.run(journey())


def test_each_step_of_an_index_is_reported_and_progress_never_decreases(environment: Environment) -> None:
    settings = settings_from(environment)
    hub = make_hub(settings)
    told: list[str | None] = []

    async def journey() -> None:
        news = asyncio.Event()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)
            news.set()

        async def told_after(*steps: tuple[str, int, int]) -> str | None:
            before = len(told)
            with anyio.fail_after(30):
                while len(told) == before or str(told[-1]).startswith("Reading"):
                    # More than once: a look of the hub's own may end just behind them, and then none of them was told.
                    for step in steps:
                        hub.views.progress.report(*step)
                    with anyio.move_on_after(0.1):
                        await news.wait()
                    news.clear()
            return told[-1]

        # The test holds the lock that writing the index needs, so that only the test's steps are reported.
        lock = FileLock(Path(environment["DB_PATH"]).parent / LOCK_FILE)
        lock.acquire()
        async with Client(make_server(hub, server_options(settings, hub))) as client:
            call = client.call_tool("search_skills", {"query": "PDF"}, progress_handler=on_progress)
            calling = asyncio.ensure_future(call)
            while not told:
                await news.wait()
            assert str(told[0]).startswith("Reading the skills")
            assert await told_after(("embedding", 2_000, 4_000)) == "Embedding the skills: 2,000 of 4,000"
            assert await told_after(("indexing", 30, 40)) == "Indexing the skills: 30 of 40"
            # Another look may begin meanwhile.
            assert await told_after(("indexing", 10, 40), ("indexing", 31, 40)) == "Indexing the skills: 31 of 40"
            lock.release()
            await calling

    asyncio.run(journey())
    assert "Indexing the skills: 10 of 40" not in told


@ways
def test_the_registry_says_how_far_it_is_with_what_is_new(
    way: tuple[str, str], environment: Environment, write_skill: SkillWriter
) -> None:
    heard = Heard()

    async def journey() -> None:
        async with reached(way, environment) as hub:
            await hub.call("search_skills", query="PDF")
            for number in range(3):
                write_skill(f"new-{number}", "Is new.")
            for tool in ("refresh_index", "build_index"):
                await hub.client.call_tool(tool, {}, progress_callback=heard)
                # "Reading the skills", or a later step if the watcher noticed the new files first.
                assert heard.told
                assert all("the skills" in str(message) for _, _, message in heard.told)
                assert heard.is_ever_further()
                heard.told.clear()

    asyncio.run(journey())


@ways
def test_a_command_says_how_long_it_has_been_running(
    way: tuple[str, str], environment: Environment, tmp_path: Path
) -> None:
    waiting = tmp_path / "waiting"
    os.mkfifo(waiting)
    # It ends when there is an end of what it reads.
    heard = Heard(2, lambda: waiting.write_text("", encoding="utf-8"))

    async def journey() -> None:
        async with reached(way, environment) as hub:
            call = {"skill_name": "pdf-reader", "command": "cat", "args": [str(waiting)]}
            ran = await hub.client.call_tool("run_skill_command", call, progress_callback=heard)
            assert not ran.is_error

    asyncio.run(journey())
    assert heard.is_ever_further()
    assert [message for _, _, message in heard.told[:2]] == [
        "cat has been started",
        "cat has been running for 1 of at most 60 seconds",
    ]


def test_without_a_token_nothing_is_reported(environment: Environment) -> None:
    client = RawClient(environment)
    client.answer(INITIALIZE)
    client.send(INITIALIZED)
    assert client.process.stdout is not None
    client.send(tool_call(2, "search_skills", query="PDF"))
    assert json.loads(client.process.stdout.readline())["id"] == 2
    client.send(tool_call(3, "run_skill_command", skill_name="pdf-reader", command="ls"))
    assert json.loads(client.process.stdout.readline())["id"] == 3
    client.close()

    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "search_skills", "arguments": {"query": "PDF"}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "search_skills",
    }
    with listening(environment) as url:
        answered = httpx2.post(url, json=call, headers=headers, timeout=30)
        # The first notification would open a stream.
        assert answered.headers["content-type"] == "application/json"
