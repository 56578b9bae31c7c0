"""The request log of real clients: caller and outcome, but no content."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter, own_rules
from tests.server.bearers import bearer
from tests.server.connections import Caller, caller, listening, reached, two_ways
from tests.server.sessions import call, in_process

from skillhub_mcp.observers.audit import process_owner

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

QUERY, BODY, FILE, ARGUMENT = "qwertzuery", "bodyofaskill", "textofafile", "argumentofacommand"
CONTENT = (QUERY, BODY, FILE, ARGUMENT)

TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"

# Sets up an SDK as `opentelemetry-instrument` does, and serves.
WITH_AN_SDK = """
import sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
out = open(sys.argv[1], "a", encoding="utf-8")
spans = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\\n")
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(spans))
numbers = ConsoleMetricExporter(out=out, formatter=lambda data: data.to_json(indent=None) + "\\n")
metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(numbers)]))
from skillhub_mcp.cli.main import run
sys.exit(run([]))
"""


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def environment(trusting: dict[str, str], project: Path, write_skill: SkillWriter, audit: Path) -> dict[str, str]:
    write_skill("pdf", body=f"# {BODY}\n", files={"a.md": f"{FILE}\n"}, root=project / ".agents" / "skills")
    return {**trusting, "SKILLHUB_AUDIT_LOG": str(audit)}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def uses(path: Path) -> list[tuple[str, str, str]]:
    return [(line["act"], line["skill"], line["outcome"]) for line in lines(path)]


async def every_use(hub: Caller) -> None:
    """Use a skill in every way."""
    await hub.call("load_skill", skill_name="pdf")
    await hub.call("skill_load", name="pdf")
    await hub.call("Skill", skill="/pdf")
    await hub.prompt("pdf")
    await hub.client.read_resource("skill://project/pdf/SKILL.md")
    await hub.call("read_skill_file", skill_name="pdf", file_path="a.md")
    await hub.client.read_resource("skill://project/pdf/a.md")
    await hub.call("run_skill_command", skill_name="pdf", command="python", args=["-c", f"print('{ARGUMENT}')"])


async def every_mistake(hub: Caller) -> None:
    """Make each kind of mistake, with secret content."""
    await hub.call("search_skills", query=f"{QUERY} " * 1_000)
    await hub.call("search_skills", qury=QUERY)
    await hub.call("search_skills", query=[QUERY])
    await hub.call("run_skill_command", skill_name="pdf", command=f"python -c {ARGUMENT}")
    await hub.call("read_skill_file", skill_name="pdf", file_path="a.md", offset=QUERY)
    with contextlib.suppress(MCPError):
        await hub.client.call_tool(QUERY, {"query": QUERY})
    with contextlib.suppress(MCPError):
        await hub.client.get_prompt("pdf", {"no-such-argument": QUERY})


@contextmanager
def stdio_telling(environment: dict[str, str], heard: Path, *program: str) -> Iterator[Any]:
    """A server process over stdio with stderr in a file."""
    with heard.open("w", encoding="utf-8") as errors:
        parameters = StdioServerParameters(command=sys.executable, args=list(program), env=environment)
        yield stdio_client(parameters, errlog=errors)


@pytest.mark.parametrize("form", ["text", "json"])
async def test_no_content_of_a_request_is_logged_audited_traced_or_counted(
    environment: dict[str, str], audit: Path, tmp_path: Path, form: str
) -> None:
    heard, traced = tmp_path / "stderr", tmp_path / "traced"
    chosen = {**environment, "LOG_LEVEL": "DEBUG", "SKILLHUB_LOG_FORMAT": form}

    with stdio_telling(chosen, heard, "-c", WITH_AN_SDK, str(traced)) as server:
        async with caller(server, "auto") as hub:
            found = await hub.call("search_skills", query=f"pdf {QUERY}")
            assert found.json["skills"]
            await every_use(hub)
            await every_mistake(hub)
    written = {path.name: path.read_text(encoding="utf-8") for path in (heard, audit, traced)}
    for name, text in written.items():
        assert text, name
        for content in CONTENT:
            assert content not in text, name
    # Each use, and the three mistakes that concern a skill.
    audited = len(uses(audit))
    assert audited == 8 + 3
    if form == "json":
        records = [json.loads(line) for line in written["stderr"].splitlines()]
        requests = [record for record in records if record["logger"] == "skillhub_mcp.requests"]
        assert {"tools/call", "prompts/get", "resources/read"} <= {record["message"] for record in requests}
        traces = [record["trace_id"] for record in records if record["logger"] == "skillhub_mcp.audit"]
        assert len(traces) == audited
        assert set(traces) <= {record["trace_id"] for record in requests}
    else:
        assert written["stderr"].count("INFO skillhub_mcp.audit: ") == audited


@two_ways
async def test_every_use_of_a_skill_is_audited(way: tuple[str, str], environment: dict[str, str], audit: Path) -> None:
    async with reached(way, environment) as hub:
        await every_use(hub)
    noted = lines(audit)
    assert [line["act"] for line in noted] == ["load"] * 5 + ["read"] * 2 + ["run"]
    assert {(line["skill"], line["source"], line["outcome"]) for line in noted} == {("pdf", "project", "ok")}
    transport = way[0]
    who = process_owner() if transport == "stdio" else "anonymous"
    assert {(line["who"], line["transport"]) for line in noted} == {(who, transport)}
    assert [line.get("file") for line in noted[5:]] == ["a.md", "a.md", None]
    assert (noted[-1]["command"], noted[-1]["exit_code"]) == ("python", 0)


async def test_a_bearer_of_a_token_is_audited_by_name(environment: dict[str, str], audit: Path) -> None:
    token = "a-token-that-nobody-guesses"
    with listening({**environment, "SKILLHUB_TOKEN": token}) as url:
        async with bearer(url, token) as hub:
            traced: Any = {"traceparent": TRACEPARENT}
            await hub.client.call_tool("load_skill", {"skill_name": "pdf"}, meta=traced)
    (line,) = lines(audit)
    assert (line["who"], line["transport"], line["trace_id"]) == ("token", "http", TRACE)
    assert token not in json.dumps(line)


async def test_calls_refused_early_are_audited_too(environment: dict[str, str], audit: Path, tmp_path: Path) -> None:
    own_rules(deny=[{"tool": "run_skill_command"}])
    hooks = tmp_path / "hooks.json"
    blocking = {"matcher": "read_skill_file", "hooks": [{"type": "command", "command": "exit 1"}]}
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [blocking]}}), encoding="utf-8")

    async with in_process({**environment, "SKILLHUB_HOOKS": str(hooks)}) as client:
        await call(client, "run_skill_command", skill_name="pdf", command="python", args=[ARGUMENT])
        await call(client, "read_skill_file", skill_name="pdf", file_path="a.md")
        await call(client, "load_skill", skill_name="pdf", part="first")
        await call(client, "search_skills", query="", limit=0)
    assert uses(audit) == [
        ("run", "pdf", "PERMISSION_DENIED"),
        ("read", "pdf", "BLOCKED_BY_HOOK"),
        ("load", "pdf", "INVALID_ARGUMENT"),
    ]
    assert ARGUMENT not in audit.read_text(encoding="utf-8")
