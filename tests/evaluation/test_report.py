"""Reports: means, rejection rates, worst answers and gains."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from skillhub_mcp.evaluation.baselines import EngineAnswer
from skillhub_mcp.evaluation.measures import MEASURES, bootstrap_interval, measure_quality
from skillhub_mcp.evaluation.queries import JudgedQuery
from skillhub_mcp.evaluation.report import Report, build_report

SECOND = 1.0 / math.log2(3)
THIRD = 0.5
NOTHING = (math.nan, math.nan, math.nan)

# Queries: the id, the kind, the relevant skills, the hits, and whether the engine is confident.
Asked = tuple[str, str, str, str, bool]


def report(asked: Sequence[Asked], *, engine: str = "ours", seconds: Sequence[float] | None = None) -> Report:
    queries = [JudgedQuery(name, f"ask {name}", kind, frozenset(right)) for name, kind, right, _, _ in asked]
    answers = [EngineAnswer(list(found), fits) for _, _, _, found, fits in asked]
    taken = [0.001] * len(asked) if seconds is None else seconds
    relevant = [query.relevant for query in queries]
    return build_report(engine, queries, relevant, list(zip(answers, taken, strict=True)))


MIXED: list[Asked] = [
    ("1", "plain", "a", "abc", True),
    ("2", "plain", "a", "ba", True),
    ("3", "german", "a", "bca", False),
    ("4", "german", "a", "", False),
    ("5", "nothing", "", "a", True),
    ("6", "nothing", "", "", False),
    ("7", "nothing", "", "b", False),
]


def test_means_are_over_answerable_queries() -> None:
    mean = report(MIXED).mean
    assert mean is not None
    assert mean.hit_at_1 == 0.25
    assert mean.recall_at_5 == mean.recall_at_10 == 0.75
    assert mean.mrr_at_10 == pytest.approx((1 + 1 / 2 + 1 / 3 + 0) / 4)
    assert mean.ndcg_at_10 == pytest.approx((1 + SECOND + THIRD + 0) / 4)


def test_each_kind_has_its_own_means() -> None:
    kinds = report(MIXED).kinds
    assert list(kinds) == ["plain", "german"]
    assert kinds["plain"].ndcg_at_10 == pytest.approx((1 + SECOND) / 2)
    assert kinds["german"].ndcg_at_10 == pytest.approx(THIRD / 2)
    assert (kinds["plain"].hit_at_1, kinds["german"].hit_at_1) == (0.5, 0.0)


def test_means_of_a_kind_are_over_answerable_queries() -> None:
    kinds = report([("1", "any", "a", "a", True), ("2", "any", "", "a", True)]).kinds
    assert kinds["any"] == measure_quality("a", frozenset("a"))


def test_correct_and_false_rejections_are_counted_separately() -> None:
    whole = report(MIXED)
    assert whole.rejection_rate == pytest.approx(2 / 3)
    assert whole.false_rejection_rate == pytest.approx(2 / 4)


def test_hopeless_queries_have_no_means() -> None:
    nothing = report(MIXED[4:])
    assert (nothing.mean, nothing.kinds, nothing.intervals, nothing.worst) == (None, {}, {}, [])
    assert nothing.false_rejection_rate is None
    assert nothing.rejection_rate == pytest.approx(2 / 3)


def test_answerable_queries_have_no_rejection_rate() -> None:
    whole = report(MIXED[:4])
    assert (whole.rejection_rate, whole.false_rejection_rate) == (None, 0.5)


def test_each_mean_has_a_confidence_interval() -> None:
    whole = report(MIXED)
    assert tuple(whole.intervals) == MEASURES
    assert whole.intervals["ndcg_at_10"] == bootstrap_interval([1.0, SECOND, THIRD, 0.0])
    for name, (low, high) in whole.intervals.items():
        assert low <= getattr(whole.mean, name) <= high


def test_the_worst_answers_come_first() -> None:
    assert [(one.query.id, list(one.found)) for one in report(MIXED).worst] == [
        ("4", []),
        ("3", ["b", "c", "a"]),
        ("2", ["b", "a"]),
    ]


def test_at_most_ten_answers_are_the_worst() -> None:
    asked: list[Asked] = [(f"q{number:02}", "any", "a", "b", True) for number in reversed(range(15))]
    assert [one.query.id for one in report(asked).worst] == [f"q{number:02}" for number in range(10)]


@pytest.mark.parametrize(("seconds", "wanted"), [((0.001, 0.009, 0.002), 2.0), ((0.004, 0.001, 0.003, 0.1), 3.5)])
def test_the_median_time_is_in_milliseconds(seconds: tuple[float, ...], wanted: float) -> None:
    assert report(MIXED[: len(seconds)], seconds=seconds).median_milliseconds == pytest.approx(wanted)


def test_a_gain_is_the_mean_difference() -> None:
    ours = report(MIXED)
    other = report([(*asked[:3], "xy" if asked[0] == "1" else asked[3], True) for asked in MIXED], engine="other")
    # Only the first query differs, by 1.
    gain, *bounds = ours.gain_over(other) or NOTHING
    assert gain == pytest.approx(0.25)
    assert tuple(bounds) == bootstrap_interval([1.0, 0.0, 0.0, 0.0])
    back, low, high = other.gain_over(ours) or NOTHING
    assert back == pytest.approx(-0.25)
    assert (low, high) == bootstrap_interval([-1.0, 0.0, 0.0, 0.0])
    assert low <= back <= high


def test_a_report_has_no_gain_over_itself() -> None:
    whole = report(MIXED)
    assert whole.gain_over(whole) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("queries", range(1, 20))
def test_a_gain_is_within_its_bounds(queries: int) -> None:
    ours = report([(str(number), "any", "a", "abc", True) for number in range(queries)])
    other = report([(str(number), "any", "a", "bac", True) for number in range(queries)])
    gain, low, high = ours.gain_over(other) or NOTHING
    assert low <= gain <= high


def test_hopeless_queries_have_no_gain() -> None:
    nothing = report(MIXED[4:])
    assert nothing.gain_over(nothing) is None
    assert report([]).gain_over(report([])) is None


def test_reports_of_different_queries_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="shorter"):
        report(MIXED).gain_over(report(MIXED[1:]))


def test_every_query_needs_an_answer() -> None:
    query = JudgedQuery("1", "ask", "any", frozenset("a"))
    with pytest.raises(ValueError, match="longer"):
        build_report("ours", [query], [query.relevant], [(EngineAnswer(["a"], True), 0.1)] * 2)
