"""Whether the best hit fits, and which hits are kept."""

from __future__ import annotations

import pytest

from skillhub_mcp.search.hits import NEVER_CUT, Hit, Reason, confident, cut_tail


def hits(*scores: float) -> list[Hit]:
    return [Hit(f"/library/{position:02}", score, Reason.TEXT) for position, score in enumerate(scores)]


def test_no_hits_are_not_confident() -> None:
    assert not confident([], threshold=0.0)


@pytest.mark.parametrize(("threshold", "expected"), [(0.0, True), (0.5, True), (0.51, False), (1.0, False)])
def test_the_threshold_decides_confidence(threshold: float, *, expected: bool) -> None:
    assert confident(hits(0.5, 0.1), threshold=threshold) is expected


@pytest.mark.acceptance("S2-16")
@pytest.mark.parametrize("count", range(NEVER_CUT + 1))
def test_up_to_five_hits_are_never_cut(count: int) -> None:
    given = hits(*[1.0, 0.001, 0.001, 0.0, 0.0][:count])
    assert cut_tail(given, threshold=1.0, limit=10) == given


@pytest.mark.acceptance("S2-17")
def test_more_than_five_hits_are_cut_below_the_threshold() -> None:
    given = hits(1.0, 0.9, 0.5, 0.2, 0.1999, 0.01)
    assert [hit.score for hit in cut_tail(given, threshold=0.2, limit=10)] == [1.0, 0.9, 0.5, 0.2]


@pytest.mark.acceptance("S2-17")
def test_the_threshold_is_relative_to_the_best_score() -> None:
    given = hits(0.5, 0.4, 0.25, 0.125, 0.12, 0.01)
    assert [hit.score for hit in cut_tail(given, threshold=0.25, limit=10)] == [0.5, 0.4, 0.25, 0.125]
    assert cut_tail(hits(0.05, 0.04, 0.04, 0.04, 0.04, 0.04), threshold=0.5, limit=10)[-1].score == 0.04


@pytest.mark.acceptance("S2-17")
def test_the_limit_applies_after_the_cut() -> None:
    given = hits(1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.01)
    assert len(cut_tail(given, threshold=0.2, limit=3)) == 3
    assert len(cut_tail(given, threshold=0.2, limit=100)) == 6


def test_five_hits_are_still_limited() -> None:
    assert len(cut_tail(hits(0.5, 0.4, 0.3), threshold=0.2, limit=2)) == 2


def test_hits_that_all_score_zero_are_kept() -> None:
    assert len(cut_tail(hits(*[0.0] * 6), threshold=0.2, limit=10)) == 6
