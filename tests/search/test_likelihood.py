"""How likely the first hit is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.search.builders import make_skill
from tests.search.test_ranking import index_of

from skillhub_mcp.search.likelihood import Evidence, evidence_of, likelihood
from skillhub_mcp.search.query import parse_query
from skillhub_mcp.search.ranking import best, rank, text_scores


@pytest.mark.acceptance("S2-19")
@pytest.mark.parametrize("ahead", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("words", [1, 5, 40, 5_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_it_is_a_probability(share: float, words: int, ahead: float) -> None:
    assert 0.0 < likelihood(Evidence(share, words, ahead, ahead)) < 1.0


def test_more_of_the_question_is_likelier() -> None:
    shares = [likelihood(Evidence(share, 6, 0.1, 0.3)) for share in (0.05, 0.2, 0.4, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-1] > 0.8


def test_as_much_of_a_longer_question_says_more() -> None:
    assert likelihood(Evidence(0.3, 3, 0.1, 0.3)) < likelihood(Evidence(0.3, 12, 0.1, 0.3))


def test_farther_ahead_of_the_others_is_likelier() -> None:
    assert likelihood(Evidence(0.3, 6, 0.0, 0.3)) < likelihood(Evidence(0.3, 6, 0.2, 0.3))
    assert likelihood(Evidence(0.3, 6, 0.1, 0.2)) < likelihood(Evidence(0.3, 6, 0.1, 0.5))


def evidence(tmp_path: Path, text: str) -> Evidence:
    index = index_of(tmp_path, [make_skill("bread", "Bake bread."), make_skill("invoice", "Write an invoice.")])
    query = parse_query(text, index.statistics, index.speller)
    words = text_scores(query, index)
    numbers = best(words, limit=9)
    ranking = rank(words, numbers, np.full(len(numbers), np.nan), meaning=1.0)
    return evidence_of(query, index.statistics, ranking)


def test_a_word_that_no_skill_has_makes_the_share_smaller(tmp_path: Path) -> None:
    whole = evidence(tmp_path / "1", "bread")
    half = evidence(tmp_path / "2", "bread Ouagadougou")
    assert (whole.words, half.words) == (1, 2)
    assert half.share < whole.share / 2 < 0.5


def test_it_says_how_far_the_second_and_the_fifth_are_behind(tmp_path: Path) -> None:
    alone = evidence(tmp_path / "1", "bread")
    assert (alone.over_second, alone.over_fifth) == (1.0, 1.0)
    tied = evidence(tmp_path / "2", "bread invoice")
    assert 0.0 <= tied.over_second < 0.5
    assert tied.over_fifth == 1.0
