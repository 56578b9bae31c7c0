"""Empty results: the cause, for callers who may know it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import Said, reached, ways

pytestmark = pytest.mark.slow

Environment = dict[str, str]


def asked(way: tuple[str, str], environment: Environment, *calls: tuple[str, dict[str, str]]) -> list[Said]:
    async def go() -> list[Said]:
        async with reached(way, environment) as client:
            return [await client.call(tool, **arguments) for tool, arguments in calls]

    return asyncio.run(go())


@ways
def test_an_empty_search_names_the_cause_but_no_path_over_http(
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
