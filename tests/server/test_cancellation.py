"""A call that its client cancels stops its work: over stdio and HTTP, in both protocol versions, with real commands."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mcp
import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import ACCEPT, ENVELOPE, INITIALIZE
from tests.server.connections import RUN, listening, reached, ways
from tests.server.sessions import serving
from tests.server.test_transports import INITIALIZED, RawClient, tool_call

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]
MODERN = "2026-07-28"
needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells that a process has ended")

# Starts a child, reports both process ids, and waits for ever.
FOREVER = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1])", sys.argv[2]])
with open(sys.argv[1], "w") as report:
    report.write(f"{os.getpid()} {child.pid}")
child.wait()
"""


class Forever:
    """A command that runs until killed. `started` waits for its start, `ended` for its end."""

    def __init__(self, directory: Path, write_skill: SkillWriter) -> None:
        self._report, never = directory / "report", directory / "never"
        for fifo in (self._report, never):
            os.mkfifo(fifo)
        write_skill("one", files={"forever.py": FOREVER})
        self.call: dict[str, Any] = {
            "skill_name": "one",
            "command": "python",
            "args": ["forever.py", str(self._report), str(never)],
        }
        self._descriptors: list[int] = []

    def started(self) -> None:
        # A plain read would block for ever if the command could not start.
        reading = os.open(self._report, os.O_RDONLY | os.O_NONBLOCK)
        try:
            waiting = select.poll()
            waiting.register(reading, select.POLLIN)
            assert waiting.poll(20_000), "the command was not started"
            report = os.read(reading, 100)
        finally:
            os.close(reading)
        for number in report.split():
            self._descriptors.append(os.pidfd_open(int(number)))

    def ended(self) -> bool:
        """Wait until all processes have ended; False on a timeout."""
        waiting = select.poll()
        for descriptor in self._descriptors:
            waiting.register(descriptor, select.POLLIN)
        while self._descriptors:
            ready = waiting.poll(20_000)
            if not ready:
                return False
            for descriptor, _ in ready:
                waiting.unregister(descriptor)
                self._descriptors.remove(descriptor)
                os.close(descriptor)
        return True

    def end(self) -> None:
        """Kill what the server left behind."""
        for descriptor in self._descriptors:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)


@pytest.fixture
def forever(tmp_path: Path, write_skill: SkillWriter) -> Iterator[Forever]:
    made = Forever(tmp_path, write_skill)
    yield made
    made.end()


@pytest.fixture
def running(hub_environment: Environment) -> Environment:
    return {
        **hub_environment,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        # The command reports its process id through a pipe, which a sandboxed one cannot reach.
        "SKILLHUB_SANDBOX": "off",
        **RUN,
        "EXEC_TIMEOUT_SECONDS": "300",
    }


async def cancel(client: mcp.Client, tool: str, arguments: dict[str, Any], *, when: Any) -> None:
    """Call a tool, and cancel the call when `when` returns."""
    calling = asyncio.ensure_future(client.call_tool(tool, arguments))
    await asyncio.to_thread(when)
    assert not calling.done()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


@needs_pidfd
@ways
async def test_a_cancelled_command_is_killed_with_its_children(
    way: tuple[str, str], running: Environment, forever: Forever
) -> None:
    audit_log = Path(running["DB_PATH"]).parent / "audit.jsonl"

    async with reached(way, {**running, "SKILLHUB_AUDIT_LOG": str(audit_log)}) as hub:
        await cancel(hub.client, "run_skill_command", forever.call, when=forever.started)
        assert await asyncio.to_thread(forever.ended)
        # Server and session continue.
        assert (await hub.call("run_skill_command", skill_name="one", command="ls")).json["exit_code"] == 0
    assert {json.loads(line)["outcome"] for line in audit_log.read_text().splitlines()} == {"cancelled", "ok"}


@needs_pidfd
def test_a_signal_over_stdio_ends_commands_and_closes_files(running: Environment, forever: Forever) -> None:
    audit_log = Path(running["DB_PATH"]).parent / "audit.jsonl"
    client = RawClient({**running, "SKILLHUB_AUDIT_LOG": str(audit_log)})
    client.answer(INITIALIZE)
    client.send(INITIALIZED)
    client.send(tool_call(2, "run_skill_command", **forever.call))
    forever.started()
    client.process.send_signal(signal.SIGINT)
    # Its input is still open: only the signal ends it.
    assert client.process.wait(timeout=60) == 128 + signal.SIGINT
    assert forever.ended()
    assert json.loads(audit_log.read_text())["exit_code"] == -signal.SIGKILL
    client.close()


@contextmanager
def calling(url: str, call: dict[str, Any], *, era: str) -> Iterator[None]:
    """A call over HTTP with a client that dies at the end of the block without cancelling."""
    address = urlsplit(url)
    headers = {**ACCEPT, "Content-Type": "application/json", "MCP-Protocol-Version": era}
    message: dict[str, Any] = tool_call(2, "run_skill_command", **call)
    with contextlib.closing(HTTPConnection(address.hostname or "", address.port)) as connection:
        if era == MODERN:
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "run_skill_command"}
            message["params"]["_meta"] = ENVELOPE
        else:
            connection.request("POST", "/mcp", json.dumps(INITIALIZE), headers)
            with connection.getresponse() as started:
                headers["Mcp-Session-Id"] = started.headers["mcp-session-id"]
                started.read()
        connection.request("POST", "/mcp", json.dumps(message), headers)
        yield


@needs_pidfd
@pytest.mark.parametrize("era", [MODERN, "2025-11-25"])
def test_a_command_over_http_ends_with_its_clients_connection(running: Environment, forever: Forever, era: str) -> None:
    with listening(running) as url:
        with calling(url, forever.call, era=era):
            forever.started()
        assert forever.ended()


@needs_pidfd
def test_a_signal_to_a_server_over_http_leaves_no_command_behind(running: Environment, forever: Forever) -> None:
    with serving(running) as server:
        with calling(server.url, forever.call, era=MODERN):
            forever.started()
            server.process.send_signal(signal.SIGTERM)
            assert server.ended() == 0
        assert forever.ended()
