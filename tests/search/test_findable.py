"""Which skills a search may return to each caller."""

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


def test_each_caller_finds_its_own_skills_which_are_computed_once_per_snapshot(
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


def test_a_shadowed_skill_and_one_not_for_models_are_not_found(hub: SkillHub, write_skill: SkillWriter) -> None:
    write_skill("seal", "Feeds the young seal.", directory="young-seal")
    write_skill("crab", "Feeds the crab.", extra="disable-model-invocation: true\n")
    hub.refresh()
    assert {hit.skill.description for hit in hub.search("feed").hits} == {"Feeds the walrus.", "Feeds the seal."}


@pytest.mark.slow
def test_a_rewritten_skill_stays_findable(hub: SkillHub, write_skill: SkillWriter) -> None:
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


def test_filters_and_lists_respect_the_caller_and_follow_changes(hub: SkillHub, write_skill: SkillWriter) -> None:
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


def test_a_source_restricts_the_search(hub: SkillHub) -> None:
    assert found(hub, source=Source.HUB) == {"walrus", "seal"}
    assert found(hub, source=Source.USER) == set()


def test_a_skill_not_for_models_is_never_found(hub: SkillHub, write_skill: SkillWriter) -> None:
    write_skill("otter", "Feeds the otter.", extra="disable-model-invocation: true")
    write_skill("orca", "Feeds the orca.", extra="disable-model-invocation: false")
    hub.refresh()
    assert found(hub) == {"orca", "seal", "walrus"}
