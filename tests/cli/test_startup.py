"""The libraries that each command imports, which decide its startup time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

pytestmark = pytest.mark.slow

HEAVY = (
    "fastmcp",
    "mcp",
    "lancedb",
    "pyarrow",
    "openai",
    "google.genai",
    "numpy",
    "uvicorn",
    "opentelemetry",
    "prometheus_client",
    "rich.console",
)

LIGHT = [["--help"], ["list"], ["show", "one", "--json"], ["config"], ["validate"]]

# What each command has loaded when it ends.
PROBE = f"""
import sys
from skillhub_mcp.cli.main import run
for arguments in {LIGHT!r}:
    code = run(arguments)
    print(code, sorted({set(HEAVY)!r} & set(sys.modules)), file=sys.stderr)
"""


def test_light_commands_load_no_heavy_library(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("one")
    provider = {"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": "k"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env={**hub_environment, **provider}, capture_output=True, check=True, timeout=60
    )
    assert done.stderr.decode().splitlines() == ["0 []"] * len(LIGHT)


MESSAGES = (
    {
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "load_skill", "arguments": {"skill_name": "one"}}},
)

# What a server has loaded when its client leaves.
SERVED = """
import sys
from skillhub_mcp.cli.main import run
run([])
print(sorted({"lancedb", "pyarrow"} & set(sys.modules)), file=sys.stderr)
"""


def test_a_server_of_an_unchanged_library_loads_no_database_before_a_search(
    hub_environment: dict[str, str], skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("one", "About walruses.")
    assert skillhub("index").code == 0
    server = subprocess.Popen(
        [sys.executable, "-c", SERVED],
        env=hub_environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    for message in MESSAGES:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()
    replies = [json.loads(server.stdout.readline()) for _ in range(3)]
    _, log = server.communicate(timeout=60)
    assert "instructions" in replies[-1]["result"]["content"][0]["text"]
    assert log.splitlines()[-1] == "[]"


def test_importing_the_package_loads_none_of_its_parts() -> None:
    program = (
        "import sys, skillhub_mcp; print(sorted(name for name in sys.modules if name.startswith('skillhub_mcp.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "[]\n"
