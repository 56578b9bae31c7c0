"""How well the best fits, the order of hits, and which of them are kept."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.builders import make_skill

from skillhub_mcp.index.candidate import Candidate
from skillhub_mcp.index.features import decode_features, encode_features
from skillhub_mcp.search.ranking import HALF, NEVER_CUT, Hit, Reason, confident, cut_tail, rank
from skillhub_mcp.search.scoring import Scores

PARTS = decode_features(encode_features(make_skill("x"), "").encoded)


def hits(*scores: float) -> list[Hit]:
    return [Hit(f"/library/{position:02}", score, Reason.TEXT) for position, score in enumerate(scores)]


def candidates(*nearness: float | None) -> list[Candidate]:
    return [Candidate(f"/library/{position:02}", PARTS, near) for position, near in enumerate(nearness)]


def scores(words: list[float], coverage: list[float] | None = None) -> Scores:
    nothing = np.zeros(len(words))
    covered = nothing if coverage is None else np.array(coverage)
    return Scores(np.array(words), nothing, nothing, covered, np.zeros((0, len(words))))


@pytest.mark.acceptance("S2-15")
def test_the_best_comes_first_and_equal_scores_stand_by_key() -> None:
    given = rank(candidates(None, None, None), scores([5.0, 9.0, 5.0]), [0.5, 1.0, 0.5], skills=100)
    assert [hit.directory for hit in given] == ["/library/01", "/library/00", "/library/02"]


@pytest.mark.acceptance("S2-19")
@pytest.mark.parametrize("skills", [0, 1, 100, 100_000])
def test_scores_lie_between_0_and_1_and_keep_the_ratios_of_the_totals(skills: int) -> None:
    found = rank(candidates(None, None), scores([400.0, 100.0]), [1.2, 0.3], skills=skills)
    assert found[0].score <= 1.0
    assert found[1].score == pytest.approx(found[0].score / 4)


def test_the_best_of_those_that_fit_fully_shows_a_whole() -> None:
    for total in (0.1 + 0.2, 1.1, 1.2345678901, 7 / 3):
        assert rank(candidates(None, None), scores([400.0, 1.0]), [total, 0.1], skills=10)[0].score == 1.0


def test_a_score_means_the_same_whatever_the_size_of_the_library() -> None:
    # A word's weight grows with the logarithm of the library's size.
    small = rank(candidates(None), scores([20.0]), [1.0], skills=99)
    large = rank(candidates(None), scores([40.0]), [1.0], skills=9_999)
    assert small[0].score == pytest.approx(large[0].score)


def test_few_words_in_common_are_a_near_miss_and_many_a_fit() -> None:
    weak = rank(candidates(None), scores([5.0], [0.2]), [1.0], skills=2_000)
    strong = rank(candidates(None), scores([60.0], [0.2]), [1.0], skills=2_000)
    assert weak[0].score < HALF <= strong[0].score
    assert (weak[0].fits, strong[0].fits) == (False, True)


def test_a_short_question_that_a_description_covers_fits() -> None:
    (hit,) = rank(candidates(None), scores([5.0], [0.9]), [1.0], skills=2_000)
    assert hit.fits
    (whole,) = rank(candidates(None), scores([5.0], [1.0]), [1.0], skills=2_000)
    assert whole.score == 1.0


def test_what_shares_no_word_is_no_hit_unless_a_vector_found_it() -> None:
    found = rank(candidates(None, None, 0.4), scores([7.0, 0.0, 0.0]), [1.0, 0.1, 0.05], skills=10)
    assert [(hit.directory, hit.reason) for hit in found] == [
        ("/library/00", Reason.TEXT),
        ("/library/02", Reason.VECTOR),
    ]


def test_meaning_alone_is_scored_by_cosine_and_not_below_zero() -> None:
    found = rank(candidates(0.25, 0.75, -0.5), scores([0.0] * 3), [0.0] * 3, skills=10, meaning_alone=True)
    assert [hit.score for hit in found] == [0.75, 0.25, 0.0]
    assert {hit.reason for hit in found} == {Reason.VECTOR}


def test_meaning_without_any_word_is_at_most_a_near_miss() -> None:
    (hit,) = rank(candidates(0.9), scores([0.0]), [0.2], skills=10)
    assert 0.0 < hit.score < HALF


@pytest.mark.parametrize(("nearest", "times"), [(0.27, 1.0), (0.09, 1 / 3), (0.54, 2.0), (-0.1, 0.0), (None, 1.0)])
def test_text_counts_as_much_as_the_nearest_is_near_beside_what_is_usual(nearest: float | None, times: float) -> None:
    def best(usual: float | None) -> float:
        found = rank(candidates(None, nearest), scores([9.0, 3.0]), [1.0, 0.5], skills=2_000, usual_nearness=usual)
        return found[0].score

    assert 0.0 < best(None) < HALF
    assert best(0.27) == pytest.approx(best(None) * times)


def test_a_near_miss_by_words_is_not_lifted_by_its_nearness() -> None:
    def score_of(nearness: float | None) -> float:
        return rank(candidates(nearness), scores([2.0]), [1.0], skills=2_000)[0].score

    assert 0.0 < score_of(None) < 0.1
    assert score_of(0.9) == score_of(None)


def test_no_candidates_are_no_hits() -> None:
    assert rank([], scores([]), [], skills=10) == []
    assert not confident([], threshold=0.0)


@pytest.mark.parametrize(("threshold", "expected"), [(0.0, True), (0.5, True), (0.51, False), (1.0, False)])
def test_whether_the_best_fits_is_a_matter_of_the_threshold(threshold: float, *, expected: bool) -> None:
    assert confident(hits(0.5, 0.1), threshold=threshold) is expected


@pytest.mark.acceptance("S2-16")
@pytest.mark.parametrize("count", range(NEVER_CUT + 1))
def test_five_hits_or_fewer_are_all_kept_however_weak(count: int) -> None:
    given = hits(*[1.0, 0.001, 0.001, 0.0, 0.0][:count])
    assert cut_tail(given, threshold=1.0, limit=10) == given


@pytest.mark.acceptance("S2-17")
def test_of_more_than_five_those_below_their_share_of_the_best_are_cut() -> None:
    given = hits(1.0, 0.9, 0.5, 0.2, 0.1999, 0.01)
    assert [hit.score for hit in cut_tail(given, threshold=0.2, limit=10)] == [1.0, 0.9, 0.5, 0.2]


@pytest.mark.acceptance("S2-17")
def test_the_share_is_of_the_best_and_not_of_a_whole() -> None:
    given = hits(0.5, 0.4, 0.25, 0.125, 0.12, 0.01)
    assert [hit.score for hit in cut_tail(given, threshold=0.25, limit=10)] == [0.5, 0.4, 0.25, 0.125]
    assert cut_tail(hits(0.05, 0.04, 0.04, 0.04, 0.04, 0.04), threshold=0.5, limit=10)[-1].score == 0.04


@pytest.mark.acceptance("S2-17")
def test_the_limit_counts_after_the_cut() -> None:
    given = hits(1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.01)
    assert len(cut_tail(given, threshold=0.2, limit=3)) == 3
    assert len(cut_tail(given, threshold=0.2, limit=100)) == 6


def test_five_hits_are_still_limited() -> None:
    assert len(cut_tail(hits(0.5, 0.4, 0.3), threshold=0.2, limit=2)) == 2


def test_six_hits_without_any_score_are_all_kept() -> None:
    assert len(cut_tail(hits(*[0.0] * 6), threshold=0.2, limit=10)) == 6
