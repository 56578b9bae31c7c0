"""Registered tools with null for optional arguments."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import caller, listening
from tests.server.sessions import call, in_process

pytestmark = pytest.mark.anyio

Environment = dict[str, str]

EVERYTHING = {"SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1", "SKILLHUB_ALLOWED_COMMANDS": "ls"}
# Requirements of the tools, and alternatives.
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


@pytest.mark.slow
async def test_an_optional_argument_that_is_null_has_its_default(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("one")

    async with in_process({**hub_environment, **EVERYTHING}) as client:
        refused = []
        for tool in await client.list_tools():
            needed = NEEDED.get(tool.name, {})
            nulls = dict.fromkeys(tool.input_schema["properties"].keys() - needed.keys())
            answer = await call(client, tool.name, **nulls, **needed)
            refused += [(tool.name, answer.text)] if answer.code == "INVALID_ARGUMENT" else []
        assert refused == []


@pytest.mark.slow
async def test_a_null_session_counts_as_missing(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("one")

    with listening(hub_environment) as url:
        async with caller(url, "auto") as client:
            assert (await client.call("load_skill", skill_name="one", session=None)).code is None
