"""A name resolves to the same skill for a caller everywhere, and reveals no hidden skill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.server.sessions import call, command, in_process

from skillhub_mcp.bootstrap.library import registry_admission
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.roots import Source

pytestmark = pytest.mark.anyio


@pytest.fixture
def contested(hub_environment: dict[str, str], write_skill: SkillWriter, project: Path) -> dict[str, str]:
    """The environment of a server in a project with a `commit` that wins over the user's."""
    write_skill("commit", "Writes a commit, in the project.", root=project / ".agents" / "skills", body="Obey.\n")
    home = Path(os.environ["HOME"], ".agents", "skills")
    files: dict[str, str | bytes] = {"notes.md": "My notes.\n"}
    write_skill("commit", "Writes a commit, my way.", root=home, body="My own body.\n", category="mine", files=files)
    write_skill("other", "Does something else.", root=home, category="mine")
    places = {"SKILLHUB_ROOTS": "project,user", "SKILLHUB_CWD": str(project), "SKILLHUB_TRUST": "all"}
    return {**{key: value for key, value in hub_environment.items() if key != "SKILLS_DIR"}, **places}


async def test_if_the_winner_is_disabled_the_next_skill_is_used_everywhere(contested: dict[str, str]) -> None:
    tools = {**contested, "SKILLHUB_TOOLS": "core,registry,skill,context"}
    command(contested, "disable", "commit@project")

    async def ways(client: Client[Any]) -> dict[str, str]:
        hits = (await call(client, "search_skills", query="commit")).json["skills"]
        prompts = [one.name for one in await client.list_prompts()]
        resources = [one for one in await client.list_resources() if "commit" in str(one.uri)]
        index = await call(client, "available_skills")
        return {
            "search_skills": json.dumps(hits),
            "load_skill": (await call(client, "load_skill", skill_name="commit")).text,
            "read_skill_file": (await call(client, "read_skill_file", skill_name="commit", file_path="notes.md")).text,
            "Skill": (await call(client, "Skill", skill="commit")).text,
            "skill_load": (await call(client, "skill_load", name="commit", force=True)).text,
            "prompts/list": " ".join(prompts),
            "prompts/get": str((await client.get_prompt("commit")).messages),
            "prompts/get skill": str((await client.get_prompt("skill", {"name": "commit"})).messages),
            "resources/list": " ".join(f"{one.uri} {one.description}" for one in resources),
            "resources/read": str([await client.read_resource(one.uri) for one in resources]),
            "available_skills": index.text,
            "instructions": client.instructions or "",
        }

    async with in_process(tools) as client:
        said = await ways(client)
    for way in ("load_skill", "Skill", "skill_load", "prompts/get", "prompts/get skill", "resources/read"):
        assert "My own body." in said[way], way
    assert "My notes." in said["read_skill_file"]
    for way in ("search_skills", "resources/list", "available_skills", "instructions"):
        assert "my way" in said[way], way
    assert {"commit", "other"} < set(said["prompts/list"].split())
    assert not [way for way, text in said.items() if "Obey." in text or "in the project" in text or "/repo/" in text]


def every_answer(hub: SkillHub, publisher: Publisher, environment: dict[str, str]) -> dict[str, object]:
    """Return every answer that one caller gets, without times and paths."""
    admission = registry_admission(read_settings(environment)[0], lenient=True)
    index = hub.registry_index(admission)

    def loaded(name: str) -> object:
        try:
            return hub.load(name).instructions
        except SkillHubError as raised:
            return str(raised)

    return {
        "search": [(hit.handle, hit.copies, hit.skill.description) for hit in hub.search("commit").hits],
        "of a source": [[hit.handle for hit in hub.search("commit", source=source).hits] for source in Source],
        "list": [(hit.handle, hit.skill.description) for hit in hub.search("").hits],
        "load": loaded("commit"),
        "load by source": [loaded(f"commit@{source.value}") for source in Source],
        "unknown": loaded("comit"),
        "listed": [(one.handle, one.shadowed_by, one.standing, one.served) for one in hub.listed()],
        "catalogue": [(one.name, one.description, one.source) for one in hub.catalogue()],
        "mention": [one.handle for one in hub.resolve("$commit", cwd="/").skills],
        "registry": [(one.name, one.source) for one in index.skills],
        "report": (index.report.found, index.report.valid, index.report.conflicts, index.report.digest),
        "published": [(one.uri, one.entry.frontmatter["description"]) for one in publisher.page().skills],
        "resources": [(one.uri, one.description) for one in publisher.resources()],
    }


@contextmanager
def published(environment: dict[str, str]) -> Iterator[tuple[SkillHub, Publisher]]:
    with hub_of(environment) as hub:
        hub.access.narrow_by(lambda: Visibility(categories=frozenset({"mine"})))
        yield hub, Publisher(hub, serve_dotfiles=False, files_of=hub.files_of)


def test_a_hidden_skill_is_indistinguishable_from_a_missing_one(contested: dict[str, str], project: Path) -> None:
    def answers_of_the_caller() -> dict[str, object]:
        with published(contested) as (hub, publisher):
            hub.refresh()
            return every_answer(hub, publisher, contested)

    beside_hidden = answers_of_the_caller()
    hostile = project / ".agents" / "skills" / "commit"
    (hostile / "SKILL.md").unlink()
    hostile.rmdir()
    assert beside_hidden == answers_of_the_caller()
    assert beside_hidden["load"] == "My own body.\n"
    assert beside_hidden["published"] != []
