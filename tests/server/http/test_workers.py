"""Several processes answer at one address: each can answer any request, and all of them end together."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp
import mcp_types
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.conftest import SkillWriter
from tests.server.connections import Caller
from tests.server.processes import Process, serving

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="which processes are its own is told by /proc"),
    pytest.mark.slow,
]


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter) -> dict[str, str]:
    write_skill("alpha", "Does alpha.", body="The body of alpha.\n")
    return hub_environment


@contextmanager
def two_workers(environment: dict[str, str]) -> Iterator[tuple[Process, int, int]]:
    """A server with its index made, and its two workers."""
    with serving(environment, "--workers", "2", "--reindex") as server:
        # It has begun both when it lets in the first.
        assert httpx2.get(server.url.replace("/mcp", "/healthz"), timeout=60).status_code == 200
        one, other = server.children
        yield server, one, other


@pytest.fixture(scope="module")
def shared_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, int, int, Path]]:
    """A server with two workers for the tests that end neither, and its rules, under which alpha is loaded unasked."""
    directory = tmp_path_factory.mktemp("workers")
    rules = directory / ".skillhub" / "permissions.json"
    rules.parent.mkdir()
    allow(rules, "alpha")
    (directory / "skills" / "alpha").mkdir(parents=True)
    (directory / "skills" / "alpha" / "SKILL.md").write_text(
        "---\nname: alpha\ndescription: Does alpha.\n---\nThe body of alpha.\n", encoding="utf-8"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "SKILLS_DIR": str(directory / "skills"),
        "DB_PATH": str(directory / "db" / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
    }
    with two_workers(environment) as (server, one, other):
        yield server, one, other, rules
        server.process.terminate()
        assert server.ended() == 0
    said = "".join(server.said)
    assert "ERROR" not in said
    # One of the workers logs what the library has, for both.
    assert said.count("INFO skillhub_mcp.start: Ready skills=1") == 1


def allow(rules: Path, *names: str) -> None:
    allowed = [{"tool": "skill_load", "skill_name": name} for name in names]
    rules.write_text(json.dumps({"permissions": {"allow": allowed}}), "utf-8")


@asynccontextmanager
async def new_each_time(url: str, mode: str, **options: Any) -> AsyncIterator[Caller]:
    """A client whose every request is a connection of its own, which either worker may take."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with (
        httpx2.AsyncClient(limits=limits, timeout=60) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield Caller(client)


@contextmanager
def held_up(pid: int) -> Iterator[None]:
    """A process that gets nowhere meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_each_worker_answers_both_eras_and_the_next_request_of_another_ones_client(
    shared_workers: tuple[Process, int, int, Path],
) -> None:
    async def journey(url: str, mode: str, workers: tuple[int, int]) -> list[str]:
        async with new_each_time(url, mode) as hub:
            said = []
            for pid in workers:
                with held_up(pid):
                    said.append((await hub.call("search_skills", query="alpha")).json["skills"][0]["name"])
                    said.append((await hub.call("load_skill", skill_name="alpha")).json["instructions"])
        return said

    server, *workers, _ = shared_workers
    for mode in ("auto", "legacy"):
        told = asyncio.run(journey(server.url, mode, (workers[0], workers[1])))
        assert told == ["alpha", "The body of alpha.\n"] * 2


def test_what_was_agreed_to_with_one_worker_holds_with_another(
    shared_workers: tuple[Process, int, int, Path],
) -> None:
    server, *workers, rules = shared_workers
    allow(rules)

    async def journey(url: str) -> None:
        asked: list[str] = []

        async def person(_: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
            asked.append(params.message)
            return mcp_types.ElicitResult(action="accept", content={"answer": "once"})

        async with new_each_time(url, "auto", elicitation_callback=person) as hub:
            await hub.look()
            handles = []
            for pid in (*workers, *workers):
                with held_up(pid):
                    assert "The body of alpha." in (await hub.call("load_skill", skill_name="alpha")).text
                    said = await hub.call("read_skill_file", skill_name="alpha", file_path="SKILL.md")
                    assert said.code is None
                    handles.append(hub.handle)
            assert len(asked) == 1
            assert len(set(handles)) == 1
            hub.handle = "made-up"
            await hub.call("load_skill", skill_name="alpha")
            assert len(asked) == 2

    try:
        asyncio.run(journey(server.url))
    finally:
        allow(rules, "alpha")


def test_a_worker_that_dies_is_replaced_and_none_stays_without_the_one_that_looks_after_it(
    environment: dict[str, str],
) -> None:
    with two_workers(environment) as (server, *workers):
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        # Who calls meanwhile waits.
        assert httpx2.get(server.url.replace("/mcp", "/healthz"), timeout=120).status_code == 200
        replaced = server.children
        assert not set(replaced) & set(workers)
        watched = [os.pidfd_open(pid) for pid in replaced]
        server.process.kill()
        for descriptor in watched:
            # It can be read from when the process has ended.
            assert select.select([descriptor], [], [], 120)[0]
            os.close(descriptor)
    assert "ended with -9 and is replaced" in "".join(server.said)
