"""The skills that a search may return are computed once for each caller, and for few of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.search.visible_skills import VisibleSkills
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.visibility import Visibility


@pytest.fixture
def hub(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[SkillHub]:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("seal", "Feeds the seal.")
    with hub_of(hub_environment) as made:
        yield made


def test_the_set_of_skills_is_made_once_for_each_caller_and_few_are_kept(
    hub: SkillHub, write_skill: SkillWriter
) -> None:
    snapshot, visible = hub.refresh().snapshot, VisibleSkills()
    callers: list[Visibility | None] = [None]
    hub.access.narrow_by(lambda: callers[0])

    def findable(*own: str) -> frozenset[str]:
        callers[0] = Visibility(frozenset(own)) if own else None
        return visible.directories(snapshot, hub.access.now())

    walrus, seal, both = findable("walrus"), findable("seal"), findable()
    assert walrus | seal == both
    assert len(walrus) == len(seal) == 1
    assert findable("walrus") is walrus
    for number in range(40):
        findable(str(number))
    assert len(visible._by_policy) == 32
    assert findable("walrus") == walrus
    write_skill("otter")
    snapshot = hub.refresh().snapshot
    assert findable("walrus") == walrus
    assert len(visible._by_policy) == 1


def test_the_set_of_one_source_is_made_once_too(hub: SkillHub) -> None:
    snapshot, policy, visible = hub.refresh().snapshot, hub.access.now(), VisibleSkills()
    of_hub = visible.directories(snapshot, policy, Source.HUB)
    assert len(of_hub) == 2
    assert visible.directories(snapshot, policy, Source.HUB) is of_hub
    assert visible.directories(snapshot, policy, Source.USER) == frozenset()


def test_what_no_model_may_choose_is_in_no_search(hub: SkillHub, write_skill: SkillWriter) -> None:
    write_skill("otter", "Feeds the otter.", extra="disable-model-invocation: true")
    write_skill("orca", "Feeds the orca.", extra="disable-model-invocation: false")
    snapshot = hub.refresh().snapshot
    policy = hub.access.now()
    found = map(snapshot.by_directory, VisibleSkills().directories(snapshot, policy))
    assert {skill.name for skill in found if skill is not None} == {"orca", "seal", "walrus"}
