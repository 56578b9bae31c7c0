"""Which skills a search may return, for each caller, and that it is worked out once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.visibility import Visibility


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
    findable = Names.findable

    def counted(names: Names) -> tuple[Skill, ...]:
        made.append(names)
        return findable(names)

    monkeypatch.setattr(Names, "findable", counted)
    callers = {name: Visibility(frozenset({name})) for name in ("walrus", "seal")}
    for query in ("feed", "feeds"):
        for name, present[0] in callers.items():
            assert found(hub, query) == {name}
        present[0] = None
        assert found(hub, query) == {"walrus", "seal"}
    assert len(made) == 3
    write_skill("otter", "Feeds the otter.")
    hub.refresh()
    assert found(hub) == {"walrus", "seal", "otter"}
    # Of a new skill that shares its name with nobody, nothing but itself has to be looked at.
    assert len(made) == 3
    write_skill("otter", "Feeds the sea otter.", directory="sea-otter")
    hub.refresh()
    assert len(found(hub, "feed an otter")) == 3
    assert len(made) == 4


def test_after_a_change_a_policy_is_asked_about_what_changed_and_nothing_else(
    hub: SkillHub, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(hub) == {"walrus", "seal"}
    asked: list[str] = []
    offers = Policy.offers

    def noted(policy: Policy, skill: Skill) -> bool:
        asked.append(skill.name)
        return offers(policy, skill)

    monkeypatch.setattr(Policy, "offers", noted)
    write_skill("otter", "Feeds the otter.")
    hub.refresh()
    assert found(hub, "feed the") == {"walrus", "seal", "otter"}
    # After it, a search asks about its hits.
    assert asked[0] == "otter"
    assert len(asked) <= 1 + 3
    # Another policy is asked about all.
    hub.access.narrow_by(lambda: Visibility(frozenset({"seal"})))
    assert found(hub, "feed the") == {"seal"}


def test_with_a_source_its_skills_alone_are_found(hub: SkillHub) -> None:
    assert found(hub, source=Source.HUB) == {"walrus", "seal"}
    assert found(hub, source=Source.USER) == set()


def test_what_no_model_may_choose_is_in_no_search(hub: SkillHub, write_skill: SkillWriter) -> None:
    write_skill("otter", "Feeds the otter.", extra="disable-model-invocation: true")
    write_skill("orca", "Feeds the orca.", extra="disable-model-invocation: false")
    hub.refresh()
    assert found(hub) == {"orca", "seal", "walrus"}
