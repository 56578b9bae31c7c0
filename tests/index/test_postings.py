"""Full-text candidates from postings in memory, compared with those of LanceDB."""

from __future__ import annotations

import pytest
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.index.features import decode_features, encode_features
from skillhub_mcp.index.postings import Postings

WORDS = ("invoice", "review", "stamp", "coin", "letter", "map", "key", "chart", "table", "query", "deploy", "summary")


def postings_of(*texts: str) -> Postings:
    skills = [make_skill(f"skill-{number}", text) for number, text in enumerate(texts)]
    return Postings(
        [skill.name for skill in skills], [decode_features(encode_features(skill, "").encoded) for skill in skills]
    )


def find(postings: Postings, query: str, *, limit: int = 10, among: frozenset[str] | None = None) -> list[str]:
    everyone = frozenset(f"skill-{number}" for number in range(100))
    return postings.find(terms(query), limit=limit, among=among or everyone, rarity=lambda _: 1.0)


def test_the_skill_with_more_of_the_words_comes_first() -> None:
    postings = postings_of("Paints walls.", "Paints walls and doors and windows.", "Mends pipes.")
    assert find(postings, "walls doors") == ["skill-1", "skill-0"]


def test_of_two_with_a_word_as_often_the_shorter_comes_first() -> None:
    assert find(postings_of("Walls and doors and windows and floors.", "Walls."), "walls") == ["skill-1", "skill-0"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    postings = postings_of("Paints walls.", "Paints doors.")
    rarity = {terms("walls")[0]: 0.1, terms("doors")[0]: 3.0}
    found = postings.find(
        terms("walls doors"), limit=2, among=frozenset({"skill-0", "skill-1"}), rarity=rarity.__getitem__
    )
    assert found == ["skill-1", "skill-0"]


def test_no_more_than_the_limit_is_found_and_only_among_those_that_may_be() -> None:
    postings = postings_of(*["Paints walls."] * 9)
    assert find(postings, "walls", limit=4) == ["skill-0", "skill-1", "skill-2", "skill-3"]
    assert find(postings, "walls", limit=4, among=frozenset({"skill-7", "skill-5"})) == ["skill-5", "skill-7"]


@pytest.mark.parametrize("query", ["pipes", "", "🦀", "the of"])
def test_a_term_that_no_skill_has_finds_nothing(query: str) -> None:
    assert find(postings_of("Paints walls."), query) == []


def test_a_library_without_skills_finds_nothing() -> None:
    assert find(postings_of(), "walls") == []


def test_among_others_than_before_others_are_found() -> None:
    postings = postings_of("Paints walls.", "Paints walls.")
    first, second = frozenset({"skill-0"}), frozenset({"skill-1"})
    assert [find(postings, "walls", among=among) for among in (first, second, first)] == [
        ["skill-0"],
        ["skill-1"],
        ["skill-0"],
    ]
