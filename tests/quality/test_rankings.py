"""Rankings are the frozen ones: a change that means to keep them differs in nothing.

One question in three is asked; `python -m bench.rankings` asks all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.rankings import PROVIDERS, Ranking, differences, frozen, questions, rank


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_questions_are_ranked_as_frozen(provider: str, corpus: Path) -> None:
    assert corpus
    ranked = rank(provider, every=3)
    found = differences({key: one for key, one in frozen(provider).items() if key in ranked}, ranked)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_question_has_a_frozen_ranking(provider: str) -> None:
    assert list(frozen(provider)) == [key for key, _ in questions()]


def test_differences_are_counted_and_listed() -> None:
    same = Ranking("0.90", ("a", "b"))
    before = {"same": same, "order": same, "set": same, "confidence": same, "gone": same}
    after = {
        "same": same,
        "order": Ranking("0.90", ("b", "a")),
        "set": Ranking("0.90", ("a", "c")),
        "confidence": Ranking("0.91", ("a", "b")),
    }
    counts, *lines = differences(before, after)
    assert counts == (
        "4 of 5 questions differ: 1 first hits, 1 sets of ten, 2 orders, 1 confidences, 1 questions on one side only"
    )
    assert lines[:3] == ["order", "  - 0.90 a b", "  + 0.90 b a"]
    assert lines[-2:] == ["gone", "  - 0.90 a b"]
    assert differences(before, before) == []
