"""Full-text candidates from postings in memory, compared with those of LanceDB."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.search.builders import index_of, make_skill, row

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.index.features import decode_features, encode_features
from skillhub_mcp.index.filter import Filter
from skillhub_mcp.index.lance import LanceIndex
from skillhub_mcp.index.lance_store import LanceStore
from skillhub_mcp.index.postings import Postings

WORDS = ("invoice", "review", "stamp", "coin", "letter", "map", "key", "chart", "table", "query", "deploy", "summary")


def postings_of(*texts: str) -> Postings:
    skills = [make_skill(f"skill-{number}", text) for number, text in enumerate(texts)]
    return Postings(
        [skill.name for skill in skills], [decode_features(encode_features(skill, "").encoded) for skill in skills]
    )


def find(postings: Postings, query: str, *, limit: int = 10, among: frozenset[str] | None = None) -> list[str]:
    everyone = frozenset(f"skill-{number}" for number in range(100))
    return postings.find(terms(query), limit=limit, among=among or everyone, rarity=lambda _: 1.0)


def test_the_skill_with_more_of_the_words_comes_first() -> None:
    postings = postings_of("Paints walls.", "Paints walls and doors and windows.", "Mends pipes.")
    assert find(postings, "walls doors") == ["skill-1", "skill-0"]


def test_of_two_with_a_word_as_often_the_shorter_comes_first() -> None:
    assert find(postings_of("Walls and doors and windows and floors.", "Walls."), "walls") == ["skill-1", "skill-0"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    postings = postings_of("Paints walls.", "Paints doors.")
    rarity = {terms("walls")[0]: 0.1, terms("doors")[0]: 3.0}
    found = postings.find(
        terms("walls doors"), limit=2, among=frozenset({"skill-0", "skill-1"}), rarity=rarity.__getitem__
    )
    assert found == ["skill-1", "skill-0"]


def test_no_more_than_the_limit_is_found_and_only_among_those_that_may_be() -> None:
    postings = postings_of(*["Paints walls."] * 9)
    assert find(postings, "walls", limit=4) == ["skill-0", "skill-1", "skill-2", "skill-3"]
    assert find(postings, "walls", limit=4, among=frozenset({"skill-7", "skill-5"})) == ["skill-5", "skill-7"]


@pytest.mark.parametrize("query", ["pipes", "", "🦀", "the of"])
def test_a_term_that_no_skill_has_finds_nothing(query: str) -> None:
    assert find(postings_of("Paints walls."), query) == []


def test_a_library_without_skills_finds_nothing() -> None:
    assert find(postings_of(), "walls") == []


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[LanceIndex, LanceIndex]:
    """The same library, searched in LanceDB and in memory."""
    chosen = random.Random(7)
    library = [
        make_skill(
            f"skill-{number:03}",
            " ".join(chosen.choices(WORDS, k=chosen.randint(3, 20))),
            category=chosen.choice(("a", "b", None)),
            tags=chosen.sample(WORDS, k=2),
        )
        for number in range(300)
    ]
    store = LanceStore(str(tmp_path_factory.mktemp("both") / "db"), held_rows=0)
    bodies = [" ".join(chosen.choices(WORDS, k=chosen.randint(0, 300))) for _ in library]
    version = store.rebuild([row(skill, body) for skill, body in zip(library, bodies, strict=True)], dimension=None)
    return store.open(version), LanceStore(store.db_path, held_rows=300).open(version)


@pytest.mark.parametrize("query", ["stamp", "stamp coin", "translate summary table query", "unheard of words"])
def test_memory_and_lancedb_find_the_same_skills(both: tuple[LanceIndex, LanceIndex], query: str) -> None:
    among = frozenset(f"/library/skill-{number:03}" for number in range(0, 300, 2))
    there, here = ([one.directory for one in index.match_terms(terms(query), limit=300, among=among)] for index in both)
    assert set(here) == set(there) <= among
    # The best of one are among the best of the other: near the cut the two weigh lengths a little differently.
    assert set(here[:10]) <= set(there[:20])


def test_a_narrowed_search_finds_the_same_either_way(both: tuple[LanceIndex, LanceIndex]) -> None:
    among = frozenset(f"/library/skill-{number:03}" for number in range(300))
    narrowing = Filter.create("a", [])
    there, here = (
        {one.directory for one in index.match_terms(terms("stamp"), limit=300, among=among, where=narrowing)}
        for index in both
    )
    assert here == there
    assert 0 < len(here) < 300


def test_a_candidate_from_memory_has_the_features_of_its_row(both: tuple[LanceIndex, LanceIndex]) -> None:
    among = frozenset({"/library/skill-007"})
    (there,), (here,) = (index.get_rows(among) for index in both)
    found = both[1].match_terms(WORDS, limit=300, among=among)
    assert all(one.features.hashes.tolist() == there.features.hashes.tolist() for one in (*found, here))
    assert not both[1].match_terms(terms("stamp"), limit=0, among=among)
    assert not both[1].match_terms(terms("stamp"), limit=9, among=frozenset())


def test_a_table_with_more_rows_than_are_held_is_searched_in_lancedb(tmp_path: Path) -> None:
    index = index_of(
        tmp_path / "db", [make_skill(f"skill-{number}", "Sorts stamps.") for number in range(3)], held_rows=2
    )
    two = frozenset({"/library/skill-1", "/library/skill-2"})
    assert len(index.match_terms(terms("stamps"), limit=9, among=two)) == 2
    assert index._held is None


def test_among_others_than_before_others_are_found() -> None:
    postings = postings_of("Paints walls.", "Paints walls.")
    first, second = frozenset({"skill-0"}), frozenset({"skill-1"})
    assert [find(postings, "walls", among=among) for among in (first, second, first)] == [
        ["skill-0"],
        ["skill-1"],
        ["skill-0"],
    ]
