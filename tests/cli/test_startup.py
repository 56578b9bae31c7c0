"""The libraries that each command imports, which decide its startup time."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.conftest import SkillWriter

HEAVY = (
    "fastmcp",
    "mcp",
    "lancedb",
    "pyarrow",
    "openai",
    "google.genai",
    "numpy",
    "pydantic",
    "uvicorn",
    "opentelemetry",
    "prometheus_client",
    "chardet",
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
        ["read", "one", "SKILL.md"],
        ["permissions", "show"],
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


def test_a_server_loads_nothing_to_count_with_unless_somebody_wants_numbers() -> None:
    # FastMCP brings the API for spans along, and no more.
    program = """
import sys
import skillhub_mcp.bootstrap, skillhub_mcp.server.app
from skillhub_mcp.settings import read_settings
settings, _ = read_settings({})
skillhub_mcp.bootstrap.make_hub(settings).close()
print(sorted({"prometheus_client", "opentelemetry.metrics", "opentelemetry.sdk"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "[]\n"


def test_importing_the_package_loads_none_of_its_parts() -> None:
    program = (
        "import sys, skillhub_mcp; print(sorted(name for name in sys.modules if name.startswith('skillhub_mcp.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "[]\n"
