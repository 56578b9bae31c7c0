"""Full-text candidates from postings in memory: which, how many, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pytest
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.index.features import decode_features, encode_features
from skillhub_mcp.index.postings import Postings


def find(
    texts: Collection[str],
    query: str,
    *,
    limit: int = 10,
    among: Collection[int] | None = None,
    rarity: Mapping[str, float] | None = None,
) -> list[int]:
    """The numbers of the texts that are found, of all or `among` some; each term is as rare as any without `rarity`."""
    postings = Postings([decode_features(encode_features(make_skill("skill", text), "").encoded) for text in texts])
    members = np.array([among is None or number in among for number in range(len(texts))], dtype=bool)
    return postings.find(
        terms(query), limit=limit, among=members, rarity=lambda term: 1.0 if rarity is None else rarity[term]
    )


def test_the_skill_with_more_of_the_words_comes_first() -> None:
    texts = ("Paints walls.", "Paints walls and doors and windows.", "Mends pipes.")
    assert find(texts, "walls doors") == [1, 0]


def test_of_two_with_a_word_as_often_the_shorter_comes_first() -> None:
    assert find(("Walls and doors and windows and floors.", "Walls."), "walls") == [1, 0]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    rarity = {terms("walls")[0]: 0.1, terms("doors")[0]: 3.0}
    assert find(("Paints walls.", "Paints doors."), "walls doors", rarity=rarity) == [1, 0]


def test_no_more_than_the_limit_is_found_and_only_among_those_that_may_be() -> None:
    texts = ["Paints walls."] * 9
    assert find(texts, "walls", limit=4) == [0, 1, 2, 3]
    assert find(texts, "walls", limit=4, among=[7, 5]) == [5, 7]


@pytest.mark.parametrize("query", ["pipes", "", "🦀", "the of"])
def test_a_term_that_no_skill_has_finds_nothing(query: str) -> None:
    assert find(["Paints walls."], query) == []


def test_a_library_without_skills_finds_nothing() -> None:
    assert find([], "walls") == []
