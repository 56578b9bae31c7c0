"""The set `context` over MCP: list, search and load."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.server.connections import listening
from tests.server.sessions import Answer, ask, call, in_process

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]
TOOLS = {"skills_list", "skill_search", "skill_load"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "repo"
    (directory / ".git").mkdir(parents=True)
    return directory


@pytest.fixture
def environment(hub_environment: Environment, project: Path) -> Environment:
    return {**hub_environment, "SKILLHUB_TOOLS": "core,context", "SKILLHUB_CWD": str(project)}


@pytest.fixture
def add(write_skill: SkillWriter) -> Callable[..., Path]:
    def add(place: Path, name: str, description: str = "Does it. Use when due.", **options: Any) -> Path:
        return write_skill(name, description, root=place / ".agents" / "skills", **options).resolve()

    return add


def names(answer: Answer) -> list[str]:
    return [skill["name"] for skill in answer.json["skills"]]


async def tools(environment: Environment) -> set[str]:
    async with in_process(environment) as client:
        return {tool.name for tool in await client.list_tools()}


@pytest.mark.acceptance("S0-72", "S0-73")
async def test_the_set_is_optional_and_ignores_disabled_skills(environment: Environment) -> None:
    assert await tools(environment) >= TOOLS
    assert not await tools({**environment, "SKILLHUB_TOOLS": "core"}) & TOOLS
    assert not await tools({**environment, "SKILLHUB_SKILLS_ENABLED": "0"}) & TOOLS


@pytest.mark.acceptance("S0-1", "S0-4", "S0-25", "S0-75")
def test_the_list_has_every_skill_and_every_error(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    first = add(project, "one", "The project's.")
    second = add(Path(environment["HOME"]), "one", "The user's.")
    broken = add(project, "broken", frontmatter="name: broken")
    answer = ask(environment, "skills_list")
    assert [(skill["scope"], skill["dir"], skill["path"]) for skill in answer.json["skills"]] == [
        ("repo", str(first), f"{first}/SKILL.md"),
        ("user", str(second), f"{second}/SKILL.md"),
    ]
    assert set(answer.json["skills"][0]) == {"id", "name", "description", "path", "dir", "scope", "mtimeMs"}
    (error,) = answer.json["errors"]
    assert error["path"] == f"{broken}/SKILL.md"
    assert "description" in error["message"]
    assert len(answer.texts) == 1


async def test_over_http_no_path_is_shown_or_accepted(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    add(project, "one", files={"references/a.md": "x"})
    add(project, "broken", frontmatter="name: broken")

    with listening(environment) as url:
        async with Client(url) as client:
            *answers, refused = [
                await call(client, "skills_list"),
                await call(client, "skill_search", query="one"),
                await call(client, "skill_load", name="one"),
                await call(client, "skills_list", cwd=str(project)),
            ]
    assert names(answers[0]) == ["one"]
    assert answers[0].json["errors"][0]["path"] == os.path.join("broken", "SKILL.md")
    assert "<file>references/a.md</file>" in answers[2].text
    assert all(str(project) not in answer.text for answer in answers)
    assert refused.code == "INVALID_ARGUMENT"


@pytest.mark.acceptance("S0-79")
def test_the_network_is_never_used(environment: Environment, add: Callable[..., Path], project: Path) -> None:
    add(project, "one")
    script = """
import asyncio, os, socket, sys
def refuse(*_, **__):
    raise SystemExit("something asked the network")
socket.getaddrinfo = socket.create_connection = socket.socket.connect = socket.socket.connect_ex = refuse
sys.path.insert(0, sys.argv[1])
from tests.server.sessions import call, in_process
async def go():
    async with in_process(os.environ) as client:
        for tool, arguments in (
            ("skills_list", {"force_reload": True}), ("skill_search", {"query": "one"}), ("skill_load", {"name": "one"})
        ):
            answer = await call(client, tool, **arguments)
            assert answer.code is None and "one" in answer.text, answer
asyncio.run(go())
async def installers():
    import httpx2
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.bootstrap.server import server_options
    from skillhub_mcp.server.app import make_server
    from skillhub_mcp.server.http.app import HttpOptions, make_http_app
    from skillhub_mcp.settings import read_settings
    settings, _ = read_settings({**os.environ, "SKILLHUB_ROOTS": "project"})
    hub = make_hub(settings)
    server = make_server(hub, server_options(settings, hub, over_http=True))
    app = make_http_app(server, hub, HttpOptions("127.0.0.1", 0, (), (), well_known=True))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
        index = await client.get("/.well-known/agent-skills/index.json")
        (skill,) = index.json()["skills"]
        artifact = await client.get(f"/.well-known/agent-skills/{skill['url']}")
        assert b"name: one" in artifact.content, artifact
    hub.close()
asyncio.run(installers())
# No server imports the code that fetches sources.
reaching = {f"skillhub_mcp.library.sources.{name}" for name in ("opening", "download", "git")}
assert not reaching & sys.modules.keys(), sys.modules.keys()
"""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script, root],
        env={**environment, "SKILLHUB_TRUST": "all"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
