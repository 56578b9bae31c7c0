"""The set `registry` over MCP: the index, its report, and the list that a model is shown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.server.connections import listening
from tests.server.sessions import Answer, call, in_process, over_stdio

pytestmark = pytest.mark.slow

Environment = dict[str, str]


@pytest.fixture
def environment(hub_environment: Environment) -> Environment:
    """A hub with the set switched on, whose project and user roots lie in the home directory of the test."""
    project = Path(hub_environment["HOME"]) / "work"
    (project / ".git").mkdir(parents=True)
    return {
        **hub_environment,
        "SKILLHUB_TOOLS": "core,registry",
        "SKILLHUB_ROOTS": "project,user,hub",
        "SKILLHUB_TRUST": "all",
        "SKILLHUB_CWD": str(project),
    }


@pytest.fixture
def project_root(environment: Environment) -> Path:
    return Path(environment["SKILLHUB_CWD"]) / ".agent" / "skills"


@pytest.fixture
def user_root(environment: Environment) -> Path:
    return Path(environment["HOME"]) / ".agent" / "skills"


def talk(environment: Environment, journey: Callable[[Client[Any]], Awaitable[Any]]) -> Any:
    async def go() -> Any:
        async with in_process(environment) as client:
            return await journey(client)

    return asyncio.run(go())


def names(answer: Answer) -> list[str]:
    return [skill["name"] for skill in answer.json["skills"]]


def test_the_set_is_offered_only_when_it_is_chosen(environment: Environment) -> None:
    async def tools(client: Client[Any]) -> set[str]:
        return {tool.name for tool in await client.list_tools()}

    registry = {"build_index", "refresh_index", "available_skills"}
    assert talk(environment, tools) >= registry
    assert not talk({**environment, "SKILLHUB_TOOLS": "core"}, tools) & registry
    assert talk({**environment, "SKILLHUB_TOOLS": "registry"}, tools) == registry


@pytest.mark.acceptance("S3-5", "S3-22")
def test_the_index_is_built_at_the_start_and_holds_every_root(
    environment: Environment, write_skill: SkillWriter, project_root: Path, user_root: Path
) -> None:
    write_skill("from-hub", "Of origin in the hub.")
    write_skill("from-user", "Of origin in the user.", root=user_root)
    project = write_skill(
        "from-project",
        "Of origin in the project.",
        root=project_root,
        extra="version: 1.0\nauthor: Ada\nuser-invocable: false\nallowed-tools: Read, Bash(git log:*)",
    )

    async def journey(client: Client[Any]) -> tuple[Answer, Answer]:
        return await call(client, "search_skills", query="origin"), await call(client, "build_index")

    found, built = talk(environment, journey)
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
def test_a_refresh_sees_what_is_new_and_what_is_gone(environment: Environment, write_skill: SkillWriter) -> None:
    gone = write_skill("gone")

    async def journey(client: Client[Any]) -> tuple[Answer, Answer]:
        before = await call(client, "build_index")
        (gone / "SKILL.md").unlink()
        write_skill("new")
        return before, await call(client, "refresh_index")

    before, after = talk(environment, journey)
    assert (names(before), names(after)) == (["gone"], ["new"])
    assert before.json["report"]["digest"] != after.json["report"]["digest"]


@pytest.mark.acceptance("S3-25")
def test_a_refresh_of_named_changes_finds_what_changed_there(
    environment: Environment, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("first")

    async def journey(client: Client[Any]) -> list[list[str]]:
        seen = [names(await call(client, "build_index"))]
        write_skill("second")
        seen.append(names(await call(client, "refresh_index", changes=[str(skills_dir / "second" / "SKILL.md")])))
        write_skill("third")
        seen.append(names(await call(client, "refresh_index")))
        return seen

    quiet = {**environment, "SKILLHUB_SKIP_AUTO_REINDEX": "1"}
    with_index = talk(environment, lambda client: call(client, "build_index"))
    assert names(with_index) == ["first"]
    # With scanning switched off only this call scans.
    first, named, all_of_them = talk(quiet, journey)
    assert first == ["first"]
    assert named == ["first", "second"]
    assert all_of_them == ["first", "second", "third"]


@pytest.mark.acceptance("S3-20")
def test_a_source_has_its_entry_also_where_it_lost_the_name(
    environment: Environment, write_skill: SkillWriter, project_root: Path
) -> None:
    write_skill("twice", "From the hub.", files={"a.txt": "the hub's"})
    write_skill("twice", "From the project.", root=project_root, files={"a.txt": "the project's"})

    async def journey(client: Client[Any]) -> tuple[Any, ...]:
        built = await call(client, "build_index")
        of_hub = await call(client, "build_index", source="hub")
        found = await call(client, "search_skills", query="from the hub", source="hub")
        by_default = await call(client, "load_skill", skill_name="twice")
        of_that_source = await call(client, "load_skill", skill_name=found.structured["skills"][0]["name"])
        # The returned name leads to the same skill again.
        read = await call(client, "read_skill_file", skill_name=of_that_source.json["name"], file_path="a.txt")
        return built, of_hub, found, by_default, of_that_source, read

    built, of_hub, found, by_default, of_that_source, read = talk(environment, journey)
    assert read.json["content"] == "the hub's"
    assert [(skill["name"], skill["source"]) for skill in built.json["skills"]] == [("twice", "project")]
    assert [(skill["name"], skill["source"]) for skill in of_hub.json["skills"]] == [("twice", "hub")]
    assert found.structured["skills"][0]["name"] == "twice@hub"
    assert by_default.json["path"].endswith(".agent/skills/twice")
    assert of_that_source.json["path"].endswith("/skills/twice")
    assert of_that_source.json["path"] != by_default.json["path"]
    (conflict,) = built.json["report"]["conflicts"]["details"]
    assert (conflict["winner"]["source"], conflict["overridden"]["source"]) == ("project", "hub")


@pytest.mark.acceptance("S3-30")
def test_a_skill_that_is_not_for_models_is_in_no_list_and_no_search_and_still_loads(
    environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("deploy", "Deploys the service.", extra="disable-model-invocation: true")
    write_skill("rollback", "Rolls the deployed service back.")

    async def journey(client: Client[Any]) -> tuple[Answer, ...]:
        return (
            await call(client, "available_skills"),
            await call(client, "search_skills", query="deploy the service"),
            await call(client, "load_skill", skill_name="deploy"),
            await call(client, "build_index"),
            await call(client, "load_skill", skill_name="deplo"),
        )

    available, found, loaded, built, mistyped = talk(environment, journey)
    assert "deploy |" not in available.text
    assert "rollback |" in available.text
    assert [skill["name"] for skill in found.structured["skills"]] == ["rollback"]
    assert loaded.json["instructions"]
    assert {s["name"]: s["controls"]["disable_model_invocation"] for s in built.json["skills"]} == {
        "deploy": True,
        "rollback": False,
    }
    # What is kept from models is not suggested to them either.
    assert "deploy" not in (mistyped.error or {})["hint"]


@pytest.mark.acceptance("S3-31", "S3-32")
def test_a_model_sees_names_sources_and_descriptions_alone(
    environment: Environment, write_skill: SkillWriter, project_root: Path
) -> None:
    write_skill(
        "pdf-form-filler", "Extract and fill PDF form fields using Python", root=project_root, extra="version: 9.9.9"
    )
    write_skill("code-review", "Review a Python codebase with our standards")
    assert talk(environment, lambda client: call(client, "available_skills")).text == (
        "Available Skills:\n"
        "- name=code-review | source=hub | description=Review a Python codebase with our standards\n"
        "- name=pdf-form-filler | source=project | description=Extract and fill PDF form fields using Python"
    )


def test_the_list_says_how_many_more_there_are_and_how_to_get_them(
    environment: Environment, write_skill: SkillWriter
) -> None:
    for number in range(5):
        write_skill(f"skill-{number}")

    async def journey(client: Client[Any]) -> tuple[Answer, ...]:
        return (
            await call(client, "available_skills", limit=2),
            await call(client, "available_skills", limit=2, offset=4),
            await call(client, "build_index", limit=2, offset=2),
            await call(client, "available_skills", offset=5),
            await call(client, "build_index", offset=6),
        )

    first, last, built, none, built_none = talk(environment, journey)
    assert first.text.splitlines()[-1] == "(3 more: offset=2)"
    assert [line.split()[1] for line in last.text.splitlines()[1:]] == ["name=skill-4"]
    assert names(built) == ["skill-2", "skill-3"]
    assert (built.json["total"], built.json["next_offset"]) == (5, 4)
    assert none.text == "Available Skills: (none from offset=5 on, of 5)"
    assert (built_none.json["skills"], built_none.json["total"]) == ([], 5)


@pytest.mark.acceptance("S3-12", "S3-16")
def test_the_lenient_mode_takes_what_the_strict_one_reports(environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("marked", 'Writes "<b>bold</b>".')
    write_skill("silent", frontmatter="name: silent")
    write_skill("plain")

    async def journey(client: Client[Any]) -> tuple[Answer, Answer]:
        return await call(client, "build_index"), await call(client, "build_index", mode="lenient")

    strict, lenient = talk(environment, journey)
    assert names(strict) == ["plain"]
    assert strict.json["report"]["ignored"]["reasons"] == {"description-missing": 1, "registry-markup": 1}
    assert names(lenient) == ["marked", "plain", "silent"]
    silent = lenient.json["skills"][2]
    assert silent["description"] == ""
    assert "description-missing" in {diagnostic["rule"] for diagnostic in silent["diagnostics"]}


@pytest.mark.acceptance("S3-28")
def test_the_digest_is_that_of_the_command_line(environment: Environment, write_skill: SkillWriter) -> None:
    import json
    import subprocess
    import sys

    write_skill("one", extra="version: 2.1")
    built = talk(environment, lambda client: call(client, "build_index"))
    done = subprocess.run(
        [sys.executable, "-m", "skillhub_mcp", "registry", "report", "--json"],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["digest"] == built.json["report"]["digest"]
    assert built.json["report"]["digest"].startswith("sha256:")


def test_over_http_no_path_of_the_server_is_shown(environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("one")
    write_skill("broken", frontmatter="name: broken")

    async def ask(url: str) -> tuple[Answer, Answer]:
        async with Client(url) as client:
            return await call(client, "build_index"), await call(client, "available_skills")

    with listening(environment) as url:
        built, available = asyncio.run(ask(url))
    assert names(built) == ["one"]
    assert built.json["report"]["ignored"]["reasons"]
    for text in (built.text, available.text):
        assert environment["HOME"] not in text
        assert environment["SKILLS_DIR"] not in text


def test_the_set_works_over_stdio(environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("one")

    async def ask() -> list[str]:
        async with over_stdio(environment) as client:
            return names(await call(client, "refresh_index"))

    assert asyncio.run(ask()) == ["one"]
