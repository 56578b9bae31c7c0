"""The set `context` over MCP: list, search and load."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.server.connections import listening
from tests.server.sessions import Answer, call, in_process

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]
TOOLS = {"skills_list", "skill_search", "skill_load"}


@pytest.fixture
def environment(hub_environment: Environment, project: Path) -> Environment:
    return {
        **hub_environment,
        "SKILLHUB_ROOTS": "project,user,hub",
        "SKILLHUB_TOOLS": "core,context",
        "SKILLHUB_CWD": str(project),
    }


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


async def test_pages_miss_no_skill_if_others_are_deleted(
    environment: Environment, write_skill: SkillWriter, project: Path
) -> None:
    skills = [write_skill(f"s-{number}", root=project / ".agents" / "skills") for number in range(10, 70)]
    async with in_process({**environment, "SKILLHUB_TRUST": "all"}) as client:
        first = await call(client, "skills_list")
        for skill in skills[:5]:
            shutil.rmtree(skill)
        second = await call(client, "skills_list", cursor=first.json["next_cursor"], force_reload=True)
        assert names(first) + names(second) == [f"s-{number}" for number in range(10, 70)]
        assert (await call(client, "skills_list", cursor="50")).code == "INVALID_ARGUMENT"


async def test_over_http_no_path_is_shown_or_accepted(
    environment: Environment, write_skill: SkillWriter, project: Path
) -> None:
    skills = project / ".agents" / "skills"
    write_skill("one", root=skills, files={"references/a.md": "x"})
    write_skill("broken", root=skills, frontmatter="name: broken")

    with listening({**environment, "SKILLHUB_TOOLS": "context,registry", "SKILLHUB_TRUST": "all"}) as url:
        async with Client(url) as client:
            *answers, refused = [
                await call(client, "skills_list"),
                await call(client, "build_index", source="project"),
                await call(client, "available_skills"),
                await call(client, "skill_search", query="one"),
                await call(client, "skill_load", name="one"),
                await call(client, "skills_list", cwd=str(project)),
            ]
    assert names(answers[0]) == ["one"]
    assert answers[0].json["errors"][0]["path"] == os.path.join("broken", "SKILL.md")
    assert names(answers[1]) == ["one"]
    assert answers[1].json["report"]["ignored"]["reasons"]
    assert "<file>references/a.md</file>" in answers[-1].text
    assert not [answer for answer in answers if str(project) in answer.text or environment["HOME"] in answer.text]
    assert refused.code == "INVALID_ARGUMENT"
