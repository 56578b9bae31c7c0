"""What holds for every list of hits."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.search.hits import NEVER_CUT, Hit, Reason, cut_tail
from skillhub_mcp.search.ranking import rank

THRESHOLDS = st.floats(min_value=0.0, max_value=1.0)
WORDS = st.floats(min_value=0.0, max_value=1e6, allow_subnormal=False)


@st.composite
def hit_lists(draw: st.DrawFn) -> list[Hit]:
    keys = draw(st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=30))
    found = [Hit(f"/{key}", draw(THRESHOLDS), Reason.TEXT) for key in keys]
    return sorted(found, key=lambda hit: (-hit.score, hit.directory))


@given(st.lists(st.tuples(WORDS, THRESHOLDS | st.just(float("nan"))), max_size=20), THRESHOLDS, st.booleans())
def test_scores_fall_and_every_candidate_is_ranked_once(
    given_parts: list[tuple[float, float]], meaning: float, by_meaning_alone: bool
) -> None:
    words, nearness = (np.array([part[place] for part in given_parts]) for place in (0, 1))
    numbers = np.arange(len(given_parts))
    found = rank(words, numbers, nearness, meaning=meaning, by_meaning_alone=by_meaning_alone)
    assert sorted(found.numbers.tolist()) == numbers.tolist()
    assert found.words.tolist() == words[found.numbers].tolist()
    for (total, number), (after, other) in itertools.pairwise(
        zip(found.totals.tolist(), found.numbers.tolist(), strict=True)
    ):
        assert total > after or (total == after and number < other)


@given(hit_lists(), THRESHOLDS, THRESHOLDS, st.integers(min_value=1, max_value=40))
def test_a_cut_keeps_the_best_and_fewer_with_a_higher_threshold(
    hits: list[Hit], one: float, two: float, limit: int
) -> None:
    low, high = (len(cut_tail(hits, threshold=threshold, limit=100)) for threshold in sorted((one, two)))
    assert bool(hits) <= high <= low
    assert cut_tail(hits[:NEVER_CUT], threshold=one, limit=100) == hits[:NEVER_CUT]
    kept = cut_tail(hits, threshold=one, limit=limit)
    assert kept == hits[: len(kept)]
    assert len(kept) <= limit
