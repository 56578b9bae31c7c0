"""Every skill belongs to one domain, and every skill of a domain is among its examples on some day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.disclosure.library import skill

from skillhub_mcp.disclosure.card import group_by_domain, pick_examples, rotate

DAY = date(2026, 11, 21)


def named(skills: list[str], **facts: Any) -> list[tuple[str, list[str]]]:
    found = group_by_domain([skill(name, **facts) for name in skills])
    return [(domain.name, [one.name for one in domain.skills]) for domain in found]


def test_a_category_is_a_domain_whatever_the_tags_say() -> None:
    found = group_by_domain(
        [
            skill("a", category="data", tags=("sql",)),
            skill("b", category="data", tags=("sql",)),
            skill("c", category="web", tags=("sql",)),
        ]
    )
    assert [(domain.name, len(domain.skills)) for domain in found] == [("data", 2), ("web", 1)]


def test_without_a_category_the_tag_that_most_share_is_the_domain_and_each_skill_counts_once() -> None:
    found = group_by_domain(
        [
            skill("a", tags=("sql", "report")),
            skill("b", tags=("sql", "chart")),
            skill("c", tags=("sql",)),
            skill("g", tags=("sql",)),
            skill("d", tags=("report",)),
            skill("e", tags=("report",)),
            skill("f", tags=("alone",)),
        ]
    )
    assert [(domain.name, [one.name for one in domain.skills]) for domain in found] == [
        ("sql", ["a", "b", "c", "g"]),
        ("report", ["d", "e"]),
        ("", ["f"]),
    ]


def test_a_tag_and_a_category_of_one_name_are_one_domain() -> None:
    skills = [skill("a", category="data"), skill("b", tags=("data",)), skill("c", tags=("data",))]
    assert [(domain.name, len(domain.skills)) for domain in group_by_domain(skills)] == [("data", 3)]


def test_skills_without_either_are_grouped_by_the_words_of_their_names() -> None:
    names = ["azure-storage", "azure-vision", "Azure Deploy", "git-commit", "git-rebase", "haiku"]
    assert named(names) == [
        ("azure", ["azure-storage", "azure-vision", "Azure Deploy"]),
        ("git", ["git-commit", "git-rebase"]),
        ("", ["haiku"]),
    ]


def test_stop_words_make_no_domain() -> None:
    assert named(["skill-creator", "skill-finder", "to-do", "to-go"]) == [
        ("", ["skill-creator", "skill-finder", "to-do", "to-go"])
    ]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sets(st.sampled_from(["x", "y", "z"]))), max_size=30))
def test_every_skill_is_in_exactly_one_domain(written: list[tuple[str, set[str]]]) -> None:
    skills = [skill(f"s{number}-{name}", tags=tuple(sorted(tags))) for number, (name, tags) in enumerate(written)]
    found = [one.name for domain in group_by_domain(skills) for one in domain.skills]
    assert sorted(found) == sorted(one.name for one in skills)


@pytest.mark.parametrize("there", [1, 7, 30, 210])
def test_every_skill_of_a_domain_is_an_example_within_as_many_days_as_there_are_skills(there: int) -> None:
    skills = [skill(f"s{number}") for number in range(there)]
    days = [DAY + timedelta(days=number) for number in range(there)]
    # How many are shown may be another number on each day.
    shown = [one.name for day in days for one in pick_examples(skills, 1 + day.day % 2, day)]
    assert set(shown) == {one.name for one in skills}


def test_examples_are_the_same_all_day_and_in_whatever_order_the_skills_come() -> None:
    skills = [skill(f"s{number}") for number in range(20)]
    shown = pick_examples(skills, 2, DAY)
    assert pick_examples(skills[::-1], 2, DAY) == shown
    assert pick_examples(skills, 2, DAY + timedelta(days=1)) != shown


@given(st.lists(st.integers(), max_size=30), st.dates())
def test_turning_loses_nothing(items: list[int], day: date) -> None:
    assert sorted(rotate(items, day)) == sorted(items)
