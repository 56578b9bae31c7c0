"""What holds for every list of hits."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.search.test_ranking import candidates, scores

from skillhub_mcp.search.ranking import NEVER_CUT, Hit, Reason, cut_tail, rank

THRESHOLDS = st.floats(min_value=0.0, max_value=1.0)
WORDS = st.floats(min_value=0.0, max_value=1e6, allow_subnormal=False)


@st.composite
def hit_lists(draw: st.DrawFn) -> list[Hit]:
    keys = draw(st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=30))
    found = [Hit(f"/{key}", draw(THRESHOLDS), Reason.TEXT) for key in keys]
    return sorted(found, key=lambda hit: (-hit.score, hit.directory))


@given(st.lists(st.tuples(WORDS, THRESHOLDS, THRESHOLDS), max_size=20), st.integers(min_value=0, max_value=10**6))
def test_scores_are_within_0_and_1_fall_and_ties_stand_by_key(
    given_parts: list[tuple[float, float, float]], skills: int
) -> None:
    words = [word for word, _, _ in given_parts]
    totals = [total for _, total, _ in given_parts]
    found = rank(
        candidates(*[None] * len(words)), scores(words, [share for *_, share in given_parts]), totals, skills=skills
    )
    assert all(0.0 <= hit.score <= 1.0 for hit in found)
    assert len(found) == sum(word > 0.0 for word in words)
    for before, after in itertools.pairwise(found):
        assert before.score > after.score or (before.score == after.score and before.directory < after.directory)


@given(hit_lists(), THRESHOLDS, st.integers(min_value=1, max_value=40))
def test_a_cut_keeps_a_beginning(hits: list[Hit], threshold: float, limit: int) -> None:
    kept = cut_tail(hits, threshold=threshold, limit=limit)
    assert kept == hits[: len(kept)]
    assert len(kept) <= limit


@given(hit_lists(), THRESHOLDS)
def test_five_or_fewer_are_never_cut_and_the_best_never_is(hits: list[Hit], threshold: float) -> None:
    assert cut_tail(hits[:NEVER_CUT], threshold=threshold, limit=100) == hits[:NEVER_CUT]
    assert cut_tail(hits, threshold=threshold, limit=100)[:1] == hits[:1]


@given(hit_lists(), THRESHOLDS, THRESHOLDS)
def test_a_higher_threshold_keeps_no_more(hits: list[Hit], one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert len(cut_tail(hits, threshold=high, limit=100)) <= len(cut_tail(hits, threshold=low, limit=100))
