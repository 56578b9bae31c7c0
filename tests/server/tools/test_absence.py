"""Empty results: the cause, for callers who may know it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import reached, two_ways

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


@two_ways
async def test_an_empty_search_names_the_cause_but_no_path_over_http(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, way: tuple[str, str]
) -> None:
    file, refused, good = tmp_path / "file", tmp_path / "refused", tmp_path / "good"
    file.touch()
    write_skill("silent", frontmatter="name: silent", root=refused)
    write_skill("alpha", category="docs", root=good)
    local = way[0] == "stdio"

    async def note(environment: Environment, **arguments: str) -> str:
        async with reached(way, environment) as client:
            return str((await client.call("search_skills", **arguments)).json["note"])

    nothing = await note({**hub_environment, "SKILLS_DIR": f"{tmp_path / 'nowhere'}:{file}:{refused}"}, query="x")
    assert "does not exist" in nothing
    assert "is a file, not a directory" in nothing
    assert "is refused: there is no description (description-missing)" in nothing
    assert (str(tmp_path) in nothing, "correct SKILLS_DIR" in nothing) == (local, local)
    served = {**hub_environment, "SKILLS_DIR": str(good)}
    assert await note(served, query="things", category="doks") == (
        "No skill: 'doks' is the category of no skill that is served; did you mean 'docs'? categories: docs."
    )
    limited = await note({**served, "SKILLHUB_ENABLED_SKILLS": "beta"}, query="things")
    assert "SKILLHUB_ENABLED_SKILLS excludes 1 skill; correct it" in limited
