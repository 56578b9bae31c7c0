"""The libraries that each command imports, which decide its startup time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
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
    "rich",
)

PROBE = f"""
import sys
from skillhub_mcp.cli.main import run
code = run(sys.argv[1:])
print(sorted({set(HEAVY)!r} & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["list"],
        ["list", "--json"],
        ["show", "one"],
        ["show", "one", "--file", "SKILL.md"],
        ["allow"],
        ["config"],
        ["config", "--json"],
    ],
    ids=" ".join,
)
def test_a_light_command_loads_no_heavy_library(
    hub_environment: dict[str, str], write_skill: SkillWriter, arguments: list[str]
) -> None:
    write_skill("one")
    provider = {"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": "k"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        env={**hub_environment, **provider},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr.decode() == "[]\n"


def test_a_search_from_a_shell_loads_nothing_that_publishes(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one", "About walruses.")
    asked = PROBE.replace(repr(set(HEAVY)), "{'skillhub_mcp.publishing', 'skillhub_mcp.skills.registry'}")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", asked, "search", "walruses"],
            env=hub_environment,
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stderr.decode().splitlines()[-1] == "[]"


def test_only_the_command_that_was_typed_is_imported() -> None:
    program = """
import sys
from skillhub_mcp.cli.main import run
run(["--version"])
print(sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("skillhub_mcp.cli.commands.")))
print()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60, text=True)
    # `serve` has the options of the program itself.
    assert done.stdout.splitlines()[-2] == "['serve']"


MESSAGES = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
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


@pytest.mark.slow
def test_a_server_of_an_unchanged_library_loads_no_database_before_a_search(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one", "About walruses.")
    subprocess.run([sys.executable, "-m", "skillhub_mcp", "index", "--json"], env=hub_environment, check=True)
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


def test_a_server_loads_nothing_to_count_with_and_nothing_to_run_unless_somebody_wants_it() -> None:
    # FastMCP brings the API for spans along, and no more.
    program = """
import sys
import skillhub_mcp.bootstrap.hub, skillhub_mcp.server.app
from skillhub_mcp.settings import read_settings
settings, _ = read_settings({})
skillhub_mcp.bootstrap.hub.make_hub(settings).close()
print(sorted({"prometheus_client", "opentelemetry.metrics", "opentelemetry.sdk"} & set(sys.modules)))
print(sorted(name for name in sys.modules if name.startswith("skillhub_mcp.execution")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "[]\n[]\n"


def test_importing_the_package_loads_none_of_its_parts() -> None:
    program = (
        "import sys, skillhub_mcp; print(sorted(name for name in sys.modules if name.startswith('skillhub_mcp.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "[]\n"
