"""Standard streams that are closed, full or broken: every command ends with a sensible code and without a traceback."""

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

CONDITIONS = ("stdout closed", "stdout full", "stdout broken", "stderr full", "stderr closed", "all closed")
MANIFOLD = (["--help"], ["list"], ["show", "nobody"])
PRINTING = [
    ["--help"],
    ["--version"],
    ["list"],
    ["show", "one", "--file", "SKILL.md"],
    ["show", "one", "--file", "big.txt"],
    ["pick", "--list"],
    ["allow"],
    ["context", "catalogue"],
    ["config"],
    ["disable", "one"],
]
# With the code that they end with when all is well, and a line on stderr.
FAILING = [(["show", "nobody"], 1), (["nonsense"], 2), (["list", "--jsno"], 2), (["show", "nobody", "--json"], 1)]


def test_no_command_takes_its_streams_for_a_bug_of_its_own(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one", files={"big.txt": "x\n" * 100_000})
    commands = [*PRINTING, *(arguments for arguments, _ in FAILING)]
    asked = json.dumps([(one, CONDITIONS if one in MANIFOLD else CONDITIONS[:1]) for one in commands])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, asked], env=hub_environment, capture_output=True, check=True, timeout=120
    )
    unwritable = "error: the output cannot be written: "
    wanted = {
        "stdout closed": [1, f"{unwritable}Bad file descriptor\n"],
        "stdout full": [1, f"{unwritable}No space left on device\n"],
        "stdout broken": [0, ""],
        "stderr full": [0, ""],
        "stderr closed": [0, ""],
        "all closed": [1, ""],
    }
    failures = {tuple(arguments): code for arguments, code in FAILING}
    for arguments, ends in json.loads(done.stdout):
        code = failures.get(tuple(arguments))
        if code is None:
            assert ends == {condition: wanted[condition] for condition in ends}, arguments
        else:
            # Nothing is printed on stdout, so that its state is of no consequence.
            assert {condition: end[0] for condition, end in ends.items()} == dict.fromkeys(ends, code), arguments
            assert "rror" in ends["stdout closed"][1]


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("list >&-", 1, "error: the output cannot be written: Bad file descriptor\n"),
        # Bare, it serves.
        (">&-", 1, "error: the output cannot be written: Bad file descriptor\n"),
        (">/dev/full", 1, "error: the output cannot be written: No space left on device\n"),
        ("<&- >/dev/null", 0, ""),
        (">/dev/null 2>&-", 0, ""),
    ],
)
def test_a_shell_that_closes_a_stream_is_told_what_failed(
    hub_environment: dict[str, str], write_skill: SkillWriter, redirection: str, code: int, said: str
) -> None:
    write_skill("one")
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *SKILLHUB],
        env={**hub_environment, "LOG_LEVEL": "ERROR"},
        input=json.dumps(INITIALIZE).encode() + b"\n",
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr.decode()) == (code, b"", said)
