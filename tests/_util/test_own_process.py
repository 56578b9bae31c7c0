"""A server that holds secrets, or runs programs, is closed to other processes of its user."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such switch"), pytest.mark.slow]

# Everything of `skillhub serve` but the serving itself.
PROBE = """
import ctypes, sys
from skillhub_mcp.cli.main import run
from skillhub_mcp.server import stdio
# PR_GET_DUMPABLE
stdio.serve_stdio = lambda _: print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0)
sys.exit(run(["serve"]))
"""


@pytest.mark.parametrize(
    ("more", "hidden"),
    [
        ({}, "False"),
        ({"EMBEDDING_PROVIDER": "none", "OPENAI_API_KEY": "sk-1"}, "True"),
        ({"SKILLHUB_ENABLE_RUN": "1"}, "True"),
    ],
)
def test_a_server_with_secrets_or_commands_hides_its_memory(
    hub_environment: dict[str, str], more: dict[str, str], hidden: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**hub_environment, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{hidden}\n", done.stderr
