"""A stopping server answers requests in flight, ends streams and exits."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest
from tests.conftest import SkillWriter, own_file
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import RUN, caller
from tests.server.sessions import serving
from tests.server.test_transports import INITIALIZED, RawClient, tool_call

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a process there is killed, not asked to stop"),
    pytest.mark.slow,
    pytest.mark.anyio,
]

# Reports its start, and ends when released.
WAITING = "import sys\nopen(sys.argv[1], 'w').close()\nprint(open(sys.argv[2]).read())\n"


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter) -> dict[str, str]:
    write_skill("slow", files={"wait.py": WAITING})
    return {
        **hub_environment,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{hub_environment['PATH']}",
        # The command waits at a pipe, which a sandboxed one cannot reach.
        "SKILLHUB_SANDBOX": "off",
        **RUN,
    }


async def answer_in_flight(url: str, mode: str, begun: Path, go_on: Path) -> str:
    """Call a command that ends once `go_on` is written, and return what it printed."""
    async with caller(url, mode) as hub:
        # Otherwise the client requests the tool's schema after the server has stopped.
        await hub.look()
        args = ["wait.py", str(begun), str(go_on)]
        said = await hub.call("run_skill_command", skill_name="slow", command="python", args=args)
        return str(said.structured["stdout"])


async def lines_of_a_stream(url: str) -> None:
    """Read a stream of the 2025-11-25 protocol to its end."""
    async with httpx2.AsyncClient(timeout=60) as http:
        session = (await http.post(url, json=INITIALIZE, headers=ACCEPT)).headers["mcp-session-id"]
        async with http.stream("GET", url, headers={**ACCEPT, "mcp-session-id": session}) as stream:
            async for _ in stream.aiter_lines():
                pass


async def events_of_a_subscription(url: str, listening: asyncio.Event) -> int:
    """Count the events of a stream of the 2026-07-28 protocol up to its end; a lost one raises."""
    async with mcp.Client(url) as client, client.listen(resources_list_changed=True) as subscription:
        listening.set()
        return len([event async for event in subscription])


async def test_a_stopping_server_answers_calls_and_ends_streams(environment: dict[str, str], tmp_path: Path) -> None:
    pipes = {(mode, use): tmp_path / f"{mode}-{use}" for mode in ("auto", "legacy") for use in ("begun", "go-on")}
    for pipe in pipes.values():
        os.mkfifo(pipe)
    listening = asyncio.Event()
    with serving(environment) as server:
        calls = [
            asyncio.ensure_future(answer_in_flight(server.url, mode, pipes[mode, "begun"], pipes[mode, "go-on"]))
            for mode in ("auto", "legacy")
        ]
        stream = asyncio.ensure_future(lines_of_a_stream(server.url))
        subscription = asyncio.ensure_future(events_of_a_subscription(server.url, listening))
        for mode in ("auto", "legacy"):
            await asyncio.to_thread(pipes[mode, "begun"].read_bytes)
        await listening.wait()
        server.process.send_signal(signal.SIGTERM)
        # These end once the server is stopping.
        await stream
        assert await subscription == 0
        for mode, call in zip(("auto", "legacy"), calls, strict=True):
            await asyncio.to_thread(pipes[mode, "go-on"].write_text, "the answer")
            assert "the answer" in await call
        assert server.ended() == 0
    assert not [line for line in server.said if "ERROR" in line or "Traceback" in line]


@pytest.fixture
def asking(environment: dict[str, str]) -> dict[str, str]:
    """A server that asks its user about each skill."""
    own_file("permissions.json").write_text('{"permissions": {"others": "confirm"}}', encoding="utf-8")
    return environment


def test_a_server_ends_even_if_its_client_reads_no_answer(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    # The answers are many times the capacity of a pipe.
    write_skill("alpha", body="x" * 30_000)
    client = RawClient(hub_environment, stderr=subprocess.PIPE)
    client.answer(INITIALIZE)
    client.send(INITIALIZED)
    for number in range(2, 32):
        client.send(tool_call(number, "load_skill", skill_name="alpha"))
    assert client.process.stderr is not None
    for _ in range(30):
        while b"load skill=" not in client.process.stderr.readline():
            pass
    client.process.terminate()
    # After the grace period, since nothing else can end it.
    assert client.process.wait(timeout=60) == 128 + signal.SIGTERM
    client.process.stderr.close()
    client.close()


def test_an_open_question_does_not_keep_a_server_from_ending(asking: dict[str, str]) -> None:
    can_ask: dict[str, Any] = {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": {"elicitation": {}}}}
    client = RawClient(asking)
    client.answer(can_ask)
    client.send(INITIALIZED)
    client.send(tool_call(2, "load_skill", skill_name="slow"))
    client.received(lambda message: message.get("method") == "elicitation/create")
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(timeout=60) == 0
    client.close()
