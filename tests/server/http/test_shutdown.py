"""A stopping server answers requests in flight, ends streams, and exits with code 0."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import mcp
import mcp_types
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.conftest import SkillWriter, own_rules
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import caller, modes
from tests.server.processes import Process, serving

from skillhub_mcp.server.http.shutdown import DisconnectOnShutdown

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a process there is not told to stop but killed"),
    pytest.mark.slow,
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
        "SKILLHUB_ENABLE_RUN": "1",
        "--enable-run-over-http": "1",
        "--allow-anonymous": "1",
    }


@contextmanager
def waiting_stream(server: Process) -> Iterator[httpx2.Response]:
    """A stream of the 2025-11-25 protocol that waits for events."""
    with httpx2.Client(timeout=60) as http:
        session = http.post(server.url, json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
        with http.stream("GET", server.url, headers={**ACCEPT, "mcp-session-id": session}) as stream:
            yield stream


@modes
def test_a_call_in_flight_is_answered(environment: dict[str, str], tmp_path: Path, mode: str) -> None:
    begun, go_on = tmp_path / "begun", tmp_path / "go-on"
    os.mkfifo(begun)
    os.mkfifo(go_on)

    def stop_while_it_runs(server: Process) -> None:
        with waiting_stream(server) as stream:
            begun.read_bytes()
            server.process.send_signal(signal.SIGTERM)
            # It ends once the server is stopping.
            list(stream.iter_lines())
        go_on.write_text("the answer", encoding="utf-8")

    async def asked(server: Process) -> str:
        async with caller(server.url, mode) as hub:
            # Otherwise the client requests the tool's schema after the server has stopped.
            await hub.look()
            stopping = threading.Thread(target=stop_while_it_runs, args=(server,))
            stopping.start()
            try:
                args = ["wait.py", str(begun), str(go_on)]
                said = await hub.call("run_skill_command", skill_name="slow", command="python", args=args)
                return str(said.structured["stdout"])
            finally:
                stopping.join()

    with serving(environment) as server:
        assert "the answer" in asyncio.run(asked(server))
        assert server.ended() == 0
    assert "Traceback" not in "".join(server.said)


def test_a_listening_client_gets_the_end_of_its_stream(environment: dict[str, str]) -> None:
    async def listened(server: Process) -> int:
        async with mcp.Client(server.url) as client, client.listen(resources_list_changed=True) as subscription:
            server.process.send_signal(signal.SIGTERM)
            return len([event async for event in subscription])

    with serving(environment) as server:
        # A lost subscription raises.
        assert asyncio.run(listened(server)) == 0
        assert server.ended() == 0
    assert "ERROR" not in "".join(server.said)


def test_a_call_that_waits_for_the_user_is_answered_without_a_reply(
    environment: dict[str, str], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"permissions": {"others": "confirm"}}', encoding="utf-8")

    async def asked(server: Process) -> str | None:
        async def stop(*_: object) -> mcp_types.ElicitResult:
            server.process.send_signal(signal.SIGTERM)
            return await asyncio.Future()

        async with caller(server.url, "legacy", elicitation_callback=stop) as hub:
            await hub.look()
            return (await hub.call("load_skill", skill_name="slow")).code

    with serving({**environment, **own_rules(rules)}) as server:
        assert asyncio.run(asked(server)) == "CONFIRMATION_REQUIRED"
        assert server.ended() == 0
    assert "ERROR" not in "".join(server.said)


@pytest.mark.parametrize("begun", [False, True])
def test_a_request_beyond_the_grace_period_is_cut_off_for_a_retry(begun: bool) -> None:
    sent: list[Message] = []
    reached = asyncio.Event()

    async def never_ends(_: Scope, __: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        reached.set()
        await asyncio.Event().wait()

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def journey() -> None:
        app = DisconnectOnShutdown(never_ends, end_waiting=lambda: None)
        answering = asyncio.ensure_future(app({"type": "http", "method": "POST"}, receive, send))
        await reached.wait()
        app.stop()
        answering.cancel()
        await answering

    asyncio.run(journey())
    # A started answer breaks off: with a clean end it would look complete.
    assert [message.get("status") for message in sent] == ([200] if begun else [503, None])
