"""How likely the first hit is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.search.builders import make_skill
from tests.search.test_ranking import index_of

from skillhub_mcp.search.likelihood import Evidence, evidence_of, likelihood
from skillhub_mcp.search.query import parse_query
from skillhub_mcp.search.ranking import Ranking, best, rank, text_scores


@pytest.mark.acceptance("S2-19")
@pytest.mark.parametrize("nearness", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("words", [1, 5, 40, 5_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_it_is_a_probability(share: float, words: int, nearness: float | None) -> None:
    assert 0.0 < likelihood(Evidence(share, words, nearness)) < 1.0


@pytest.mark.parametrize("nearness", [None, 0.3])
def test_more_of_the_question_and_nearer_in_meaning_is_likelier(nearness: float | None) -> None:
    shares = [likelihood(Evidence(share, 6, nearness)) for share in (0.05, 0.2, 0.4, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] < 0.4
    assert shares[-1] > 0.7
    assert likelihood(Evidence(0.3, 6, 0.1)) < likelihood(Evidence(0.3, 6, 0.6))


def test_as_much_of_a_longer_question_says_more() -> None:
    assert likelihood(Evidence(0.3, 3)) < likelihood(Evidence(0.3, 12))


def evidence(tmp_path: Path, text: str, *nearness: float) -> Evidence:
    index = index_of(tmp_path, [make_skill("bread", "Bake bread."), make_skill("invoice", "Write an invoice.")])
    query = parse_query(text, index.statistics, index.speller)
    words = text_scores(query, index)
    numbers = best(words, limit=9)
    known = np.array(nearness) if nearness else np.full(len(numbers), np.nan)
    ranking: Ranking = rank(words, numbers, known[: len(numbers)], meaning=1.0)
    return evidence_of(query, index.statistics, ranking)


def test_a_word_that_no_skill_has_makes_the_share_smaller(tmp_path: Path) -> None:
    whole = evidence(tmp_path / "1", "bread")
    half = evidence(tmp_path / "2", "bread Ouagadougou")
    assert (whole.words, half.words) == (1, 2)
    assert half.share < whole.share / 2 < 0.5


def test_the_nearest_of_all_hits_counts(tmp_path: Path) -> None:
    assert evidence(tmp_path / "1", "bread invoice").nearness is None
    assert evidence(tmp_path / "2", "bread invoice", 0.2, 0.7).nearness == pytest.approx(0.7)
