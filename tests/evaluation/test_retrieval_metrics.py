"""The measures: values computed by hand, and properties of every answer."""

from __future__ import annotations

import math
import random
from dataclasses import astuple
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.evaluation.measures import (
    MEASURES,
    Quality,
    bootstrap_interval,
    mean_quality,
    measure_quality,
)

SKILLS = [f"/s/{number}" for number in range(30)]
ANSWERS = st.lists(st.sampled_from(SKILLS), unique=True, max_size=20)
RELEVANT = st.frozensets(st.sampled_from(SKILLS), min_size=1)
# Sums of 64ths are exact, so that rounding of floats does not matter.
SHARES = st.lists(st.integers(min_value=0, max_value=64).map(lambda number: number / 64), min_size=1, max_size=40)


# nDCG by hand: a hit at places 1, 2, 3, 4, 5 is worth 1, 0.6309, 0.5, 0.4307, 0.3869; at 10 it is worth 0.2891.
@pytest.mark.parametrize(
    ("found", "relevant", "wanted"),
    [
        ("a", "a", (1.0, 1.0, 1.0, 1.0, 1.0)),
        ("ba", "a", (0.0, 1.0, 1.0, 0.5, 0.6309)),
        ("bca", "a", (0.0, 1.0, 1.0, 1 / 3, 0.5)),
        ("", "a", (0.0, 0.0, 0.0, 0.0, 0.0)),
        ("bcd", "a", (0.0, 0.0, 0.0, 0.0, 0.0)),
        # (1 + 0.5) / (1 + 0.6309)
        ("abc", "ac", (1.0, 1.0, 1.0, 1.0, 0.9197)),
        # 1 / (1 + 0.6309 + 0.5)
        ("axyz", "abc", (1.0, 1 / 3, 1 / 3, 1.0, 0.4693)),
        # (0.6309 + 0.4307) / (1 + 0.6309 + 0.5)
        ("xaybz", "abc", (0.0, 2 / 3, 2 / 3, 0.5, 0.4982)),
        # Sixth: not among five. 1 / log2(7)
        ("uvwxya", "a", (0.0, 0.0, 1.0, 1 / 6, 0.3562)),
        ("bcdefghija", "a", (0.0, 0.0, 1.0, 0.1, 0.2891)),
        # Eleventh: too late to count.
        ("bcdefghijka", "a", (0.0, 0.0, 0.0, 0.0, 0.0)),
        # Ten of twelve: the ideal has ten too.
        ("abcdefghij", "abcdefghijkl", (1.0, 5 / 12, 10 / 12, 1.0, 1.0)),
    ],
)
def test_measures_match_values_computed_by_hand(found: str, relevant: str, wanted: tuple[float, ...]) -> None:
    assert astuple(measure_quality(list(found), frozenset(relevant))) == pytest.approx(wanted, abs=5e-5)


def test_means_are_per_measure() -> None:
    mean = mean_quality([Quality(1.0, 0.5, 1.0, 1.0, 0.8), Quality(0.0, 0.0, 0.5, 0.25, 0.4)])
    assert astuple(mean) == pytest.approx((0.5, 0.25, 0.75, 0.625, 0.6))
    assert mean_quality([mean]) == mean


def test_all_measures_are_reported() -> None:
    assert MEASURES == ("hit_at_1", "recall_at_5", "recall_at_10", "mrr_at_10", "ndcg_at_10")


@given(ANSWERS, RELEVANT)
def test_every_measure_is_from_0_to_1(found: list[str], relevant: frozenset[str]) -> None:
    quality = measure_quality(found, relevant)
    assert all(0.0 <= value <= 1.0 for value in astuple(quality))
    assert quality.recall_at_5 <= quality.recall_at_10
    assert quality.hit_at_1 <= quality.mrr_at_10


@given(RELEVANT, ANSWERS)
def test_an_ideal_order_scores_1(relevant: frozenset[str], others: list[str]) -> None:
    best = [*sorted(relevant), *(other for other in others if other not in relevant)]
    quality = measure_quality(best, relevant)
    assert (quality.hit_at_1, quality.mrr_at_10, quality.ndcg_at_10) == (1.0, 1.0, 1.0)
    assert quality.recall_at_5 == min(5, len(relevant)) / len(relevant)
    assert quality.recall_at_10 == min(10, len(relevant)) / len(relevant)


@given(ANSWERS, RELEVANT, st.randoms(use_true_random=False))
def test_the_order_of_relevant_hits_does_not_matter(
    found: list[str], relevant: frozenset[str], chance: random.Random
) -> None:
    # The order of relevant hits does not matter.
    named = sorted(relevant)
    chance.shuffle(named)
    swapped = dict(zip(sorted(relevant), named, strict=True))
    other = [swapped.get(hit, hit) for hit in found]
    assert measure_quality(other, frozenset(named)) == measure_quality(found, relevant)


@given(ANSWERS, RELEVANT, st.integers(min_value=0, max_value=18))
def test_moving_a_relevant_hit_up_lowers_no_measure(found: list[str], relevant: frozenset[str], place: int) -> None:
    if place + 1 < len(found) and found[place + 1] in relevant and found[place] not in relevant:
        better = [*found[:place], found[place + 1], found[place], *found[place + 2 :]]
        before, after = astuple(measure_quality(found, relevant)), astuple(measure_quality(better, relevant))
        assert all(a >= b for a, b in zip(after, before, strict=True))


@given(ANSWERS, RELEVANT)
def test_hits_after_the_tenth_do_not_matter(found: list[str], relevant: frozenset[str]) -> None:
    assert measure_quality(found[:10], relevant) == measure_quality(found, relevant)


@given(st.lists(st.tuples(ANSWERS, RELEVANT), min_size=1, max_size=10))
def test_means_are_between_worst_and_best(answers: list[tuple[list[str], frozenset[str]]]) -> None:
    qualities = [measure_quality(found, relevant) for found, relevant in answers]
    mean = mean_quality(qualities)
    for name in MEASURES:
        values = [getattr(one, name) for one in qualities]
        assert min(values) - 1e-12 <= getattr(mean, name) <= max(values) + 1e-12


@given(SHARES)
def test_an_interval_contains_the_mean_and_is_repeatable(values: list[float]) -> None:
    low, high = bootstrap_interval(values)
    assert min(values) <= low <= fmean(values) <= high <= max(values)
    assert bootstrap_interval(values) == (low, high)


@given(st.floats(min_value=0.0, max_value=1.0), st.integers(min_value=1, max_value=40))
def test_equal_values_have_an_empty_interval(value: float, times: int) -> None:
    low, high = bootstrap_interval([value] * times)
    assert low == high == pytest.approx(value)


def test_more_values_narrow_the_interval() -> None:
    few, many = bootstrap_interval([0.0, 1.0] * 10), bootstrap_interval([0.0, 1.0] * 1_000)
    assert few[1] - few[0] > many[1] - many[0] > 0.0
    # For a mean of 20 coin tosses: 0.5 and about two standard errors of 0.112 to each side.
    assert few == pytest.approx((0.5 - 1.96 * math.sqrt(0.25 / 20), 0.5 + 1.96 * math.sqrt(0.25 / 20)), abs=0.06)
