"""The first five minutes on a machine that already has clients and skills, from an empty home to a loaded skill."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
import tomlkit
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


def bare_environment(home: Path) -> dict[str, str]:
    # Where a test says which package is tested, its processes are of that package too.
    tested = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return {"HOME": str(home), "PATH": BARE_PATH, "EMBEDDING_PROVIDER": "none", **tested}


def typed(home: Path, *arguments: str, cwd: Path) -> str:
    """Run the program of the README, which succeeds, and return what it prints."""
    done = subprocess.run(
        [first_program()[0], *arguments],
        cwd=cwd,
        env=bare_environment(home),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@asynccontextmanager
async def codex_client(home: Path, *projects: Path) -> AsyncIterator[mcp.Client]:
    """Start the server in the home directory as Codex's file says, for a client that works on `projects`."""
    entry = tomlkit.parse((home / ".codex" / "config.toml").read_text("utf-8")).unwrap()["mcp_servers"]["skillhub"]
    assert "SKILLS_DIR" not in entry.get("env", {})

    async def roots(context: object) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=one.as_uri()) for one in projects])  # type: ignore[arg-type]

    environment = {**bare_environment(home), **entry.get("env", {})}
    server = StdioServerParameters(command=entry["command"], args=entry.get("args", []), env=environment, cwd=home)
    async with mcp.Client(stdio_client(server), mode="legacy", list_roots_callback=roots) as client:
        yield client


async def best_hit(client: mcp.Client, query: str) -> tuple[str, str]:
    """Search, load the first hit, and return its name and its instructions."""

    async def answered(tool: str, **arguments: object) -> Any:
        result: Any = await client.call_tool(tool, arguments)
        return json.loads(result.content[0].text)

    found = (await answered("search_skills", query=query))["skills"][0]["name"]
    return found, (await answered("load_skill", skill_name=found))["instructions"].strip()


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
    program, *first = first_program()

    # It ends with the two commands for this machine, as they work in this shell.
    shown = typed(home, *first, cwd=code)
    assert f"{program} roots add --all " in shown
    assert f"{program} connect --all " in shown

    typed(home, "roots", "add", "claude", cwd=code)
    typed(home, "connect", "--all", "--yes", cwd=code)

    # What was there is there, byte for byte, around the entry.
    written = {path: (home / path).read_text("utf-8") for path in (".cursor/mcp.json", ".config/Code/User/mcp.json")}
    for path, before in ((".cursor/mcp.json", CURSOR), (".config/Code/User/mcp.json", VSCODE)):
        kept = iter(written[path])
        assert all(character in kept for character in before)
        assert '"skillhub"' in written[path]
    assert (home / ".codex" / "config.toml").read_text("utf-8").startswith(CODEX)

    async def used() -> tuple[str, str]:
        async with codex_client(home) as client:
            return await best_hit(client, "my walrus is hungry")

    assert asyncio.run(used()) == ("walrus-care", "Give it clams.")


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

    connected = json.loads(typed(home, "connect", "--all", "--yes", "--serve-found", "--json", cwd=home))
    # Those of ~/.agents are served anyway, and those of the project by the client's word.
    assert sum(one["skills"] for one in connected["found"]) == 28

    async def used() -> None:
        async with codex_client(home, project) as client:
            for place in places.keys() - {"off"}:
                assert await best_hit(client, f"{place} skill for task 0") == (f"{place}-0", f"From {place}.")
            hidden: Any = await client.call_tool("load_skill", {"skill_name": "off-0"})
            assert hidden.is_error

    asyncio.run(used())
