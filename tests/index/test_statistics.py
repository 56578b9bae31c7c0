"""Corpus statistics: counted and changed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.builders import make_skill

from skillhub_mcp.index.features import SkillTerms, skill_features
from skillhub_mcp.index.statistics import counted

WORDS = ("invoice", "pdf", "table", "deploy", "chart", "walrus", "整理")
LIBRARIES = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=8)


def skill(number: int, chosen: list[str]) -> SkillTerms:
    return skill_features(make_skill(f"skill-{number}", " ".join(chosen)), "shared body", {}).own


@given(LIBRARIES, LIBRARIES, st.randoms(use_true_random=False))
def test_incremental_counts_equal_a_full_count(
    mine: list[list[str]], others: list[list[str]], chance: random.Random
) -> None:
    first = [skill(number, chosen) for number, chosen in enumerate(mine)]
    second = [skill(number, chosen) for number, chosen in enumerate(others)]
    gone = chance.sample(first, k=chance.randint(0, len(first)))
    kept = [one for one in first if one not in gone]
    assert counted(first) - counted(gone) + counted(second) == counted([*kept, *second])


def test_a_term_counts_once_a_skill_and_rare_terms_weigh_more() -> None:
    known = counted([skill(1, ["pdf", "pdf", "table"]), skill(2, ["pdf"]), skill(3, [])])
    assert [known.frequency(word) for word in ("pdf", "tabl", "share", "nobody")] == [2, 1, 3, 0]
    assert known.rarity("share") < known.rarity("pdf") < known.rarity("tabl") < known.rarity("nobody")
    assert known.mean_lengths == pytest.approx([2.0, 4 / 3, 0.1, 0.1, 2.0])
    assert known.speller.near("tabel") == ["table"]
