"""What holds for every list of hits."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.search.ranking import NEVER_CUT, Hit, Reason, cut, order, scaled

SCORES = st.one_of(st.floats(min_value=0.0, max_value=1e6, allow_subnormal=False), st.sampled_from([0.0, 1.0, 8.0]))
THRESHOLDS = st.floats(min_value=0.0, max_value=1.0)


@st.composite
def hit_lists(draw: st.DrawFn) -> list[Hit]:
    keys = draw(st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=30))
    reason = draw(st.sampled_from(list(Reason)))
    highest = 1.0 if reason is Reason.VECTOR else 1e6
    return [Hit(f"/{key}", min(draw(SCORES), highest), reason) for key in keys]


@given(hit_lists(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(hits: list[Hit], chance: random.Random) -> None:
    shuffled = list(hits)
    chance.shuffle(shuffled)
    assert order(shuffled) == order(hits)
    assert sorted(hit.directory for hit in order(hits)) == sorted(hit.directory for hit in hits)


@given(hit_lists())
def test_scores_fall_and_ties_stand_by_key(hits: list[Hit]) -> None:
    ordered = order(hits)
    for before, after in itertools.pairwise(ordered):
        assert before.score > after.score or (before.score == after.score and before.directory < after.directory)


@given(hit_lists())
def test_scaled_scores_are_within_0_and_1_and_keep_their_order(hits: list[Hit]) -> None:
    ordered = order(hits)
    shown = scaled(ordered, full_match=8.0)
    assert [hit.directory for hit in shown] == [hit.directory for hit in ordered]
    assert all(0.0 <= hit.score <= 1.0 for hit in shown)
    assert all(a.score >= b.score for a, b in itertools.pairwise(shown))


@given(hit_lists())
def test_scaled_scores_keep_their_ratios(hits: list[Hit]) -> None:
    ordered = order(hits)
    shown = scaled(ordered, full_match=8.0)
    for raw, out in zip(ordered, shown, strict=True):
        if ordered[0].score > 0.0:
            assert out.score * ordered[0].score == pytest.approx(raw.score * shown[0].score, rel=1e-9, abs=1e-300)


@given(hit_lists(), THRESHOLDS, st.integers(min_value=1, max_value=40))
def test_a_cut_keeps_a_beginning(hits: list[Hit], threshold: float, limit: int) -> None:
    ordered = order(hits)
    kept = cut(ordered, threshold=threshold, limit=limit)
    assert kept == ordered[: len(kept)]
    assert len(kept) <= limit


@given(hit_lists(), THRESHOLDS)
def test_five_or_fewer_are_never_cut_and_the_best_never_is(hits: list[Hit], threshold: float) -> None:
    ordered = order(hits)
    assert cut(ordered[:NEVER_CUT], threshold=threshold, limit=100) == ordered[:NEVER_CUT]
    assert cut(ordered, threshold=threshold, limit=100)[:1] == ordered[:1]


@given(hit_lists(), THRESHOLDS, THRESHOLDS)
def test_a_higher_threshold_keeps_no_more(hits: list[Hit], one: float, two: float) -> None:
    ordered = order(hits)
    low, high = sorted((one, two))
    assert len(cut(ordered, threshold=high, limit=100)) <= len(cut(ordered, threshold=low, limit=100))


@given(hit_lists(), THRESHOLDS)
def test_whether_a_hit_is_cut_does_not_hang_on_the_scale(hits: list[Hit], threshold: float) -> None:
    ordered = [hit for hit in order(hits) if hit.score >= 1e-6]
    raw = cut(ordered, threshold=threshold, limit=100)
    shown = cut(scaled(ordered, full_match=8.0), threshold=threshold, limit=100)
    near = [hit for hit in ordered if abs(hit.score / ordered[0].score - threshold) < 1e-9]
    assert abs(len(raw) - len(shown)) <= len(near)
