"""What other programs read: the index table, the lock file, resources and prompts, in golden files.

`SKILLHUB_UPDATE_GOLDEN=1` rewrites them. A change is on purpose, and has its line in the changelog.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter, is_golden
from tests.hubs import hub_of
from tests.library.sources.repositories import Repository, skill_text
from tests.server.connections import caller, stdio
from tests.server.skills_client import ask


def assert_golden(name: str, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    text = re.sub(r'"\d{4}-\d\d-\d\dT[^"]*"', '"<TIME>"', text)
    text = re.sub(r"sha256:[0-9a-f]{64}|\b[0-9a-f]{64}\b", "<DIGEST>", text)
    is_golden(f"contracts/{name}.json", text)


@pytest.fixture
def two_skills(write_skill: SkillWriter) -> None:
    write_skill("tables", "Turn a table into Markdown.", files={"notes.md": "Notes.\n", "scripts/run.py": "print(1)\n"})
    write_skill(
        "invoice", "Write an invoice.", extra="metadata:\n  skillhub.category: office\n  skillhub.tags: pdf, money"
    )


@pytest.mark.acceptance("S2-45")
def test_the_index_table_is_as_other_programs_know_it(two_skills: None, hub_environment: dict[str, str]) -> None:
    import lancedb

    with hub_of(hub_environment) as hub:
        hub.search("invoice")
    (table,) = (
        database.open_table(name)
        for database in [lancedb.connect(hub_environment["DB_PATH"])]
        for name in database.list_tables().tables
    )
    indexes = {index.name: [index.index_type, *index.columns] for index in table.list_indices()}
    assert_golden(
        "index-table",
        {"table": table.name, "columns": {field.name: str(field.type) for field in table.schema}, "indexes": indexes},
    )


@pytest.mark.acceptance("S2-45")
def test_the_table_has_a_vector_column_only_with_embeddings(two_skills: None, hub_environment: dict[str, str]) -> None:
    import lancedb

    columns = {}
    for provider in ("none", "local"):
        database = f"{hub_environment['DB_PATH']}-{provider}"
        with hub_of({**hub_environment, "DB_PATH": database, "EMBEDDING_PROVIDER": provider}) as hub:
            hub.refresh()
        columns[provider] = lancedb.connect(database).open_table("skills").schema.names
    assert ("vector" in columns["none"], "vector" in columns["local"]) == (False, True)


def test_the_lock_file_is_as_other_programs_know_it(hub_environment: dict[str, str], tmp_path: Path) -> None:
    from skillhub_mcp.cli.main import run

    source = Repository(tmp_path / "source")
    source.commit({"tables/SKILL.md": skill_text("tables"), "tables/notes.md": "Notes.\n"})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in hub_environment.items():
            patch.setenv(name, value)
        assert run(["add", source.url, "--yes"]) == 0
    lock = Path(hub_environment["SKILLS_DIR"], "skills-lock.json").read_text(encoding="utf-8")
    assert_golden("skills-lock", json.loads(lock.replace(source.url, "<SOURCE>")))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_resources_and_prompts_are_as_hosts_know_them(
    two_skills: None, hub_environment: dict[str, str], mode: str
) -> None:
    async def listed() -> dict[str, Any]:
        environment = {**hub_environment, "SKILLHUB_TOOLS": "core,skill"}
        async with caller(stdio(environment), mode) as hub:
            client = hub.client
            lists = {
                "resources/list": await client.list_resources(),
                "resources/templates/list": await client.list_resource_templates(),
                "resources/read": await client.read_resource("skill://hub/tables/SKILL.md"),
                "prompts/list": await client.list_prompts(),
                "prompts/get": await client.get_prompt("tables", {}),
            }
            answers = {
                method: answer.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})
                for method, answer in lists.items()
            }
            skills = await ask(hub, "skills/list")
            return {**answers, "skills/list": {key: value for key, value in skills.items() if key != "_meta"}}

    answers = json.dumps(asyncio.run(listed())).replace(hub_environment["SKILLS_DIR"], "<SKILLS>")
    assert_golden(f"resources-and-prompts-{mode}", json.loads(answers))
