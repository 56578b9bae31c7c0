"""The first five minutes on a machine that already has clients and skills, from an empty home to a loaded skill."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from tests.conftest import SkillWriter

pytestmark = pytest.mark.slow

README = Path(__file__).parents[1] / "README.md"
# What a desktop's session has: no directory of a person's own.
BARE_PATH = os.pathsep.join(("/usr/bin", "/bin"))

CURSOR = """{
  // of mine
  "mcpServers": {
    "other": { "command": "other-server" }
  }
}
"""
VSCODE = """{
\t"servers": {
\t\t"other": { "type": "stdio", "command": "other-server" }, // mine too
\t},
}
"""
CODEX = """# mine as well
model = "gpt"

[mcp_servers.other]
command = "other-server"
"""


@pytest.fixture
def home() -> Path:
    """An empty home directory, with the files of three clients."""
    home = Path(os.environ["HOME"])
    for place, content in (
        (".cursor/mcp.json", CURSOR),
        (".config/Code/User/mcp.json", VSCODE),
        (".codex/config.toml", CODEX),
    ):
        (home / place).parent.mkdir(parents=True)
        (home / place).write_text(content, encoding="utf-8")
    return home


def first_program() -> list[str]:
    """Return the last command of the README's first block, of the installation that these tests run in."""
    block = re.search(r"```sh\n(.*?)\n```", README.read_text("utf-8"), re.DOTALL)
    assert block is not None
    program, *arguments = shlex.split(block[1].rpartition("&&")[2])
    installed = Path(sysconfig.get_path("scripts"), Path(program).name)
    return [str(installed), *arguments]


def test_from_the_readme_s_first_block_to_a_client_that_loads_a_skill_that_was_there(
    home: Path, tmp_path: Path, write_skill: SkillWriter
) -> None:
    write_skill(
        "walrus-care",
        "Feed a walrus. Use when a walrus is hungry.",
        body="Give it clams.\n",
        root=home / ".claude" / "skills",
    )
    code = tmp_path / "code"
    (code / ".git").mkdir(parents=True)
    environment = {"HOME": str(home), "PATH": BARE_PATH}
    program, *first = first_program()

    def typed(*arguments: str) -> str:
        done = subprocess.run(
            [program, *arguments],
            cwd=code,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    # It ends with the two commands for this machine, as they work in this shell.
    shown = typed(*first)
    assert f"{program} roots add ~/.claude/skills " in shown
    assert f"{program} connect --all " in shown

    listed = typed("list")
    assert "1 skill in ~/.claude/skills" in listed
    (named,) = re.findall(r"`(skillhub roots add ~[^`]*)`", listed)
    typed(*shlex.split(named)[1:])
    typed("connect", "--all", "--yes")

    # What was there is there, byte for byte, around the entry.
    written = {path: (home / path).read_text("utf-8") for path in (".cursor/mcp.json", ".config/Code/User/mcp.json")}
    for path, before in ((".cursor/mcp.json", CURSOR), (".config/Code/User/mcp.json", VSCODE)):
        kept = iter(written[path])
        assert all(character in kept for character in before)
        assert '"skillhub"' in written[path]
    codex = (home / ".codex" / "config.toml").read_text("utf-8")
    assert codex.startswith(CODEX)
    entry = tomlkit.parse(codex).unwrap()["mcp_servers"]["skillhub"]
    assert "SKILLS_DIR" not in entry.get("env", {})

    loaded = asyncio.run(search_and_load(entry, environment, cwd=home))
    assert loaded["name"] == "walrus-care"
    assert loaded["instructions"].strip() == "Give it clams."


async def search_and_load(entry: dict[str, Any], environment: dict[str, str], *, cwd: Path) -> Any:
    """Start the server as the client of that entry does, and load the best hit for a task."""
    transport = StdioTransport(
        command=entry["command"],
        args=entry.get("args", []),
        env={**environment, **entry.get("env", {})},
        cwd=str(cwd),
        keep_alive=False,
    )
    async with Client(transport) as client:
        found = json.loads((await client.call_tool("search_skills", {"query": "my walrus is hungry"})).content[0].text)
        name = found["skills"][0]["name"]
        return json.loads((await client.call_tool("load_skill", {"skill_name": name})).content[0].text)
