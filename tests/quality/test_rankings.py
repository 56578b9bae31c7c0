"""Rankings are the frozen ones: a change that means to keep them differs in nothing.

One question in three is asked; `python -m bench.rankings` asks all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.rankings import PROVIDERS, differences, frozen, questions, rank


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
