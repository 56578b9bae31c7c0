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

import mcp
import mcp_types
import pytest
import tomlkit
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
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


def test_the_readme_leads_to_a_client_that_loads_an_existing_skill(
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
    environment = bare_environment(home)
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
    assert f"{program} roots add --all " in shown
    assert f"{program} connect --all " in shown

    typed("roots", "add", "claude")
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


def test_after_connect_a_client_finds_a_skill_of_each_place(
    home: Path, tmp_path: Path, write_skill: SkillWriter
) -> None:
    """35 skills in the usual places; the client starts the server in the home directory and offers its project."""
    project = tmp_path / "code"
    (project / ".git").mkdir(parents=True)
    plugins = home / ".claude" / "plugins"
    places = {
        "claude": (home / ".claude" / "skills", 11),
        "plugin": (plugins / "cache" / "market" / "used" / "1.0" / "skills", 6),
        "cursor": (home / ".cursor" / "skills", 6),
        "codex": (home / ".codex" / "skills", 5),
        "agents": (home / ".agents" / "skills", 3),
        "project": (project / ".agents" / "skills", 3),
        "off": (plugins / "cache" / "market" / "unused" / "1.0" / "skills", 1),
    }
    for place, (root, count) in places.items():
        for number in range(count):
            write_skill(
                f"{place}-{number}", f"The {place} skill for task {number}.", body=f"From {place}.\n", root=root
            )
    records = {
        f"{name}@market": [{"scope": "user", "installPath": str(plugins / "cache" / "market" / name / "1.0")}]
        for name in ("used", "unused")
    }
    (plugins / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": records}), "utf-8")
    (home / ".claude" / "settings.json").write_text(json.dumps({"enabledPlugins": {"unused@market": False}}), "utf-8")

    environment = {**bare_environment(home), "EMBEDDING_PROVIDER": "none"}
    connecting = subprocess.run(
        [first_program()[0], "connect", "--all", "--yes", "--serve-found", "--json"],
        cwd=home,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert connecting.returncode == 0, connecting.stderr.decode()
    # Those of ~/.agents are served anyway, and those of the project by the client's word.
    assert sum(one["skills"] for one in json.loads(connecting.stdout)["found"]) == 28

    codex = (home / ".codex" / "config.toml").read_text("utf-8")
    entry = tomlkit.parse(codex).unwrap()["mcp_servers"]["skillhub"]
    loaded = asyncio.run(load_each(entry, environment, home, project, [place for place in places if place != "off"]))
    assert loaded == {place: f"From {place}." for place in places if place != "off"}


async def load_each(
    entry: dict[str, Any], environment: dict[str, str], cwd: Path, project: Path, places: list[str]
) -> dict[str, str]:
    """Search for and load the first skill of each place, as the client of the entry does that works on `project`."""

    async def roots(context: object) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=project.as_uri())])  # type: ignore[arg-type]

    server = StdioServerParameters(
        command=entry["command"], args=entry.get("args", []), env={**environment, **entry.get("env", {})}, cwd=cwd
    )
    loaded = {}
    async with mcp.Client(stdio_client(server), mode="legacy", list_roots_callback=roots) as client:
        for place in places:
            found = await answered(client, "search_skills", query=f"{place} skill for task 0")
            assert found["skills"][0]["name"] == f"{place}-0"
            loaded[place] = (await answered(client, "load_skill", skill_name=f"{place}-0"))["instructions"].strip()
        hidden: Any = await client.call_tool("load_skill", {"skill_name": "off-0"})
        assert hidden.is_error
    return loaded


async def answered(client: Any, tool: str, **arguments: object) -> Any:
    return json.loads((await client.call_tool(tool, arguments)).content[0].text)


def bare_environment(home: Path) -> dict[str, str]:
    # Where a test says which package is tested, its processes are of that package too.
    tested = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return {"HOME": str(home), "PATH": BARE_PATH, **tested}


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
        found = await answered(client, "search_skills", query="my walrus is hungry")
        return await answered(client, "load_skill", skill_name=found["skills"][0]["name"])
