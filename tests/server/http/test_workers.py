"""Several worker processes at one address: each answers any request, and all end together."""

from __future__ import annotations

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
from tests.server.connections import Caller, modes
from tests.server.sessions import Process, serving

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="its own processes are found in /proc"),
    pytest.mark.slow,
    pytest.mark.anyio,
]


@pytest.fixture(scope="module")
def shared_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Path]]:
    """A shared server with two workers, and its rules, which allow alpha."""
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
    with serving(environment, "--workers", "2", "--reindex") as server:
        # Both workers have started once it accepts connections.
        assert httpx2.get(server.url.replace("/mcp", "/healthz"), timeout=60).status_code == 200
        yield server, rules
        server.process.terminate()
        assert server.ended() == 0
    said = "".join(server.said)
    assert "ERROR" not in said
    # One worker logs the library for both.
    assert said.count("INFO skillhub_mcp.start: Ready skills=1") == 1


def allow(rules: Path, *names: str) -> None:
    allowed = [{"tool": "skill_load", "skill_name": name} for name in names]
    rules.write_text(json.dumps({"permissions": {"allow": allowed}}), "utf-8")


@asynccontextmanager
async def new_each_time(url: str, mode: str, **options: Any) -> AsyncIterator[Caller]:
    """A client with a new connection for each request, which either worker may accept."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with (
        httpx2.AsyncClient(limits=limits, timeout=60) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield Caller(client)


@contextmanager
def held_up(pid: int) -> Iterator[None]:
    """Suspend a process."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@modes
async def test_each_worker_answers_both_protocols_and_any_client(
    mode: str, shared_workers: tuple[Process, Path]
) -> None:
    server, _ = shared_workers
    async with new_each_time(server.url, mode) as hub:
        for pid in server.children:
            with held_up(pid):
                assert (await hub.call("search_skills", query="alpha")).json["skills"][0]["name"] == "alpha"
                loaded = await hub.call("load_skill", skill_name="alpha")
                assert loaded.json["instructions"] == "The body of alpha.\n"


async def test_a_consent_given_to_one_worker_holds_for_another(shared_workers: tuple[Process, Path]) -> None:
    server, rules = shared_workers
    allow(rules)
    asked: list[str] = []

    async def person(_: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        asked.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"answer": "once"})

    async with new_each_time(server.url, "auto", elicitation_callback=person) as hub:
        await hub.look()
        handles = []
        for pid in (*server.children, *server.children):
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


def test_dead_workers_are_replaced_and_end_with_their_parent(hub_environment: dict[str, str]) -> None:
    with serving(hub_environment, "--workers", "2") as server:
        health = server.url.replace("/mcp", "/healthz")
        assert httpx2.get(health, timeout=60).status_code == 200
        killed = server.children
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        # Callers wait meanwhile.
        assert httpx2.get(health, timeout=120).status_code == 200
        replaced = server.children
        assert not set(replaced) & set(killed)
        watched = [os.pidfd_open(pid) for pid in replaced]
        server.process.kill()
        for descriptor in watched:
            # Readable once the process has ended.
            assert select.select([descriptor], [], [], 120)[0]
            os.close(descriptor)
    assert "ended with -9 and is replaced" in "".join(server.said)
