"""Standard streams that are closed, full or broken: a command ends with a sensible code and without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import SKILLHUB
from tests.conftest import SkillWriter

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="streams are closed otherwise there"),
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no file that is always full"),
    pytest.mark.slow,
]

# Forks for each command, which saves importing the program each time. A closed stream is None in a new process too.
PROGRAM = """
import json, os, sys
import skillhub_mcp.cli.open_hub, skillhub_mcp.index.writer, skillhub_mcp.search.searcher
from skillhub_mcp.cli.main import run

def child(arguments, condition):
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(ours)
        os.dup2(theirs, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if condition == "stdout closed":
            os.close(1)
            sys.stdout = None
        elif condition == "stdout full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        elif condition == "stdout broken":
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, 1)
        elif condition == "stderr full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
        elif condition == "stderr closed":
            os.close(2)
            sys.stderr = None
        else:
            for stream in (0, 1, 2):
                os.close(stream)
            sys.stdin = sys.stdout = sys.stderr = None
        sys.exit(run(arguments))
    os.close(theirs)
    with os.fdopen(ours, errors="replace") as pipe:
        said = pipe.read()
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said]

asked = json.loads(sys.argv[1])
print(json.dumps([[command, {one: child(command, one) for one in conditions}] for command, conditions in asked]))
"""

COMMANDS = (["--help"], ["list"], ["show", "nobody"])
UNWRITABLE = "error: the output cannot be written: No space left on device\n"
# The exit code, and what stderr got.
ENDS = {
    "stdout closed": [0, ""],
    "stdout full": [1, UNWRITABLE],
    "stdout broken": [0, ""],
    "stderr full": [0, ""],
    "stderr closed": [0, ""],
    "all closed": [0, ""],
}


def test_a_stream_that_cannot_be_written_is_not_reported_as_a_bug(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")
    asked = json.dumps([(command, list(ENDS)) for command in COMMANDS])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, asked], env=hub_environment, capture_output=True, check=True, timeout=120
    )
    for command, ends in json.loads(done.stdout):
        if command == ["show", "nobody"]:
            # It prints nothing on stdout.
            assert {condition: code for condition, (code, _) in ends.items()} == dict.fromkeys(ENDS, 1)
            assert "No skill is named 'nobody'" in ends["stdout full"][1]
        else:
            assert ends == ENDS, command


def test_a_server_that_cannot_answer_reports_it(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("one")
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            SKILLHUB,
            env={**hub_environment, "LOG_LEVEL": "ERROR"},
            input=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}).encode() + b"\n",
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr.decode()) == (1, UNWRITABLE)
