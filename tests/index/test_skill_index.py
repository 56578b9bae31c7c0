"""What a search asks of an index, with one answer wherever the rows are: in LanceDB, in memory, or kept in a file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.search.builders import WordEmbedder, make_skill, row

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.index.filter import Filter
from skillhub_mcp.index.lance_store import LanceStore
from skillhub_mcp.index.skill_index import SkillIndex

WORDS = ["stamp", "coin", "table", "query", "summary", "translate", "invoice", "review", "draw", "paint", "walk", "dog"]
EVERYTHING = frozenset(f"/library/skill-{number:03}" for number in range(300))
UNEMBEDDED = "/library/skill-007"
DIMENSION = 16

Open = Callable[..., SkillIndex]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int, str]:
    """A library of 300 skills with vectors, but for one: its database, version and table's id."""
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
    embedder = WordEmbedder(dimension=DIMENSION)
    vectors = embedder.embed_documents([skill.searchable_text for skill in library])
    rows = [
        row(skill, " ".join(chosen.choices(WORDS, k=chosen.randint(0, 300))), None if number == 7 else vectors[number])
        for number, skill in enumerate(library)
    ]
    store = LanceStore(str(tmp_path_factory.mktemp("both") / "db"))
    version = store.rebuild(rows, dimension=DIMENSION)
    return store.db_path, version, store.open(version).table_id


@pytest.fixture(params=["in LanceDB", "in memory", "from the file"])
def opened(request: pytest.FixtureRequest, stored: tuple[str, int, str]) -> Open:
    """Opens the library, with its vectors or without."""
    path, version, table_id = stored
    held_rows = 0 if request.param == "in LanceDB" else 300
    created_as = table_id if request.param == "from the file" else None

    def go(*, with_vectors: bool = True) -> SkillIndex:
        return LanceStore(path, held_rows=held_rows).open(version, created_as=created_as, with_vectors=with_vectors)

    return go


def query_vector() -> list[float]:
    return WordEmbedder(dimension=DIMENSION).embed_query("stamp coin")


def test_an_index_says_what_it_is(opened: Open, stored: tuple[str, int, str]) -> None:
    index = opened()
    assert (index.version, index.table_id) == stored[1:]
    assert index.dimension == DIMENSION
    assert index.statistics.skills == 300
    assert index.lacks_vectors
    assert index.table.count() == 300


def test_the_same_skills_are_found_by_text(opened: Open, stored: tuple[str, int, str]) -> None:
    among = frozenset(sorted(EVERYTHING)[::2])
    in_lancedb = LanceStore(stored[0]).open_table(stored[1])
    for query in ("stamp", "stamp coin", "translate summary table query", "unheard of words"):
        there, here = (
            [one.directory for one in index.match_terms(terms(query), limit=300, among=among)]
            for index in (in_lancedb, opened())
        )
        assert set(here) == set(there) <= among
        # The best of one are among the best of the other: near the cut the two weigh lengths a little differently.
        assert set(here[:10]) <= set(there[:20])


def test_the_same_skills_are_the_nearest_with_the_same_cosines(opened: Open, stored: tuple[str, int, str]) -> None:
    among = frozenset(sorted(EVERYTHING)[::2])
    in_lancedb = LanceStore(stored[0]).open_table(stored[1])
    there, here = (
        {one.directory: one.nearness for one in index.nearest_rows(query_vector(), limit=300, among=among)}
        for index in (in_lancedb, opened())
    )
    assert here == pytest.approx(there)
    assert here.keys() == among - {UNEMBEDDED}
    few = opened().nearest_rows(query_vector(), limit=3, among=among)
    assert [one.nearness for one in few] == pytest.approx(sorted(filter(None, here.values()), reverse=True)[:3])


def test_a_narrowed_search_finds_no_other(opened: Open) -> None:
    among = frozenset(sorted(EVERYTHING)[:40])
    found = opened().match_terms(terms("stamp"), limit=300, among=among, where=Filter())
    assert 0 < len(found) <= 40
    assert {one.directory for one in found} <= among


def test_among_others_than_before_others_are_found(opened: Open) -> None:
    index, (even, odd) = opened(), (frozenset(sorted(EVERYTHING)[start:40:2]) for start in (0, 1))
    for among in (even, odd, even):
        assert {one.directory for one in index.match_terms(WORDS, limit=300, among=among)} <= among
        assert {one.directory for one in index.nearest_rows(query_vector(), limit=300, among=among)} == among - {
            UNEMBEDDED
        }


def test_rows_are_read_by_directory_and_unknown_ones_are_left_out(opened: Open) -> None:
    (found,) = opened().get_rows(frozenset({"/library/skill-011", "/library/nobody"}), query_vector())
    assert found.directory == "/library/skill-011"
    assert found.nearness is not None
    (text_alone,) = opened().get_rows(frozenset({UNEMBEDDED}), query_vector())
    assert text_alone.nearness is None
    assert opened().get_rows(frozenset()) == []


def test_a_candidate_has_the_features_of_its_row(opened: Open, stored: tuple[str, int, str]) -> None:
    among = frozenset({"/library/skill-011"})
    (wanted,) = LanceStore(stored[0]).open_table(stored[1]).get_rows(among)
    index = opened()
    (found,) = index.match_terms(WORDS, limit=300, among=among)
    for numbers in ("lengths", "hashes", "counts", "phrases"):
        assert getattr(found.features, numbers).tolist() == getattr(wanted.features, numbers).tolist()
    assert index.terms_of([found]).lengths.tolist() == [wanted.features.lengths.tolist()]


def test_nothing_is_found_among_nobody_and_within_no_limit(opened: Open) -> None:
    index = opened()
    assert not index.match_terms(terms("stamp"), limit=0, among=EVERYTHING)
    assert not index.match_terms(terms("stamp"), limit=9, among=frozenset())
    assert not index.nearest_rows(query_vector(), limit=0, among=EVERYTHING)
    assert not index.nearest_rows(query_vector(), limit=9, among=frozenset())


def test_without_its_vectors_an_index_has_none_and_they_are_not_lost(opened: Open) -> None:
    index = opened(with_vectors=False)
    assert index.dimension is None
    assert index.lacks_vectors
    assert not index.nearest_rows(query_vector(), limit=9, among=EVERYTHING)
    found = index.match_terms(terms("stamp"), limit=9, among=EVERYTHING, vector=query_vector())
    assert {one.nearness for one in found} == {None}
    assert opened().dimension == DIMENSION


def test_an_empty_library_finds_nothing(tmp_path: Path) -> None:
    for held_rows in (0, 10):
        store = LanceStore(str(tmp_path / "db"), held_rows=held_rows)
        version = store.rebuild([], dimension=None)
        for _ in range(2):
            index = store.open(version, created_as=store.open_table(version).table_id)
            assert not index.match_terms(["stamp"], limit=9, among=frozenset())
            assert index.statistics.skills == 0
