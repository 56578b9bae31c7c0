"""The JSON of a search's answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.search.builders import make_skill

from skillhub_mcp.hub import FoundSkill, SearchAnswer
from skillhub_mcp.search.hits import Reason
from skillhub_mcp.server.tools.results import search_result
from skillhub_mcp.skills.snapshot import UnavailableRoot


def answer(*scores: float) -> SearchAnswer:
    hits = [
        FoundSkill(make_skill(f"skill-{number}"), f"skill-{number}", score, Reason.TEXT)
        for number, score in enumerate(scores)
    ]
    return SearchAnswer(tuple(hits), searched=100, served=100, confident=scores[0] >= 0.5)


def test_fewer_hits_are_shown_where_the_first_is_clear_unless_every_one_is_wanted() -> None:
    clear = answer(0.97, *[0.3] * 9)
    assert [hit["name"] for hit in skills(clear, every=False)] == [f"skill-{number}" for number in range(5)]
    assert len(skills(clear, every=True)) == 10
    assert len(skills(answer(0.7, *[0.3] * 9), every=False)) == 10


def test_what_cannot_be_loaded_is_told_of_hits_that_are_shown_alone() -> None:
    away = (UnavailableRoot("/away", "is missing", 1),)
    many = answer(0.97, *[0.3] * 9)
    for place, told in ((0, True), (9, False)):
        lost = replace(many.hits[place], skill=replace(many.hits[place].skill, root="/away"))
        hits = (*many.hits[:place], lost, *many.hits[place + 1 :])
        note = search_result(replace(many, hits=hits, away=away), every=False).get("note", "")
        assert (lost.handle in str(note)) is bool(note) is told


@pytest.mark.parametrize(("score", "shown"), [(0.49999, 0.49), (0.5, 0.5), (0.29, 0.29), (0.9999, 0.99), (1.0, 1.0)])
def test_a_score_has_two_digits_and_is_never_rounded_up_to_a_fit_or_to_certainty(score: float, shown: float) -> None:
    (hit,) = skills(answer(score))
    assert hit["score"] == shown


def test_a_hit_says_nothing_twice() -> None:
    (hit,) = skills(answer(0.9))
    assert hit == {"name": "skill-0", "description": "Does one thing well.", "score": 0.9}


def skills(found: SearchAnswer, *, every: bool = True) -> list[dict[str, object]]:
    result = search_result(found, every=every)["skills"]
    assert isinstance(result, list)
    return result
