"""The server as a process: its first messages, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import listening
from tests.server.sessions import COMMAND, call, http_server, in_process, over_stdio

from skillhub_mcp.version import version

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]

GOLDEN = Path(__file__).parents[1] / "golden" / "tools"
HEAVY = {"lancedb", "pyarrow", "numpy", "openai", "google.genai"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool_call(number: int, tool: str, **arguments: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class RawClient:
    """A client of plain JSON lines."""

    def __init__(
        self, environment: Environment, *arguments: str, cwd: Path | None = None, stderr: int = subprocess.DEVNULL
    ) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            env=environment,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, message: dict[str, Any]) -> Any:
        self.send(message)
        return self.received(lambda received: received.get("id") == message["id"])

    def received(self, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        """Return the next wanted message of the server."""
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            assert line, "the server ended"
            received = json.loads(line)
            assert received["jsonrpc"] == "2.0"
            if wanted(received):
                return received

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        return code


@pytest.mark.acceptance("S2-2", "S2-4", "S2-65")
def test_a_json_lines_client_completes_the_journey_on_a_clean_stdout(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("pdf-reader", "Reads PDF files.", files={"references/a.md": "A."})
    client = RawClient({**hub_environment, "LOG_LEVEL": "DEBUG"}, "--transport", "stdio")
    started = client.answer(INITIALIZE)["result"]
    assert started["serverInfo"]["version"] == version()
    assert started["protocolVersion"] == "2025-06-18"
    client.send(INITIALIZED)
    listed = client.answer({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["search_skills", "load_skill", "read_skill_file"]
    found = client.answer(tool_call(3, "search_skills", query="read a PDF"))["result"]
    assert json.loads(found["content"][0]["text"])["skills"][0]["name"] == "pdf-reader"
    loaded = client.answer(tool_call(4, "load_skill", skill_name="pdf-reader"))["result"]
    assert json.loads(loaded["content"][0]["text"])["instructions"] == "# How\n\nDo it.\n"
    read = client.answer(tool_call(5, "read_skill_file", skill_name="pdf-reader", file_path="references/a.md"))
    assert json.loads(read["result"]["content"][0]["text"])["content"] == "A."
    assert client.close() == 0


def test_tool_schemas_match_the_golden_files(hub_environment: Environment) -> None:
    async def listed(expose_paths: bool) -> dict[str, dict[str, Any]]:
        environment = {**hub_environment, "SKILLHUB_ENABLE_RUN": "1", "SKILLHUB_TOOLS": "all"}
        async with in_process(environment, expose_paths=expose_paths) as client:
            tools = await client.list_tools()
            return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}

    # Tools for clients without the disk, and the others as shown to a client with the disk.
    tools = [*(asyncio.run(listed(False)) | asyncio.run(listed(True))).values()]
    for tool in tools:
        golden = GOLDEN / f"{tool['name']}.json"
        if os.environ.get("SKILLHUB_UPDATE_GOLDEN"):
            golden.write_text(json.dumps(tool, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        assert tool == json.loads(golden.read_text(encoding="utf-8")), tool["name"]
    assert {path.stem for path in GOLDEN.glob("*.json")} == {tool["name"] for tool in tools}


@pytest.mark.acceptance("S2-5", "S2-73")
@pytest.mark.parametrize(
    ("tool", "required", "optional"),
    [
        ("search_skills", ["query"], []),
        ("load_skill", ["skill_name"], []),
        ("read_skill_file", ["skill_name", "file_path"], []),
        ("run_skill_command", ["skill_name", "command"], ["args"]),
    ],
)
def test_promised_arguments_stay_and_all_others_are_optional(
    tool: str, required: list[str], optional: list[str]
) -> None:
    schema = json.loads((GOLDEN / f"{tool}.json").read_text(encoding="utf-8"))["inputSchema"]
    assert schema["required"] == required
    assert {*required, *optional} <= set(schema["properties"])
    assert all("maxLength" in p or "enum" in p for p in schema["properties"].values() if p["type"] == "string")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A file of the modules that a process with `recording` imports, and of its use of the network."""
    return tmp_path / "events"


@pytest.fixture
def recording(hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, events: Path) -> Environment:
    write_skill("pdf-reader", "Reads PDF files.")
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, sys\n"
        f"file = os.open({str(events)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
        "def record(event, args):\n"
        "    if event in ('import', 'socket.connect', 'socket.getaddrinfo', 'socket.sendto', 'socket.gethostbyname'):\n"
        "        os.write(file, f'{event} {args[0]}\\n'.encode())\n"
        "sys.addaudithook(record)\n",
        encoding="utf-8",
    )
    return {**hub_environment, "PYTHONPATH": f"{hook}{os.pathsep}{hub_environment.get('PYTHONPATH', hook)}"}


def test_the_first_answers_need_no_heavy_import(recording: Environment, events: Path) -> None:
    # Writing the index loads LanceDB, soon after the answers.
    client = RawClient({**recording, "SKILLHUB_SKIP_AUTO_REINDEX": "1"})
    client.answer(INITIALIZE)
    client.send(INITIALIZED)
    client.answer({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    imported = {line.removeprefix("import ") for line in events.read_text(encoding="utf-8").splitlines()}
    client.close()
    assert "fastmcp" in imported
    assert not imported & HEAVY


@pytest.mark.acceptance("S0-79", "S2-62")
@pytest.mark.parametrize("provider", ["local", "auto"])
async def test_without_a_provider_nothing_leaves_the_machine(
    recording: Environment, events: Path, provider: str
) -> None:
    environment = {**recording, "EMBEDDING_PROVIDER": provider, "SKILLHUB_TOOLS": "core,context"}
    async with over_stdio(environment) as client:
        assert (await call(client, "search_skills", query="PDF")).json["skills"]
        await call(client, "load_skill", skill_name="pdf-reader")
        assert (await call(client, "skills_list", force_reload=True)).code is None
        assert (await call(client, "skill_search", query="PDF")).code is None
    seen = events.read_text(encoding="utf-8").splitlines()
    assert [event for event in seen if not event.startswith("import ")] == []
    # No server imports the code that fetches sources.
    assert not {f"import skillhub_mcp.library.sources.{name}" for name in ("opening", "download", "git")} & set(seen)


@pytest.mark.acceptance("S2-66", "S2-67")
def test_http_serves_mcp_and_answers_probes(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader", "Reads PDF files.")
    with http_server(hub_environment) as url, httpx2.Client(timeout=20) as http:
        assert urlsplit(url).hostname == "127.0.0.1"
        assert http.get(f"{url}/healthz").json() == {"status": "ok"}
        # A probe addresses the server by its IP.
        assert http.get(f"{url}/healthz", headers={"host": "10.0.0.5"}).status_code == 200
        posted = http.post(f"{url}/mcp", json=INITIALIZE, headers=ACCEPT)
        assert posted.status_code == 200
        assert posted.headers["content-type"].split(";")[0] in ("application/json", "text/event-stream")
        session = {"mcp-session-id": posted.headers["mcp-session-id"], **ACCEPT}
        http.post(f"{url}/mcp", json=INITIALIZED, headers=session)
        with http.stream("GET", f"{url}/mcp", headers=session) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
        for _ in range(200):
            ready = http.get(f"{url}/readyz")
            if "digest" in ready.json():
                break
            # The digest may come a moment after the index.
            assert ready.json() == {"index": "starting" if ready.status_code == 503 else "ready"}
            time.sleep(0.05)
        with hub_of(hub_environment) as hub:
            assert ready.json() == {"index": "ready", "skills": 1, "digest": hub.refresh().snapshot.digest}


def test_http_refuses_unknown_hosts_and_origins_unless_allowed(hub_environment: Environment) -> None:
    environment = {
        **hub_environment,
        "SKILLHUB_ALLOWED_HOSTS": "skills.example.com",
        "SKILLHUB_ALLOWED_ORIGINS": "https://app.example.com",
    }
    with listening(environment) as url, httpx2.Client(timeout=20) as http:

        def status(**extra: str) -> int:
            return http.post(url, json=INITIALIZE, headers={**ACCEPT, **extra}).status_code

        assert status() == 200
        assert status(host="evil.example.com") == 421
        assert status(origin="https://evil.example.com") == 403
        assert status(origin="null") == 403
        assert status(host="skills.example.com") == 200
        assert status(host="skills.example.com", origin="https://app.example.com") == 200

        def preflight(origin: str) -> httpx2.Response:
            asked = {"method": "POST", "headers": "authorization,mcp-method"}
            wishes = {f"access-control-request-{what}": wish for what, wish in asked.items()}
            return http.options(url, headers={"origin": origin, **wishes})

        allowed = preflight("https://app.example.com")
        assert allowed.headers["access-control-allow-origin"] == "https://app.example.com"
        assert "authorization" in allowed.headers["access-control-allow-headers"]
        assert "access-control-allow-origin" not in preflight("https://evil.example.com").headers
