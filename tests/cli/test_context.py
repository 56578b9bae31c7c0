"""`skillhub context`: the catalogue, mentions and costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.disclosure.catalogue import FORMATS


@pytest.mark.acceptance("S4-1", "S4-2", "S0-37", "S0-41", "S0-42", "S0-43")
def test_a_catalogue_keeps_its_budget_in_every_format(
    skillhub: Skillhub, write_skill: SkillWriter, project: Path
) -> None:
    for number in range(12):
        write_skill(f"skill-{number:02}", "Does one thing. " * 20, root=project / ".agents" / "skills")
    options = ("--cwd", project, "--roots", "project,hub", "--json")
    for form in FORMATS:
        whole = skillhub("context", "catalogue", "--format", form, *options, SKILLHUB_TRUST="all").json
        assert (whole["skills"], whole["truncated"]) == (13, False)
        small = skillhub(
            *("context", "catalogue", "--format", form, "--max-tokens", "300"), *options, SKILLHUB_TRUST="all"
        ).json
        assert small["tokens"] <= 300
        assert small["truncated"] or small["shortened"]
        few = skillhub(
            *("context", "catalogue", "--format", form),
            *options,
            SKILLHUB_TRUST="all",
            SKILLHUB_CATALOGUE_MAX_ENTRIES="2",
        ).json
        assert (few["skills"], few["left_out"], few["truncated"]) == (2, 11, True)


@pytest.mark.acceptance("S0-72")
def test_skills_that_are_switched_off_give_no_catalogue(skillhub: Skillhub, project: Path) -> None:
    done = skillhub(
        *("context", "catalogue", "--format", "codelia", "--cwd", project, "--json"), SKILLHUB_SKILLS_ENABLED="0"
    )
    assert (done.code, done.error["setting"]) == (2, "SKILLHUB_SKILLS_ENABLED")


@pytest.mark.acceptance("S0-74")
def test_a_bound_that_is_no_number_is_reported_and_the_default_used(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("one")
    done = skillhub("context", "catalogue", SKILLHUB_CATALOGUE_MAX_ENTRIES="many")
    assert (done.code, "one" in done.out) == (0, True)
    assert "SKILLHUB_CATALOGUE_MAX_ENTRIES" in done.err


def test_the_cost_is_that_of_each_form_of_the_list(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    lists = skillhub("context", "cost", "--json").json["catalogue"]
    assert {"specification", "registry", "descriptions"} <= set(lists)
    assert all(one["tokens"] > 0 and one["left_out"] == 0 for one in lists.values() if one["skills"])
