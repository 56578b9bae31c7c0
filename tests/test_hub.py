"""The hub reuses an answer until something that it depends on changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import SkillWriter, own_file
from tests.hubs import hub_of
from tests.search.builders import WordEmbedder

from skillhub_mcp.hub import SearchAnswer, SkillHub
from skillhub_mcp.policy.visibility import Visibility


@pytest.fixture
def hub(hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path) -> Iterator[SkillHub]:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("seal", "Feeds the seal.")
    with hub_of(hub_environment) as made:
        yield made


def names(answer: SearchAnswer) -> set[str]:
    return {hit.skill.name for hit in answer.hits}


def found(hub: SkillHub) -> set[str]:
    """The skills that a search finds, which are those that are listed."""
    listed = {skill.name for skill in hub.skills()}
    assert names(hub.search("feed")) == listed
    return listed


def test_a_remembered_answer_is_not_shared_between_callers(hub: SkillHub) -> None:
    callers: list[Visibility | None] = [None]
    hub.access.narrow_by(lambda: callers[0])
    for _ in range(2):
        callers[0] = None
        assert found(hub) == {"walrus", "seal"}
        for own in ("seal", "walrus", "nothing"):
            callers[0] = Visibility(frozenset({own}))
            assert found(hub) == {own} & {"walrus", "seal"}


def test_a_remembered_answer_ends_with_a_change_of_files_or_choices(hub: SkillHub, write_skill: SkillWriter) -> None:
    assert found(hub) == {"walrus", "seal"}
    write_skill("otter", "Feeds the otter.")
    hub.refresh()
    assert found(hub) == {"walrus", "seal", "otter"}
    own_file("choices.json").write_text(json.dumps({"format": 1, "user": {"seal": False}}), encoding="utf-8")
    assert found(hub) == {"walrus", "otter"}


def test_an_answer_without_the_failed_provider_is_not_remembered(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = WordEmbedder(dimension=64)
    monkeypatch.setattr("skillhub_mcp.bootstrap.hub.choose_embedder", lambda _: embedder)
    write_skill("walrus", "feed the walrus")
    with hub_of(hub_environment) as hub:
        hub.refresh()
        embedder.fails = True
        first = hub.search("walrus")
        assert names(first) == {"walrus"}
        assert hub.search("walrus") is not first


def test_an_explained_search_finds_the_same_hits(hub: SkillHub) -> None:
    plain = hub.search("feed")
    explained = hub.search("feed", explain=True)
    assert all(hit.contributions for hit in explained.hits)
    assert replace(explained, hits=tuple(replace(hit, contributions=()) for hit in explained.hits)) == plain


def test_a_skill_reread_since_it_was_found_is_audited_by_name(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.jsonl"
    write_skill("pdf")
    with hub_of({**hub_environment, "SKILLHUB_AUDIT_LOG": str(audit)}) as hub:
        for description in ("Does it better.", "Does it best."):
            found = hub.find("pdf")
            write_skill("pdf", description)
            hub.refresh()
            assert hub.find("pdf") is not found
            assert description.encode() in hub.read_bytes(found, "SKILL.md", max_bytes=10_000)
    noted = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    assert [(line["skill"], line["source"]) for line in noted] == [("pdf", "hub")] * 2


def test_the_hub_has_at_most_twenty_public_methods() -> None:
    public = [name for name, member in vars(SkillHub).items() if callable(member) and not name.startswith("_")]
    assert len(public) <= 20
