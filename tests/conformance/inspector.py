"""The command line of the MCP Inspector: one method a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests import installs

_LONGEST_SECONDS = 120


def inspect(home: Path, target: Sequence[str], mode: str, method: str, *arguments: str) -> str:
    """Call `method` of the server in `target`, the Inspector's options, with `home` as its home directory.

    Returns what is printed, lines of JSON. Skips the test if the Inspector cannot be installed.
    """
    modules = installs.npm_packages(Path(__file__).with_name("package.json"))
    program = modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    command = [str(installs.node()), str(program), "--cli", *target, "--protocol-era", mode, "--method", method]
    done = subprocess.run(
        [*command, "--format", "json", *arguments],
        env={"HOME": str(home), "MCP_INSPECTOR_SECRET_STORE": "memory"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=_LONGEST_SECONDS,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def over_http(url: str) -> tuple[str, ...]:
    """Return the options for a server at `url`."""
    return ("--server-url", url, "--transport", "http")


def over_stdio(home: Path, command: Sequence[str], environment: dict[str, str]) -> tuple[str, ...]:
    """Return the options for a server that the Inspector starts itself, written to a file below `home`."""
    server = {"command": command[0], "args": list(command[1:]), "env": environment}
    path = home / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"skillhub": server}}), encoding="utf-8")
    return ("--config", str(path), "--server", "skillhub")
