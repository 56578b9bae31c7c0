"""A stopping server answers requests in flight, ends streams, and exits with code 0."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx2
import mcp
import mcp_types
import pytest
from tests.conftest import SkillWriter, own_rules
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import caller
from tests.server.sessions import serving

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a process there is not told to stop but killed"),
    pytest.mark.slow,
    pytest.mark.anyio,
]

# Reports its start, and ends when released.
WAITING = "import sys\nopen(sys.argv[1], 'w').close()\nprint(open(sys.argv[2]).read())\n"
RULES = """{"permissions": {"others": "confirm", "allow": [
    {"tool": "run_skill_command", "skill_name": "slow"}, {"tool": "load_skill", "skill_name": "slow"}
]}}"""


@pytest.fixture
def environment(hub_environment: dict[str, str], tmp_path: Path, write_skill: SkillWriter) -> dict[str, str]:
    write_skill("slow", files={"wait.py": WAITING})
    write_skill("alpha")
    rules = tmp_path / "rules.json"
    rules.write_text(RULES, encoding="utf-8")
    return {
        **hub_environment,
        **own_rules(rules),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{hub_environment['PATH']}",
        # The command waits at a pipe, which a sandboxed one cannot reach.
        "SKILLHUB_SANDBOX": "off",
        "SKILLHUB_ENABLE_RUN": "1",
        "--enable-run-over-http": "1",
        "--allow-anonymous": "1",
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


async def code_of_a_question(url: str, asked: asyncio.Event) -> str | None:
    """Load a skill that needs the consent of a user, who never replies."""

    async def wait(*_: object) -> mcp_types.ElicitResult:
        asked.set()
        return await asyncio.Future()

    async with caller(url, "legacy", elicitation_callback=wait) as hub:
        await hub.look()
        return (await hub.call("load_skill", skill_name="alpha")).code


async def test_a_stopping_server_answers_calls_ends_streams_and_gives_up_questions(
    environment: dict[str, str], tmp_path: Path
) -> None:
    pipes = {(mode, use): tmp_path / f"{mode}-{use}" for mode in ("auto", "legacy") for use in ("begun", "go-on")}
    for pipe in pipes.values():
        os.mkfifo(pipe)
    listening, asked = asyncio.Event(), asyncio.Event()
    with serving(environment) as server:
        calls = [
            asyncio.ensure_future(answer_in_flight(server.url, mode, pipes[mode, "begun"], pipes[mode, "go-on"]))
            for mode in ("auto", "legacy")
        ]
        stream = asyncio.ensure_future(lines_of_a_stream(server.url))
        subscription = asyncio.ensure_future(events_of_a_subscription(server.url, listening))
        question = asyncio.ensure_future(code_of_a_question(server.url, asked))
        for mode in ("auto", "legacy"):
            await asyncio.to_thread(pipes[mode, "begun"].read_bytes)
        await listening.wait()
        await asked.wait()
        server.process.send_signal(signal.SIGTERM)
        # These end once the server is stopping.
        await stream
        assert await subscription == 0
        assert await question == "CONFIRMATION_REQUIRED"
        for mode, call in zip(("auto", "legacy"), calls, strict=True):
            await asyncio.to_thread(pipes[mode, "go-on"].write_text, "the answer")
            assert "the answer" in await call
        assert server.ended() == 0
    assert not [line for line in server.said if "ERROR" in line or "Traceback" in line]
