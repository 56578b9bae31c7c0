"""The order of hits, their scores in 0..1, and which of them are kept."""

from __future__ import annotations

import math

import pytest

from skillhub_mcp.search.ranking import NEVER_CUT, Hit, Reason, cut, full_text_match, order, scaled


def hits(*scores: float, reason: Reason = Reason.TEXT) -> list[Hit]:
    return [Hit(f"/library/{position:02}", score, reason) for position, score in enumerate(scores)]


@pytest.mark.acceptance("S2-15")
def test_the_best_comes_first_and_equal_scores_stand_by_key() -> None:
    given = [Hit("/c", 1.0, Reason.TEXT), Hit("/b", 2.0, Reason.TEXT), Hit("/a", 1.0, Reason.TEXT)]
    assert [hit.directory for hit in order(given)] == ["/b", "/a", "/c"]


@pytest.mark.acceptance("S2-16")
@pytest.mark.parametrize("count", range(NEVER_CUT + 1))
def test_five_hits_or_fewer_are_all_kept_however_weak(count: int) -> None:
    given = hits(*[100.0, 0.001, 0.001, 0.0, 0.0][:count])
    assert cut(given, threshold=1.0, limit=10) == given


@pytest.mark.acceptance("S2-17")
def test_of_more_than_five_those_below_their_share_of_the_best_are_cut() -> None:
    given = hits(10.0, 9.0, 5.0, 2.0, 1.999, 0.1)
    assert [hit.score for hit in cut(given, threshold=0.2, limit=10)] == [10.0, 9.0, 5.0, 2.0]


@pytest.mark.acceptance("S2-17")
def test_the_limit_counts_after_the_cut() -> None:
    given = hits(10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 0.1)
    assert len(cut(given, threshold=0.2, limit=3)) == 3
    assert len(cut(given, threshold=0.2, limit=100)) == 6


def test_five_hits_are_still_limited() -> None:
    assert len(cut(hits(5.0, 4.0, 3.0), threshold=0.2, limit=2)) == 2


def test_the_threshold_is_relative_to_the_best_hit() -> None:
    strong = hits(100.0, 90.0, 80.0, 30.0, 19.0, 1.0)
    weak = hits(0.1, 0.09, 0.08, 0.03, 0.019, 0.001)
    kept = [len(cut(given, threshold=0.2, limit=10)) for given in (strong, weak)]
    assert kept == [4, 4]


def test_six_hits_without_any_score_are_all_kept() -> None:
    assert len(cut(hits(*[0.0] * 6), threshold=0.2, limit=10)) == 6


def test_no_hits_stay_no_hits() -> None:
    assert order([]) == scaled([], full_match=8.0) == cut([], threshold=0.2, limit=10) == []


def test_a_weak_best_text_hit_is_shown_as_weak() -> None:
    assert scaled(hits(2.0), full_match=8.0)[0].score == pytest.approx(0.25)


def test_a_strong_best_text_hit_is_shown_as_full() -> None:
    assert [hit.score for hit in scaled(hits(40.0, 10.0), full_match=8.0)] == [1.0, 0.25]


def test_vector_scores_are_shown_as_they_are() -> None:
    assert [hit.score for hit in scaled(hits(0.8, 0.3, reason=Reason.VECTOR), full_match=8.0)] == [0.8, 0.3]


def test_a_score_below_zero_is_shown_as_zero() -> None:
    assert [hit.score for hit in scaled(hits(0.5, -0.2, reason=Reason.VECTOR), full_match=8.0)] == [0.5, 0.0]
    assert [hit.score for hit in scaled(hits(-0.5, -0.2), full_match=8.0)] == [0.0, 0.0]


def test_a_cosine_a_hair_above_one_stays_within_one() -> None:
    top = scaled(hits(math.nextafter(1.0, 2.0), 0.5, reason=Reason.VECTOR), full_match=8.0)[0].score
    assert top == 1.0


def test_a_good_match_scores_higher_where_there_is_more_to_choose_from() -> None:
    libraries = [full_text_match(skills) for skills in (0, 1, 14, 2_000, 100_000)]
    assert libraries == sorted(libraries)
    assert libraries[0] > 0
