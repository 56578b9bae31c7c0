"""How likely the first hit is right."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.search.builders import candidates_of, make_skill, search_index

from skillhub_mcp.search.likelihood import Evidence, Meaning, evidence_of, likelihood
from skillhub_mcp.search.query import parse_query
from skillhub_mcp.search.ranking import best, rank, text_scores

NO_VECTOR = math.nan


@pytest.mark.acceptance("S2-19")
@pytest.mark.parametrize("meaning", Meaning)
@pytest.mark.parametrize("skills", [1, 20, 2_000, 1_000_000])
@pytest.mark.parametrize("near", [NO_VECTOR, 0.0, 1.0])
@pytest.mark.parametrize("words", [1, 40, 5_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_likelihood_is_a_probability(share: float, words: int, near: float, skills: int, meaning: Meaning) -> None:
    assert 0.0 < likelihood(Evidence(share, words, near, skills), meaning) < 1.0


@pytest.mark.parametrize("near", [NO_VECTOR, 0.3])
@pytest.mark.parametrize("meaning", Meaning)
def test_a_larger_share_of_the_question_is_likelier(near: float, meaning: Meaning) -> None:
    shares = [likelihood(Evidence(share, 6, near, 2_000), meaning) for share in (0.05, 0.2, 0.4, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-1] > 0.8


def test_the_same_share_of_a_longer_question_is_likelier() -> None:
    assert likelihood(Evidence(0.3, 3, 0.3, 2_000)) < likelihood(Evidence(0.3, 12, 0.3, 2_000))


@pytest.mark.parametrize("meaning", Meaning)
def test_a_nearer_hit_is_likelier(meaning: Meaning) -> None:
    nearer = [likelihood(Evidence(0.3, 6, near, 2_000), meaning) for near in (0.0, 0.3, 0.9)]
    assert nearer == sorted(nearer)
    assert nearer[0] < nearer[-1] - 0.1


def test_nearness_by_a_sentence_encoder_weighs_more() -> None:
    def said(meaning: Meaning) -> float:
        far, near = (likelihood(Evidence(0.25, 6, near, 2_000), meaning) for near in (0.0, 0.8))
        return near - far

    assert said(Meaning.SENTENCES) > said(Meaning.WORDS)


@pytest.mark.parametrize("near", [NO_VECTOR, 0.3])
@pytest.mark.parametrize("meaning", Meaning)
def test_the_same_hit_is_less_likely_among_more_skills(near: float, meaning: Meaning) -> None:
    twenty, thousands, many = (likelihood(Evidence(0.3, 6, near, skills), meaning) for skills in (20, 2_000, 100_000))
    assert twenty > thousands == many


def evidence(tmp_path: Path, text: str, near: float = NO_VECTOR) -> Evidence:
    skills = [make_skill("bread", "Bake bread."), make_skill("invoice", "Write an invoice.")]
    index = search_index(tmp_path, skills)
    query = parse_query(text, index.statistics)
    words = text_scores(query, candidates_of(index, query, skills))
    numbers = best(words, limit=9)
    ranking = rank(words, numbers, np.full(len(numbers), near), meaning=1.0)
    return evidence_of(query, index.statistics, ranking, skills=2)


@pytest.mark.slow
def test_an_unknown_word_lowers_the_share(tmp_path: Path) -> None:
    whole = evidence(tmp_path / "1", "bread")
    half = evidence(tmp_path / "2", "bread Ouagadougou")
    assert (whole.words, half.words) == (1, 2)
    assert half.share < whole.share / 2 < 0.5


def test_the_nearness_is_that_of_the_first_hit(tmp_path: Path) -> None:
    assert math.isnan(evidence(tmp_path / "1", "bread").nearness)
    assert evidence(tmp_path / "2", "bread", near=0.4).nearness == pytest.approx(0.4)


@pytest.mark.slow
def test_a_word_without_a_translation_counts_less_than_an_unknown_one(tmp_path: Path) -> None:
    translated = evidence(tmp_path / "1", "una receta para bread")
    untranslated = evidence(tmp_path / "2", "una receta para bread Uagadugú")
    unknown = evidence(tmp_path / "3", "bread Uagadugú")
    assert (untranslated.words, unknown.words) == (translated.words + 1, 2)
    assert translated.share > untranslated.share
    assert untranslated.share / translated.share > unknown.share / evidence(tmp_path / "4", "bread").share
