"""The set `registry` over MCP: the index, its report, and the list for models."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.sessions import Answer, call, in_process

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


@pytest.fixture
def environment(trusting: Environment) -> Environment:
    return {**trusting, "SKILLHUB_TOOLS": "core,registry", "SKILLHUB_ROOTS": "project,user,hub"}


def names(answer: Answer) -> list[str]:
    return [skill["name"] for skill in answer.json["skills"]]


@pytest.mark.acceptance("S3-5", "S3-22")
async def test_the_index_is_built_at_the_start_from_every_root(
    environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("from-hub", "Of origin in the hub.")
    write_skill("from-user", "Of origin in the user.", root=Path(environment["HOME"]) / ".agent" / "skills")
    project = write_skill(
        "from-project",
        "Of origin in the project.",
        root=Path(environment["SKILLHUB_CWD"]) / ".agent" / "skills",
        extra="version: 1.0\nauthor: Ada\nuser-invocable: false\nallowed-tools: Read, Bash(git log:*)",
    )

    async with in_process(environment) as client:
        found, built = await call(client, "search_skills", query="origin"), await call(client, "build_index")
    assert len(found.structured["skills"]) == 3
    assert [(skill["name"], skill["source"]) for skill in built.json["skills"]] == [
        ("from-hub", "hub"),
        ("from-project", "project"),
        ("from-user", "user"),
    ]
    entry = built.json["skills"][1]
    assert entry["path"] == os.path.realpath(project)
    assert entry["controls"] == {
        "disable_model_invocation": False,
        "user_invocable": False,
        "allowed_tools": ["Read", "Bash(git log:*)"],
    }
    assert entry["meta"] == {"version": "1.0", "author": "Ada"}
    report = built.json["report"]
    assert (report["found"], report["valid"]) == (3, 3)
    assert [root["source"] for root in report["roots"]] == ["project", "project", "user", "user", "hub"]


@pytest.mark.acceptance("S3-5", "S3-23")
async def test_a_refresh_sees_new_and_deleted_skills(environment: Environment, write_skill: SkillWriter) -> None:
    gone = write_skill("gone")
    async with in_process(environment) as client:
        before = await call(client, "build_index")
        (gone / "SKILL.md").unlink()
        write_skill("new")
        after = await call(client, "refresh_index")
    assert (names(before), names(after)) == (["gone"], ["new"])
    assert before.json["report"]["digest"] != after.json["report"]["digest"]
