"""The domains of skills, and the examples of a domain."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.disclosure.library import skill

from skillhub_mcp.disclosure.card import group_by_domain, mixed


def named(skills: list[str], **facts: Any) -> list[tuple[str, list[str]]]:
    found = group_by_domain([skill(name, **facts) for name in skills])
    return [(domain.name, [one.name for one in domain.skills]) for domain in found]


def test_a_category_takes_precedence_over_tags() -> None:
    found = group_by_domain(
        [
            skill("a", category="data", tags=("sql",)),
            skill("b", category="data", tags=("sql",)),
            skill("c", category="web", tags=("sql",)),
        ]
    )
    assert [(domain.name, len(domain.skills)) for domain in found] == [("data", 2), ("web", 1)]


def test_skills_without_a_category_are_grouped_by_their_most_common_tag() -> None:
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


def test_a_tag_and_a_category_with_one_name_are_one_domain() -> None:
    skills = [skill("a", category="data"), skill("b", tags=("data",)), skill("c", tags=("data",))]
    assert [(domain.name, len(domain.skills)) for domain in group_by_domain(skills)] == [("data", 3)]


def test_skills_without_tags_are_grouped_by_words_of_their_names() -> None:
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


def test_examples_do_not_depend_on_the_order_of_skills() -> None:
    skills = [skill(f"s{number}") for number in range(20)]
    assert mixed(skills[::-1]) == mixed(skills) != skills
