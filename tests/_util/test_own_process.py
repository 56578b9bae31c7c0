"""A server that holds secrets, or runs programs, is closed to other processes of its user."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such switch"), pytest.mark.slow]

# Everything of `skillhub serve` but the serving itself, in one child for each set of variables.
PROBE = """
import ctypes, os, sys
from skillhub_mcp.cli.main import run
from skillhub_mcp.server import app, stdio
# PR_GET_DUMPABLE
stdio.serve_stdio = lambda _: print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0, flush=True)
for more in ({}, {"EMBEDDING_PROVIDER": "none", "OPENAI_API_KEY": "sk-1"}, {"SKILLHUB_ENABLE_RUN": "1"}):
    if os.fork():
        os.wait()
    else:
        os.environ.update(more)
        os._exit(run(["serve"]))
"""


def test_a_server_with_secrets_or_commands_hides_its_memory(hub_environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, env=hub_environment, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr
