"""The text score of every skill, and the order of the best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.search.builders import candidates_of, make_skill, search_index

from skillhub_mcp.analysis.analyzer import normalise_query
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.search.query import parse_query
from skillhub_mcp.search.ranking import Ranking, best, rank, text_scores
from skillhub_mcp.skills.model import Skill

LIBRARY = (
    make_skill("invoice-sorter", "Sort invoices into folders, invoices of every kind."),
    make_skill("invoice-writer", "Write an invoice."),
    make_skill("bread", "Bake bread at home."),
)
NOTHING_KNOWN = np.full(3, np.nan)


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    return search_index(tmp_path, LIBRARY)


def scores(
    index: SearchIndex,
    text: str,
    fields: Sequence[str] = ("name", "description", "tags", "category", "body"),
    *,
    among: Sequence[Skill] = LIBRARY,
) -> dict[str, float]:
    query = parse_query(normalise_query(text), index.statistics)
    found = candidates_of(index, query, among, frozenset(fields))
    by_directory = dict(zip(found.directories, text_scores(query, found).tolist(), strict=True))
    return {skill.name: by_directory.get(skill.directory, 0.0) for skill in among}


def test_a_skill_without_a_word_of_the_query_scores_zero(index: SearchIndex) -> None:
    found = scores(index, "sort invoices")
    assert found["invoice-sorter"] > found["invoice-writer"] > found["bread"] == 0.0


def test_a_rare_word_counts_more_than_a_common_one(index: SearchIndex) -> None:
    assert scores(index, "bread")["bread"] > scores(index, "invoice")["invoice-writer"]


def test_a_repeated_query_word_counts_more_but_less_than_twice(index: SearchIndex) -> None:
    once, twice = (scores(index, text)["bread"] for text in ("bread", "bread and bread"))
    assert once < twice < 2 * once


def test_only_the_selected_fields_score(tmp_path: Path) -> None:
    skills = [make_skill("loaf", "Bake.")]
    index = search_index(tmp_path, skills, ["Knead the dough."])
    assert scores(index, "dough", among=skills)["loaf"] > 0.0
    assert scores(index, "dough", ["name", "description"], among=skills)["loaf"] == 0.0
    assert scores(index, "bake", ["description"], among=skills)["loaf"] > 0.0


def test_only_the_best_alternative_of_a_clause_counts(tmp_path: Path) -> None:
    """`Ordner` is a folder and a directory: a skill that says both is not twice as right."""
    skills = [make_skill("one", "Sort a folder."), make_skill("two", "Sort a folder, a directory.")]
    index = search_index(tmp_path, skills)
    query = parse_query("die Ordner und die Rechnungen", index.statistics)
    clause = next(clause for clause in query.clauses if clause.asked == "Ordner")
    assert len(clause.alternatives) > 1
    text = "die Ordner und die Rechnungen"
    single = max(scores(index, choice.text, among=skills)["two"] * choice.weight for choice in clause.alternatives)
    assert scores(index, text, among=skills)["two"] == pytest.approx(single)
    assert scores(index, text, among=skills)["one"] > 0.0


@pytest.mark.acceptance("S2-15")
def test_the_best_are_sorted_by_score_then_number() -> None:
    found = np.array([5.0, 0.0, 9.0, 5.0, 1.0], dtype=np.float32)
    assert best(found, limit=10).tolist() == [2, 0, 3, 4]
    assert best(found, limit=1).tolist() == [2]
    assert best(np.zeros(4), limit=3).tolist() == []


def test_ties_with_the_last_of_the_best_are_included() -> None:
    assert best(np.array([1.0, 2.0, 1.0, 1.0]), limit=2).tolist() == [1, 0, 2, 3]
    assert len(best(np.ones(100), limit=2)) == 20


def test_the_best_equal_those_of_a_full_sort() -> None:
    # Each with ties, many at 0, the best in one place or all over, and a number of skills that no group divides.
    chosen = np.random.default_rng(7)
    for skills in (1, 99, 4_000, 4_001, 10_007):
        for scores in (chosen.integers(0, 50, skills).astype(float), np.sort(chosen.random(skills)), np.zeros(skills)):
            scores[chosen.random(skills) < 0.5] = 0.0
            for limit in (1, 10, 100):
                order = [one for one in np.argsort(-scores, kind="stable").tolist() if scores[one] > 0.0]
                tied = [one for one in order if scores[one] >= scores[order[:limit][-1]]]
                assert best(scores, limit=limit).tolist() == tied[: 10 * limit]


def test_text_alone_decides_the_order_without_vectors() -> None:
    found = rank(np.array([5.0, 0.0, 9.0]), np.array([0, 2]), NOTHING_KNOWN[:2], meaning=1.0)
    assert found.numbers.tolist() == [2, 0]
    assert found.words.tolist() == [9.0, 5.0]
    assert np.isnan(found.nearness).all()


def test_nearness_outweighs_a_small_lead_in_text_score() -> None:
    words, numbers, nearness = np.array([10.0, 9.0]), np.array([0, 1]), np.array([0.1, 0.9])
    assert rank(words, numbers, nearness, meaning=0.0).numbers.tolist() == [0, 1]
    assert rank(words, numbers, nearness, meaning=0.5).numbers.tolist() == [1, 0]


def test_a_negative_nearness_lowers_the_total_and_is_reported_as_zero() -> None:
    found = rank(np.array([10.0, 9.0]), np.array([0, 1]), np.array([-0.2, 0.0]), meaning=1.0)
    assert found.numbers.tolist() == [1, 0]
    assert found.totals.tolist() == pytest.approx([0.9, 0.8])
    assert found.nearness.tolist() == [0.0, 0.0]


def test_text_scores_are_ignored_in_vector_mode() -> None:
    found = rank(np.array([99.0, 1.0]), np.array([0, 1]), np.array([0.2, 0.3]), meaning=1.0, by_meaning_alone=True)
    assert found.numbers.tolist() == [1, 0]
    assert found.totals.tolist() == [0.3, 0.2]


def test_a_skill_without_a_vector_is_as_near_as_its_text_score() -> None:
    words, numbers = np.array([10.0, 8.0, 1.0]), np.array([0, 1, 2])
    found = rank(words, numbers, np.array([0.9, np.nan, 0.1]), meaning=1.0)
    assert found.numbers.tolist() == [0, 1, 2]
    assert found.totals.tolist() == pytest.approx([1.9, 1.6, 0.2])


def test_a_named_skill_is_moved_to_the_front() -> None:
    found = Ranking(*(np.array(part) for part in ([7, 5, 3], [3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [3.0, 2.0, 1.0])))
    assert found.with_first(3).numbers.tolist() == [3, 7, 5]
    assert found.ordered_by(np.array([1.0, 1.0, 2.0])).numbers.tolist() == [3, 7, 5]


def test_an_empty_ranking_is_allowed() -> None:
    nothing = np.zeros(0)
    assert len(rank(np.zeros(3), nothing.astype(int), nothing, meaning=1.0).numbers) == 0
