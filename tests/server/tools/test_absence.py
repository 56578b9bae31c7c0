"""What a client is told when nothing is there: the cause, to those who may know it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import add_token, bearer
from tests.server.connections import WAYS, Said, listening, reached

pytestmark = pytest.mark.slow

Environment = dict[str, str]


def asked(way: tuple[str, str], environment: Environment, *calls: tuple[str, dict[str, str]]) -> list[Said]:
    async def go() -> list[Said]:
        async with reached(way, environment) as client:
            return [await client.call(tool, **arguments) for tool, arguments in calls]

    return asyncio.run(go())


@pytest.mark.parametrize("way", WAYS)
def test_a_search_of_nothing_names_the_cause_and_over_http_no_path(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, way: tuple[str, str]
) -> None:
    file, refused, good = tmp_path / "file", tmp_path / "refused", tmp_path / "good"
    file.touch()
    write_skill("silent", frontmatter="name: silent", root=refused)
    write_skill("alpha", category="docs", root=good)
    places = f"{tmp_path / 'nowhere'}:{file}:{refused}"
    local = way[0] == "stdio"
    for query in ("anything", ""):
        (none,) = asked(way, {**hub_environment, "SKILLS_DIR": places}, ("search_skills", {"query": query}))
        note = none.json["note"]
        assert "does not exist" in note
        assert "is a file, not a directory" in note
        assert "is refused: there is no description (description-missing)" in note
        assert (str(tmp_path) in note, "correct SKILLS_DIR" in note) == (local, local)
    served = {**hub_environment, "SKILLS_DIR": str(good)}
    misspelt, listed = asked(
        way,
        served,
        ("search_skills", {"query": "things", "category": "doks"}),
        ("search_skills", {"query": "", "category": "doks"}),
    )
    for said in (misspelt, listed):
        assert said.json["note"] == (
            "No skill: 'doks' is the category of no skill that is served; did you mean 'docs'? categories: docs."
        )
    (limited,) = asked(way, {**served, "SKILLHUB_ENABLED_SKILLS": "beta"}, ("search_skills", {"query": "things"}))
    assert "SKILLHUB_ENABLED_SKILLS excludes 1 skill; correct it" in limited.json["note"]


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_of_that_name_that_is_refused_or_renamed_is_told_and_over_http_without_paths(
    hub_environment: Environment, write_skill: SkillWriter, way: tuple[str, str], tmp_path: Path
) -> None:
    write_skill("good")
    write_skill("silent", frontmatter="name: silent\ndescription:")
    write_skill("pdf-kit", directory="pdf-tools")

    async def go() -> list[Said]:
        async with reached(way, hub_environment) as client:
            return [await client.call("load_skill", skill_name=name) for name in ("silent", "pdf-tools", "made-up")]

    refused, renamed, unknown = asyncio.run(go())
    assert [said.code for said in (refused, renamed, unknown)] == ["SKILL_NOT_FOUND"] * 3
    assert refused.text.startswith(
        "SKILL_NOT_FOUND: No skill is named 'silent': the SKILL.md of a folder of that name is refused at line 3: "
        "there is no description (description-missing)."
    )
    assert "the folder of that name holds 'pdf-kit'. Load it as 'pdf-kit'" in renamed.text
    assert "folder" not in unknown.text
    assert not [said for said in (refused, renamed, unknown) if str(tmp_path) in said.text]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_with_a_filter_learns_nothing_of_what_is_beyond_it(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, mode: str
) -> None:
    write_skill("secret-plans", category="secrets")
    write_skill("hushed", frontmatter="name: hushed")
    write_skill("secret-kit", directory="secret-tools")
    (write_skill("alpha", category="docs").parent / "unread" / "SKILL.md").mkdir(parents=True)
    tokens = tmp_path / "tokens.json"
    some, none = (add_token(tokens, name, skills=[name]) for name in ("alpha", "absent"))
    environment = {**hub_environment, "SKILLHUB_TOKENS_FILE": str(tokens)}
    names = ("secret-plans", "hushed", "secret-tools", "secret-kit", "unread", "skill://hub/secret-plans", "made-upxx")

    async def go(token: str) -> tuple[list[str], list[str]]:
        async with bearer(url, token, mode) as client:
            answers = [(await client.call("load_skill", skill_name=name)).text.replace(name, "X") for name in names]
            notes = [
                (await client.call("search_skills", query=query, category="secret")).json["note"]
                for query in ("plans", "")
            ]
            return answers, notes

    with listening(environment) as url:
        answers, notes = asyncio.run(go(some))
        # No name is told from another, and the categories are those of their own skills.
        assert len(set(answers)) == 1
        assert set(notes) == {"No skill: 'secret' is the category of no skill that is served; categories: docs."}
        answers, notes = asyncio.run(go(none))
        assert len(set(answers)) == 1
        assert set(notes) == {
            "No skill: this access covers no skill that is here; ask the server's operator which skills it covers."
        }
