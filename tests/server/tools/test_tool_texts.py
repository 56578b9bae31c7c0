"""Tools for models: their texts name what exists, and optional arguments may be null."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.server.sessions import call, in_process

from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS
from skillhub_mcp.server.middleware.instructions import CONTEXT, CORE, SKILL

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]

EVERYTHING = {"SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1"}
# The required arguments of the tools.
NEEDED: dict[str, dict[str, Any]] = {
    "search_skills": {"query": "one"},
    "load_skill": {"skill_name": "one"},
    "read_skill_file": {"skill_name": "one", "file_path": "SKILL.md"},
    "run_skill_command": {"skill_name": "one", "command": "ls"},
    "Skill": {"skill": "one"},
    "skill_search": {"query": "one"},
    "skill_load": {"name": "one"},
    "agents_resolve": {"path": "x"},
}


@pytest.mark.parametrize("expose_paths", [True, False])
async def test_every_tool_and_argument_in_a_text_exists(*, expose_paths: bool, hub_environment: Environment) -> None:
    async with in_process({**hub_environment, **EVERYTHING}, expose_paths=expose_paths) as client:
        tools = await client.list_tools()
    known = {tool.name for tool in tools}
    texts = [(tool.name, tool.description or "", {*tool.input_schema["properties"]}) for tool in tools]
    for name, text, arguments in [*texts, *(("", rules, set[str]()) for rules in (CORE, CONTEXT, SKILL))]:
        for named in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text):
            assert named in known | {"exit_code", "next_part", "next_offset", "output_dir"}, (name, named)
        for named in re.findall(r"(?:with|at|by) `(\w+)`", text):
            assert named in arguments | {"path", "state"}, (name, named)


@pytest.mark.parametrize("tools", ["core", "context", "agents", "registry", "skill"])
async def test_a_set_alone_names_no_tool_that_it_lacks(tools: str, hub_environment: Environment) -> None:
    async with in_process({**hub_environment, "SKILLHUB_TOOLS": tools}, expose_paths=True) as client:
        listed = await client.list_tools()
        said = [client.initialize_result.instructions or ""] if client.initialize_result else []
        shown = [json.dumps(tool.model_dump(mode="json")) for tool in listed]
        offered, text = {tool.name for tool in listed}, " ".join([*said, *shown])
    assert {name for name in TOOL_ACTIONS if "_" in name and re.search(rf"\b{name}\b", text)} <= offered


async def test_an_optional_argument_that_is_null_has_its_default(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("one")

    async with in_process({**hub_environment, **EVERYTHING, "SKILLHUB_ALLOWED_COMMANDS": "ls"}) as client:
        refused = []
        for tool in await client.list_tools():
            needed = NEEDED.get(tool.name, {})
            nulls = dict.fromkeys(tool.input_schema["properties"].keys() - needed.keys())
            answer = await call(client, tool.name, **nulls, **needed)
            refused += [(tool.name, answer.text)] if answer.code == "INVALID_ARGUMENT" else []
        assert refused == []
