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


def test_every_skill_is_scored_and_what_has_no_word_of_the_question_has_nothing(index: SearchIndex) -> None:
    found = scores(index, "sort invoices")
    assert found["invoice-sorter"] > found["invoice-writer"] > found["bread"] == 0.0


def test_a_rare_word_counts_more_than_a_common_one(index: SearchIndex) -> None:
    assert scores(index, "bread")["bread"] > scores(index, "invoice")["invoice-writer"]


def test_what_is_said_twice_counts_more_and_less_than_twice(index: SearchIndex) -> None:
    once, twice = (scores(index, text)["bread"] for text in ("bread", "bread and bread"))
    assert once < twice < 2 * once


def test_only_the_fields_that_are_asked_for_count(tmp_path: Path) -> None:
    skills = [make_skill("loaf", "Bake.")]
    index = search_index(tmp_path, skills, ["Knead the dough."])
    assert scores(index, "dough", among=skills)["loaf"] > 0.0
    assert scores(index, "dough", ["name", "description"], among=skills)["loaf"] == 0.0
    assert scores(index, "bake", ["description"], among=skills)["loaf"] > 0.0


def test_of_several_meanings_the_best_counts_and_they_do_not_add_up(tmp_path: Path) -> None:
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
def test_the_best_come_first_and_equal_ones_by_number() -> None:
    found = np.array([5.0, 0.0, 9.0, 5.0, 1.0], dtype=np.float32)
    assert best(found, limit=10).tolist() == [2, 0, 3, 4]
    assert best(found, limit=1).tolist() == [2]
    assert best(np.zeros(4), limit=3).tolist() == []


def test_what_ties_with_the_last_is_among_the_best_too_as_its_number_says_nothing() -> None:
    assert best(np.array([1.0, 2.0, 1.0, 1.0]), limit=2).tolist() == [1, 0, 2, 3]
    assert len(best(np.ones(100), limit=2)) == 20


def test_the_best_of_many_are_those_that_sorting_all_of_them_finds() -> None:
    # Each with ties, many at 0, the best in one place or all over, and a number of skills that no group divides.
    chosen = np.random.default_rng(7)
    for skills in (1, 99, 4_000, 4_001, 10_007):
        for scores in (chosen.integers(0, 50, skills).astype(float), np.sort(chosen.random(skills)), np.zeros(skills)):
            scores[chosen.random(skills) < 0.5] = 0.0
            for limit in (1, 10, 100):
                order = [one for one in np.argsort(-scores, kind="stable").tolist() if scores[one] > 0.0]
                tied = [one for one in order if scores[one] >= scores[order[:limit][-1]]]
                assert best(scores, limit=limit).tolist() == tied[: 10 * limit]


def test_without_vectors_the_order_is_that_of_the_words() -> None:
    found = rank(np.array([5.0, 0.0, 9.0]), np.array([0, 2]), NOTHING_KNOWN[:2], meaning=1.0)
    assert found.numbers.tolist() == [2, 0]
    assert found.words.tolist() == [9.0, 5.0]
    assert np.isnan(found.nearness).all()


def test_what_is_nearer_in_meaning_passes_what_has_a_little_more_words() -> None:
    words, numbers, nearness = np.array([10.0, 9.0]), np.array([0, 1]), np.array([0.1, 0.9])
    assert rank(words, numbers, nearness, meaning=0.0).numbers.tolist() == [0, 1]
    assert rank(words, numbers, nearness, meaning=0.5).numbers.tolist() == [1, 0]


def test_a_nearness_below_0_takes_from_the_total_and_is_told_as_0() -> None:
    found = rank(np.array([10.0, 9.0]), np.array([0, 1]), np.array([-0.2, 0.0]), meaning=1.0)
    assert found.numbers.tolist() == [1, 0]
    assert found.totals.tolist() == pytest.approx([0.9, 0.8])
    assert found.nearness.tolist() == [0.0, 0.0]


def test_by_meaning_alone_words_do_not_count() -> None:
    found = rank(np.array([99.0, 1.0]), np.array([0, 1]), np.array([0.2, 0.3]), meaning=1.0, by_meaning_alone=True)
    assert found.numbers.tolist() == [1, 0]
    assert found.totals.tolist() == [0.3, 0.2]


def test_a_skill_without_a_vector_is_as_near_as_its_words_say() -> None:
    words, numbers = np.array([10.0, 8.0, 1.0]), np.array([0, 1, 2])
    found = rank(words, numbers, np.array([0.9, np.nan, 0.1]), meaning=1.0)
    assert found.numbers.tolist() == [0, 1, 2]
    assert found.totals.tolist() == pytest.approx([1.9, 1.6, 0.2])


def test_one_is_put_first_and_the_others_keep_their_order() -> None:
    found = Ranking(*(np.array(part) for part in ([7, 5, 3], [3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [3.0, 2.0, 1.0])))
    assert found.with_first(3).numbers.tolist() == [3, 7, 5]
    assert found.ordered_by(np.array([1.0, 1.0, 2.0])).numbers.tolist() == [3, 7, 5]


def test_of_nothing_nothing_is_ranked() -> None:
    nothing = np.zeros(0)
    assert len(rank(np.zeros(3), nothing.astype(int), nothing, meaning=1.0).numbers) == 0
