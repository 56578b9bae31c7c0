"""The hub remembers what it was just asked, as long as nothing that the answer depends on has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.search.builders import WordEmbedder

from skillhub_mcp.hub import SearchAnswer, SkillHub
from skillhub_mcp.search.rerankers import make_reranker
from skillhub_mcp.search.searcher import Searcher
from skillhub_mcp.skills.visibility import Visibility


@pytest.fixture
def hub(hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path) -> Iterator[SkillHub]:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("seal", "Feeds the seal.")
    with hub_of({**hub_environment, "SKILLHUB_CHOICES": str(tmp_path / "choices.json")}) as made:
        yield made


def names(answer: SearchAnswer) -> set[str]:
    return {hit.skill.name for hit in answer.hits}


def test_a_question_that_was_just_answered_does_not_ask_the_index_again(hub: SkillHub) -> None:
    first = hub.search("feed")
    assert names(first) == {"walrus", "seal"}
    assert hub.search("  feed ") is first
    assert hub.search("feed", limit=1) is not first
    assert hub.search("feed", category="animals") is not first
    assert hub.search("feed") is first


def test_a_changed_library_answers_anew(hub: SkillHub, write_skill: SkillWriter) -> None:
    assert names(hub.search("feed")) == {"walrus", "seal"}
    write_skill("otter", "Feeds the otter.")
    hub.refresh()
    assert names(hub.search("feed")) == {"walrus", "seal", "otter"}


def test_a_skill_that_was_switched_off_is_in_no_answer_that_was_given_before(hub: SkillHub, tmp_path: Path) -> None:
    assert names(hub.search("feed")) == {"walrus", "seal"}
    (tmp_path / "choices.json").write_text(json.dumps({"format": 1, "user": {"seal": False}}), encoding="utf-8")
    assert names(hub.search("feed")) == {"walrus"}


def test_nobody_is_given_an_answer_that_was_made_for_somebody_else(hub: SkillHub) -> None:
    callers: list[Visibility | None] = [None]
    hub.access.narrow_by(lambda: callers[0])

    def found(*own: str) -> set[str]:
        callers[0] = Visibility(frozenset(own)) if own else None
        return names(hub.search("feed"))

    for _ in range(2):
        assert found() == {"walrus", "seal"}
        assert found("seal") == {"seal"}
        assert found("walrus") == {"walrus"}
        assert found("nothing") == set()


def test_an_answer_without_the_provider_that_failed_is_not_given_again(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = WordEmbedder(dimension=64)
    monkeypatch.setattr("skillhub_mcp.bootstrap.choose_embedder", lambda _: embedder)
    write_skill("walrus", "feed the walrus")
    with hub_of(hub_environment) as hub:
        hub.refresh()
        embedder.fails = True
        first = hub.search("walrus")
        assert names(first) == {"walrus"}
        assert hub.search("walrus") is not first


def test_words_are_answered_at_once_when_their_index_is_in_memory(hub: SkillHub) -> None:
    assert hub.search_at_once("feed") is None
    found = hub.search("feed")
    assert hub.search_at_once("feed") is found
    fresh = hub.search_at_once("seal", limit=1)
    assert fresh is not None
    assert names(fresh) == {"seal"}
    assert hub.search("seal", limit=1) is fresh


@pytest.mark.parametrize(("query", "limit"), [("", 10), ("!?", 10), ("seal " * 50, 10), ("seal", 0), ("seal", 101)])
def test_what_may_take_longer_or_is_refused_is_not_answered_at_once(hub: SkillHub, query: str, limit: int) -> None:
    hub.search("feed")
    assert hub.search_at_once("seal") is not None
    assert hub.search_at_once(query, limit=limit) is None


def test_an_answer_at_once_asks_no_table_not_even_for_a_skill_by_its_name(hub: SkillHub) -> None:
    hub.search("feed")
    _, index = hub._live.searchable()
    index._table = None
    answer = hub.search_at_once("walrus")
    assert answer is not None
    assert names(answer) == {"walrus"}


def test_a_caller_whose_skills_were_not_sorted_out_yet_is_not_answered_at_once(hub: SkillHub) -> None:
    hub.search("feed")
    hub.access.narrow_by(lambda: Visibility(frozenset({"seal"})))
    assert hub.search_at_once("feed") is None
    assert names(hub.search("feed")) == {"seal"}
    answer = hub.search_at_once("feeds")
    assert answer is not None
    assert names(answer) == {"seal"}


def test_what_a_provider_or_a_log_is_asked_for_is_not_answered_at_once(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with hub_of({**hub_environment, "SKILLHUB_USAGE_LOG": str(tmp_path / "usage.jsonl")}) as logging:
        assert names(logging.search("feed")) == {"walrus"}
        assert logging.search_at_once("feed") is None
    with hub_of(hub_environment) as made:
        made.search("feed")
        _, index = made._live.searchable()
        model = make_reranker("openai", model=None, api_key="sk-none", base_url=None)
        assert Searcher().asks_nobody(index)
        assert not Searcher(model=model).asks_nobody(index)
    monkeypatch.setattr("skillhub_mcp.bootstrap.choose_embedder", lambda _: WordEmbedder(dimension=64))
    with hub_of(hub_environment) as near:
        near.refresh()
        assert names(near.search("walrus")) == {"walrus"}
        assert near.search_at_once("walrus") is None


def test_an_explained_search_tells_what_the_same_search_without_finds(hub: SkillHub) -> None:
    plain = hub.search("feed")
    explained = hub.search("feed", explain=True)
    assert all(hit.contributions for hit in explained.hits)
    assert replace(explained, hits=tuple(replace(hit, contributions=()) for hit in explained.hits)) == plain
    assert hub.search("feed") is plain


def test_the_set_of_skills_is_made_once_for_each_caller_and_few_are_kept(
    hub: SkillHub, write_skill: SkillWriter
) -> None:
    snapshot = hub.refresh().snapshot
    callers: list[Visibility | None] = [None]
    hub.access.narrow_by(lambda: callers[0])

    def findable(*own: str) -> frozenset[str]:
        callers[0] = Visibility(frozenset(own)) if own else None
        return hub._findable(snapshot, hub.access.now())

    walrus, seal, both = findable("walrus"), findable("seal"), findable()
    assert walrus | seal == both
    assert len(walrus) == len(seal) == 1
    assert findable("walrus") is walrus
    for number in range(40):
        findable(str(number))
    assert hub._served is not None
    assert len(hub._served[1]) == 32
    assert findable("walrus") == walrus
    write_skill("otter")
    snapshot = hub.refresh().snapshot
    assert findable("walrus") == walrus
    assert len(hub._served[1]) == 1
