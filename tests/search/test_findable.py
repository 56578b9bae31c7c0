"""Which skills a search may return, for each caller, and that it is worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source


@pytest.fixture
def hub(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[SkillHub]:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("seal", "Feeds the seal.")
    with hub_of(hub_environment) as made:
        yield made


def found(hub: SkillHub, query: str = "feed", *, source: Source | None = None) -> set[str]:
    answer = hub.search(query, source=source)
    assert answer.searched == len(answer.hits)
    return {hit.handle for hit in answer.hits}


def test_each_caller_finds_its_own_skills_and_those_are_worked_out_once_for_each_view(
    hub: SkillHub, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    present: list[Visibility | None] = [None]
    hub.access.narrow_by(lambda: present[0])
    made: list[Names] = []
    every = Names.findable

    def counted(names: Names) -> tuple[Skill, ...]:
        made.append(names)
        return every(names)

    monkeypatch.setattr(Names, "findable", counted)
    callers = {name: Visibility(frozenset({name})) for name in ("walrus", "seal")}
    everything = Visibility(frozenset({"walrus", "seal", "otter"}))
    for query in ("feed", "feeds"):
        for name, present[0] in callers.items():
            assert found(hub, query) == {name}
        present[0] = everything
        assert found(hub, query) == {"walrus", "seal"}
    assert len(made) == 3
    write_skill("otter", "Feeds the otter.")
    hub.refresh()
    assert found(hub) == {"walrus", "seal", "otter"}


def test_of_two_skills_with_one_name_and_one_for_people_only_a_search_finds_the_first_of_the_name(
    hub: SkillHub, write_skill: SkillWriter
) -> None:
    write_skill("seal", "Feeds the young seal.", directory="young-seal")
    write_skill("crab", "Feeds the crab.", extra="disable-model-invocation: true\n")
    hub.refresh()
    assert {hit.skill.description for hit in hub.search("feed").hits} == {"Feeds the walrus.", "Feeds the seal."}


@pytest.mark.slow
def test_a_skill_that_is_written_anew_stays_among_those_that_are_found(hub: SkillHub, write_skill: SkillWriter) -> None:
    for description in ("Feeds the seal.", "Feeds the seal fish.", "Feeds the seal more fish."):
        write_skill("seal", description)
        hub.refresh()
        assert found(hub, "feed") == {"walrus", "seal"}
    write_skill("seal", "Feeds the seal.", extra="disable-model-invocation: true")
    hub.refresh()
    assert found(hub, "feed") == {"walrus"}
    write_skill("seal", "Feeds the seal.")
    hub.refresh()
    assert found(hub, "feed") == {"walrus", "seal"}


def test_a_filter_and_a_list_are_those_of_each_caller_and_follow_the_skills(
    hub: SkillHub, write_skill: SkillWriter
) -> None:
    present: list[Visibility | None] = [None]
    hub.access.narrow_by(lambda: present[0])
    callers = {None: {"walrus", "seal"}, Visibility(frozenset({"walrus", "otter"})): {"walrus"}}
    for name in ("walrus", "seal"):
        write_skill(name, f"Feeds the {name}.", tags="water", category="zoo")
    hub.refresh()

    def found(query: str, **where: Any) -> set[str]:
        return {hit.handle for hit in hub.search(query, **where).hits}

    for round_ in range(2):
        for present[0], wanted in callers.items():
            assert found("feeds", tags=["water"]) == found("feed", tags=["Water"]) == wanted
            assert found("feed", category="zoo", tags=["water"]) == wanted
            assert found("feed", tags=["air"]) == set()
            assert found("") == wanted
        if not round_:
            write_skill("otter", "Feeds the otter.", tags="water", category="zoo")
            hub.refresh()
            callers = {who: wanted | {"otter"} for who, wanted in callers.items()}


def test_with_a_source_its_skills_alone_are_found(hub: SkillHub) -> None:
    assert found(hub, source=Source.HUB) == {"walrus", "seal"}
    assert found(hub, source=Source.USER) == set()


def test_what_no_model_may_choose_is_in_no_search(hub: SkillHub, write_skill: SkillWriter) -> None:
    write_skill("otter", "Feeds the otter.", extra="disable-model-invocation: true")
    write_skill("orca", "Feeds the orca.", extra="disable-model-invocation: false")
    hub.refresh()
    assert found(hub) == {"orca", "seal", "walrus"}
