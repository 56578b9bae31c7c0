"""The golden journey: all that a user does with the hub, over each transport and in each protocol version.

It asserts what a user sees and nothing about how it comes about, so that any part of the program may be rewritten below
it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.library.sources.repositories import Entry, Executable, Repository, skill_text
from tests.server.connections import Caller, caller
from tests.server.sessions import http_server

pytestmark = pytest.mark.slow

# A virtual environment has the scripts beside its interpreter.
PROGRAMS = Path(sys.executable).parent
OTHER_SERVER = '{"mcpServers": {"other": {"command": "other"}}}\n'
TASK = "my walrus is hungry"


@dataclass(frozen=True)
class User:
    """A user with a home directory, who uses Cursor."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": os.fspath(self.home),
            "PATH": os.pathsep.join((os.fspath(PROGRAMS), os.environ["PATH"])),
            "GIT_CONFIG_NOSYSTEM": "1",
            "EMBEDDING_PROVIDER": "none",
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        }

    def types(self, *arguments: str, code: int = 0) -> str:
        """Run a command, check its exit code, and return what it prints."""
        done = subprocess.run(
            ["skillhub", *arguments],
            executable=PROGRAMS / "skillhub",
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def reads(self, *arguments: str) -> Any:
        return json.loads(self.types(*arguments, "--json"))

    @property
    def entry(self) -> Any:
        """What Cursor's file says about the server."""
        return json.loads((self.home / ".cursor" / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["skillhub"]


def can_confine() -> bool:
    """Whether bubblewrap works here; a container may not allow it namespaces."""
    if (bwrap := shutil.which("bwrap")) is None:
        return False
    return subprocess.run([bwrap, "--unshare-all", "--ro-bind", "/", "/", "true"], check=False).returncode == 0


async def finds(agent: Caller, query: str) -> list[str]:
    return [hit["name"] for hit in (await agent.call("search_skills", query=query)).json["skills"]]


async def finds_first(agent: Caller, name: str, query: str) -> None:
    """Search until `name` is the first hit: a search may be answered from before the last change."""
    with anyio.fail_after(30):
        while (await finds(agent, query))[:1] != [name]:
            pass


@contextmanager
def serving(user: User, *options: str, **variables: str) -> Iterator[str]:
    """A server process over HTTP; yields the address of its endpoint."""
    environment, program = {**user.environment, **variables}, os.fspath(PROGRAMS / "skillhub-mcp")
    with http_server(environment, *options, command=(program,), cwd=user.home) as url:
        yield f"{url}/mcp"


def target_of(user: User) -> Any:
    """Return how Cursor reaches the server, by its own file."""
    entry = user.entry
    if "url" in entry:
        return entry["url"]
    return stdio_client(
        StdioServerParameters(
            command=entry["command"],
            args=entry.get("args", []),
            env={**user.environment, **entry.get("env", {})},
            cwd=user.home,
        )
    )


@pytest.mark.skipif(os.name != "posix", reason="commands of skills run on POSIX systems only")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_golden_journey(transport: str, mode: str, tmp_path: Path) -> None:
    user = User(tmp_path / "home")
    (user.home / ".cursor").mkdir(parents=True)
    (user.home / ".cursor" / "mcp.json").write_text(OTHER_SERVER, encoding="utf-8")
    source = Repository(tmp_path / "source")
    commit: dict[str, Entry] = {
        "skills/walrus-care/SKILL.md": skill_text("walrus-care", "Feed a walrus.", body="Give it clams."),
        "skills/walrus-care/references/diet.md": "Clams twice a day.\n",
        "skills/walrus-care/scripts/weigh.py": Executable("import sys\nprint('weighs', sys.argv[1])\n"),
        "skills/invoice/SKILL.md": skill_text("invoice", "Write an invoice for a customer.", body="Number it."),
    }
    source.commit(commit)
    run = {"SKILLHUB_ENABLE_RUN": "1"} | ({} if can_confine() else {"SKILLHUB_SANDBOX": "off"})

    with ExitStack() as stack:
        # Connect.
        if transport == "http":
            url = stack.enter_context(serving(user, "--enable-run-over-http", "--allow-anonymous", **run))
            user.types("connect", "cursor", "--http", url, "--yes")
        else:
            user.types(
                "connect", "cursor", "--yes", *(part for item in run.items() for part in ("--env", "=".join(item)))
            )
        asyncio.run(used(user, source, commit, transport=transport, mode=mode, copy=tmp_path / "published"))


async def used(
    user: User, source: Repository, commit: dict[str, Entry], *, transport: str, mode: str, copy: Path
) -> None:
    async with caller(target_of(user), mode) as agent:
        tools = {tool.name for tool in await agent.look()}
        assert {"search_skills", "load_skill", "read_skill_file"} <= tools
        assert await finds(agent, TASK) == []

        # Add: the running server finds it.
        user.types("add", source.url, "--skill", "*", "--yes")
        assert {skill["name"] for skill in user.reads("list")["skills"]} == {"walrus-care", "invoice"}
        await finds_first(agent, "walrus-care", TASK)
        assert user.reads("search", TASK)["skills"][0]["name"] == "walrus-care"

        # Load and read.
        loaded = (await agent.call("load_skill", skill_name="walrus-care")).json
        assert "Give it clams." in loaded["instructions"]
        assert ("path" in loaded) == (transport == "stdio")
        file = (await agent.call("read_skill_file", skill_name="walrus-care", file_path="references/diet.md")).json
        assert file["content"] == "Clams twice a day.\n"
        outside = {"skill_name": "walrus-care", "file_path": "../invoice/SKILL.md"}
        assert (await agent.call("read_skill_file", **outside)).code == "PATH_NOT_ALLOWED"
        assert (await agent.call("load_skill", skill_name="walrus")).code == "SKILL_NOT_FOUND"

        # Run.
        command = {"skill_name": "walrus-care", "command": "python", "args": ["scripts/weigh.py", "900"]}
        ran = (await agent.call("run_skill_command", **command)).json
        assert (ran["stdout"], ran["exit_code"], ran["timeout"]) == ("weighs 900\n", 0, False)

        # Update: the running server serves the new text.
        text = skill_text("walrus-care", "Feed a walrus.", body="Give it mussels.")
        source.commit({**commit, "skills/walrus-care/SKILL.md": text})
        user.types("update", "--yes")
        assert "Give it mussels." in (await agent.call("load_skill", skill_name="walrus-care")).json["instructions"]
        user.types("verify")

        # Control what agents get.
        user.types("disable", "invoice")
        assert (await agent.call("load_skill", skill_name="invoice")).code == "SKILL_DISABLED"
        user.types("enable", "invoice")
        assert "Number it." in (await agent.call("load_skill", skill_name="invoice")).json["instructions"]

        # Publish, and serve as a replica.
        user.types("publish", os.fspath(copy))
        replica = User(user.home.parent / "replica")
        replica.home.mkdir()
        with serving(replica, "--read-only", DB_PATH=os.fspath(copy)) as url:
            async with caller(url, mode) as reader:
                await finds_first(reader, "walrus-care", TASK)
                assert await finds(reader, TASK) == await finds(agent, TASK)
                again = (await reader.call("load_skill", skill_name="walrus-care")).json
                assert "Give it mussels." in again["instructions"]
                copied = await reader.call("read_skill_file", skill_name="walrus-care", file_path="references/diet.md")
                assert copied.json["content"] == "Clams twice a day.\n"

        # Remove, and change one's mind.
        user.types("remove", "walrus-care")
        assert (await agent.call("load_skill", skill_name="walrus-care")).code == "SKILL_NOT_FOUND"
        assert "walrus-care" not in await finds(agent, TASK)
        user.types("remove", "--undo", "walrus-care")
        assert "Give it mussels." in (await agent.call("load_skill", skill_name="walrus-care")).json["instructions"]

    user.types("disconnect", "cursor", "--yes")
    assert (user.home / ".cursor" / "mcp.json").read_text(encoding="utf-8") == OTHER_SERVER
