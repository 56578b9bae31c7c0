"""Tools are plain functions: each can be called without a server and without a client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.agents_md.session import SavedSessions
from skillhub_mcp.bootstrap.server import make_resolver
from skillhub_mcp.errors import InvalidArgument, SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.tools import registration
from skillhub_mcp.server.tools.agents import AgentsTools
from skillhub_mcp.server.tools.core import CoreTools
from skillhub_mcp.server.tools.registry import RegistryTools
from skillhub_mcp.server.tools.run import RunTool
from skillhub_mcp.server.tools.skill import SkillTool
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.admission import LENIENT, STRICT


@pytest.fixture
def hub(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[SkillHub]:
    write_skill("walrus", "Feeds the walrus.", body="Give it fish.", files={"references/fish.md": "Herring."})
    with hub_of({**hub_environment, "SKILLHUB_ALLOWED_COMMANDS": "cat"}) as hub:
        hub.refresh()
        yield hub


@pytest.fixture
def sessions() -> Sessions:
    return Sessions("stdio", tools=())


def text_of(result: ToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def json_of(result: ToolResult) -> Any:
    return json.loads(text_of(result))


def test_the_core_tools_find_load_and_read_a_skill(hub: SkillHub, sessions: Sessions) -> None:
    tools = CoreTools(hub, sessions, base_uri=lambda _: None, with_paths=False)
    found = json_of(asyncio.run(tools.search_skills("feed the walrus")))
    assert [skill["name"] for skill in found["skills"]] == ["walrus"]
    assert "Give it fish." in json_of(tools.load_skill("walrus"))["instructions"]
    assert json_of(tools.read_skill_file("walrus", "references/fish.md"))["content"] == "Herring."
    assert [entry.layer for entry in sessions.current().ledger.entries()] == ["skill", "file"]
    with pytest.raises(SkillNotFound):
        tools.load_skill("nothing")


def test_a_search_of_an_empty_hub_names_the_skills_that_are_here_and_their_command_to_who_has_this_machine(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    sessions: Sessions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_skill("elsewhere", root=Path(hub_environment["HOME"], ".claude", "skills"))
    environment = {name: value for name, value in hub_environment.items() if name != "SKILLS_DIR"}
    with hub_of(environment) as hub:

        def note(*, with_paths: bool) -> str:
            tools = CoreTools(hub, sessions, base_uri=lambda _: None, with_paths=with_paths)
            return str(json_of(asyncio.run(tools.search_skills("anything")))["note"])

        assert note(with_paths=True).startswith("No skill: 1 skill in ~/.claude/skills is not searched: ")
        assert "`skillhub roots add ~/.claude/skills` serves it. 14 examples that come" in note(with_paths=True)
        assert note(with_paths=False) == "No skill: This hub has no skill."


def test_the_skill_tool_lists_the_files_beside_the_instructions(hub: SkillHub, sessions: Sessions) -> None:
    text = text_of(SkillTool(hub, sessions, with_paths=False, closing="Follow it.").load("/walrus"))
    assert "Give it fish." in text
    assert "references/fish.md" in text


@pytest.mark.slow
def test_the_registry_tools_build_an_index_and_list_it(hub: SkillHub) -> None:
    tools = RegistryTools(hub, lambda lenient: LENIENT if lenient else STRICT, with_paths=False)
    assert [skill["name"] for skill in json_of(asyncio.run(tools.build_index()))["skills"]] == ["walrus"]
    assert "walrus" in text_of(tools.available_skills())


def test_the_run_tool_runs_a_command_in_the_skills_directory(hub: SkillHub, sessions: Sessions) -> None:
    tool = RunTool(hub, sessions, 30.0, with_paths=False)
    result = asyncio.run(tool.run_skill_command("walrus", "cat", ["references/fish.md"]))
    assert json_of(result)["stdout"] == "Herring."


def test_the_agents_tools_refuse_a_directory_from_a_client_without_the_disk(
    hub_environment: dict[str, str], sessions: Sessions, tmp_path: Path
) -> None:
    settings, _ = read_settings(hub_environment)
    saved = SavedSessions(str(tmp_path / "sessions"))
    tools = AgentsTools(lambda cwd, known: make_resolver(settings, cwd, known=known), sessions, saved, with_paths=False)
    assert tools.agents_context().content
    with pytest.raises(InvalidArgument, match="cwd"):
        tools.agents_context("/elsewhere")


def test_a_definition_says_which_function_a_tool_is(hub: SkillHub, sessions: Sessions) -> None:
    core = CoreTools(hub, sessions, base_uri=lambda _: None, with_paths=False)
    definitions = registration.core_tools(core)
    assert [definition.function for definition in definitions] == [
        core.search_skills,
        core.load_skill,
        core.read_skill_file,
    ]
