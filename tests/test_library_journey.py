"""A library that is kept, from a stranger's repository to another machine: what docs/guides/install.md promises."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from tests.library.sources.repositories import Repository, skill_text

pytestmark = pytest.mark.slow

PROGRAM = os.fspath(Path(sysconfig.get_path("scripts"), "skillhub"))
GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "install.md"


class Machine:
    """A home directory of its own, with Cursor on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / ".cursor").mkdir(parents=True)
        (home / ".cursor" / "mcp.json").write_text("{}\n")
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "EMBEDDING_PROVIDER": "none",
        }

    @property
    def skills(self) -> Path:
        return self.home / ".skillhub" / "skills"

    def typed(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [PROGRAM, *arguments], cwd=self.home, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout + done.stderr

    def client(self) -> Client[StdioTransport]:
        entry = json.loads((self.home / ".cursor" / "mcp.json").read_text())["mcpServers"]["skillhub"]
        return Client(
            StdioTransport(
                command=entry["command"],
                args=entry.get("args", []),
                env={**self.environment, **entry.get("env", {}), "SKILLHUB_FROZEN": "1"},
                cwd=str(self.home),
                keep_alive=False,
            )
        )


async def asked(client: Client[StdioTransport], tool: str, **arguments: str) -> Any:
    content: Any = (await client.call_tool(tool, arguments)).content
    return json.loads(content[0].text)


def test_install_update_tampering_and_another_machine(
    tmp_path: Path,
) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit(
        {"skills/walrus-care/SKILL.md": skill_text("walrus-care", "Feed a walrus.", body="Give it clams.")}
    )
    here = Machine(tmp_path / "here")
    here.typed("add", repository.url, "--yes")
    here.typed("connect", "cursor", "--yes")

    async def used() -> None:
        async with here.client() as client:
            found = await asked(client, "search_skills", query="my walrus is hungry")
            assert [one["name"] for one in found["skills"]] == ["walrus-care"]
            assert "clams" in (await asked(client, "load_skill", skill_name="walrus-care"))["instructions"]

            repository.commit(
                {"skills/walrus-care/SKILL.md": skill_text("walrus-care", "Feed a walrus.", body="Give it mussels.")}
            )
            reported = here.typed("update", "--yes")
            assert "    -Give it clams." in reported
            assert "    +Give it mussels." in reported
            # The server that runs follows.
            loaded = await asked(client, "load_skill", skill_name="walrus-care")
            assert "mussels" in loaded["instructions"]

            document = here.skills / "walrus-care" / "SKILL.md"
            before = document.read_bytes()
            document.write_bytes(before.replace(b"mussels", b"poison!"))
            with pytest.raises(ToolError, match="SKILL_CHANGED"):
                await client.call_tool("load_skill", {"skill_name": "walrus-care"})
            document.write_bytes(before)
            assert "mussels" in (await asked(client, "load_skill", skill_name="walrus-care"))["instructions"]

    asyncio.run(used())

    elsewhere = Machine(tmp_path / "elsewhere")
    elsewhere.skills.mkdir(parents=True)
    (elsewhere.skills / "skills-lock.json").write_bytes((here.skills / "skills-lock.json").read_bytes())
    repository.commit({"skills/walrus-care/SKILL.md": skill_text("walrus-care", "Feed a walrus.", body="Newer.")})
    elsewhere.typed("add", "--frozen")
    document = elsewhere.skills / "walrus-care" / "SKILL.md"
    assert document.read_bytes() == (here.skills / "walrus-care" / "SKILL.md").read_bytes()


def test_the_guide_has_each_command_of_the_journey() -> None:
    typed = set(re.findall(r"^skillhub (\w+)", GUIDE.read_text("utf-8"), re.MULTILINE))
    assert {"add", "update", "remove", "verify"} <= typed
