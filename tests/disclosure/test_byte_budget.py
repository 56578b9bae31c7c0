"""A list of skills and the card share one byte budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.disclosure.library import skill

from skillhub_mcp.disclosure.card import CardContext, list_and_card, list_and_rest, render_card
from skillhub_mcp.disclosure.catalogue import (
    Budget,
    Catalogue,
    CatalogueEntry,
    Rendered,
    fit,
    render_codelia,
    render_descriptions,
)
from skillhub_mcp.skills.model import Skill

NOW = CardContext()


def entries_of(skills: Sequence[Skill]) -> dict[str, CatalogueEntry]:
    return {
        one.directory: CatalogueEntry(one.name, one.description, f"{one.directory}/SKILL.md", "project", "repo")
        for one in skills
    }


def as_list(entries: Sequence[CatalogueEntry], budget: Budget) -> Rendered:
    return fit(entries, budget, render_codelia)


def library(count: int, length: int, *, start: int = 0) -> list[Skill]:
    return [skill(f"skill-{number:03}", f"{number:03} " + "d" * (length - 4)) for number in range(start, start + count)]


def test_a_skill_is_in_the_list_or_on_the_card() -> None:
    skills = library(6, 100)
    text = list_and_card(entries_of(skills), skills, NOW, as_list, max_bytes=1_400)
    in_list = text.count("<name>")
    assert 0 < in_list < 6
    assert [text.count(one.description) for one in skills] == [1] * 6
    assert f"\n\nSkills: {6 - in_list}." in text
    assert list_and_card(entries_of(skills), skills, NOW, as_list, max_bytes=4_000).count("<name>") == 6


def test_skills_without_a_card_entry_come_first_in_the_list() -> None:
    shared, alone = library(5, 100), library(2, 100, start=5)
    text = list_and_card(entries_of([*shared, *alone]), shared, NOW, as_list, max_bytes=1_900)
    assert [f"<name>{one.name}</name>" in text for one in alone] == [True, True]
    assert [text.count(one.description) for one in (*shared, *alone)] == [1] * 7


def test_list_only_skills_are_shortened_before_they_are_omitted() -> None:
    shared, alone = library(2, 100), library(6, 300, start=2)
    text = list_and_card(entries_of([*shared, *alone]), shared, NOW, as_list, max_bytes=2_000)
    assert sum(f"<name>{one.name}</name>" in text for one in alone) >= 5
    assert [text.count(one.description) for one in shared] == [1] * 2


def test_the_card_gets_the_room_of_an_empty_list() -> None:
    skills = library(4, 150)
    text = list_and_card(entries_of(skills), skills, NOW, as_list, max_bytes=700)
    assert text == render_card(skills, NOW, max_bytes=700)


def test_the_first_list_gets_what_the_second_leaves() -> None:
    many = list(entries_of(library(40, 100)).values())

    def write(used: int, max_bytes: int) -> str:
        return list_and_rest(
            lambda room: fit(many, Budget(max_bytes=room), render_descriptions),
            lambda _, room: "x" * min(used, room),
            max_bytes=max_bytes,
        )

    assert len(write(100, 2_000).encode()) > 1_900
    assert len(write(5_000, 2_000).encode()) == 2_000
    assert write(5_000, 2_000).index("x") > 800
    everything = render_descriptions(Catalogue(tuple(many)))
    assert write(100, 10_000) == f"{everything}\n\n{'x' * 100}"


lengths = st.lists(st.integers(10, 260), max_size=12)


@pytest.mark.slow
@given(lengths=lengths, only_listed=st.integers(0, 3), unlisted=st.integers(0, 4), max_bytes=st.integers(0, 4_000))
def test_list_and_card_fill_the_budget_without_duplicates(
    lengths: list[int], only_listed: int, unlisted: int, max_bytes: int
) -> None:
    skills = [one for number, length in enumerate(lengths) for one in library(1, length, start=number)]
    listed, carded = skills[unlisted:], skills[: max(unlisted, len(skills) - only_listed)]
    text = list_and_card(entries_of(listed), carded, NOW, as_list, max_bytes=max_bytes)
    assert len(text.encode()) <= max_bytes
    assert text == list_and_card(entries_of(listed), carded, NOW, as_list, max_bytes=max_bytes)
    in_list = [one for one in listed if f"<name>{one.name}</name>" in text]
    names = [text.find(f"<name>{one.name}</name>") for one in in_list]
    assert names == sorted(names)
    in_card = [one for one in carded if f"\n- {one.name}" in text]
    assert not {one.name for one in in_list} & {one.name for one in in_card}

    counted = re.search(r"^Skills: (\d+)\.", text, re.MULTILINE)
    if counted:
        assert int(counted.group(1)) == sum(one not in in_list for one in carded)

    left = max_bytes - len(text.encode())
    list_text = text.partition("\n\nSkills: ")[0] if in_list else ""
    missing = [one for one in listed if one not in in_list and one not in in_card]
    if missing and in_list:
        # The unused room is too small for another entry.
        ranked = [
            replace(entry, importance=(directory in {one.directory for one in carded},))
            for directory, entry in entries_of(listed).items()
        ]
        longer = as_list(ranked, Budget(max_bytes=len(list_text.encode()) + left))
        assert len(longer.catalogue.entries) <= len(in_list)
