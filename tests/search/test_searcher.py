"""One search from the text to ranked hits, over a real index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.search.builders import WordEmbedder, make_skill, search_index

from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker
from skillhub_mcp.errors import RerankingError
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.search.hits import Reason
from skillhub_mcp.search.searcher import Searcher, SearchMode, SearchRequest, SearchResult
from skillhub_mcp.skills.model import Skill

LIBRARY = (
    make_skill("invoice-sorter", "Sort invoices into folders."),
    make_skill("table-reader", "Read tables out of a PDF."),
    make_skill("bread", "Bake bread at home."),
)
EVERYTHING = frozenset(skill.directory for skill in LIBRARY)


def stored(tmp_path: Path, skills: Sequence[Skill] = LIBRARY, embedder: WordEmbedder | None = None) -> SearchIndex:
    vectors = () if embedder is None else embedder.embed_documents([s.searchable_text for s in skills])
    return search_index(tmp_path, skills, vectors=vectors)


def found(searcher: Searcher, index: SearchIndex, query: str, *, limit: int = 40) -> SearchResult:
    return searcher.search(index, SearchRequest(query, limit=limit, among=EVERYTHING))


def names(answer: SearchResult) -> list[str]:
    return [hit.directory.rsplit("/", 1)[1] for hit in answer.hits]


@pytest.mark.acceptance("S2-8")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("sort my invoices", "invoice-sorter"),
        ("sort my invoces", "invoice-sorter"),
        ("die Rechnungen sortieren", "invoice-sorter"),
        ("請求書を整理したい", "invoice-sorter"),
        ("读取 PDF 表格", "table-reader"),
        ("prendre des tableaux dans un PDF", "table-reader"),
    ],
)
def test_a_skill_is_found_by_any_wording(tmp_path: Path, query: str, first: str) -> None:
    assert names(found(Searcher(), stored(tmp_path), query))[0] == first


def test_each_mode_uses_its_own_candidates(tmp_path: Path) -> None:
    embedder = WordEmbedder(dimension=64)
    index = stored(tmp_path, embedder=embedder)
    by_mode = {mode: found(Searcher(mode=mode, embedder=embedder), index, "bake bread") for mode in SearchMode}
    reasons = {mode: {hit.reason for hit in answer.hits} for mode, answer in by_mode.items()}
    assert reasons[SearchMode.FTS] == {Reason.TEXT}
    assert reasons[SearchMode.VECTOR] == {Reason.VECTOR}
    assert reasons[SearchMode.HYBRID] == reasons[SearchMode.AUTO] == {Reason.BOTH, Reason.VECTOR}
    assert all(names(answer)[0] == "bread" for answer in by_mode.values())


def test_word_vectors_add_candidates_only_if_text_finds_few(tmp_path: Path) -> None:
    class Local(WordEmbedder):
        is_instant = True

    embedder = Local(dimension=64)
    index = stored(tmp_path, embedder=embedder)
    enough = found(Searcher(embedder=embedder), index, "bread", limit=1)
    assert [(hit.directory, hit.reason) for hit in enough.hits] == [("/library/bread", Reason.BOTH)]
    too_few = found(Searcher(embedder=embedder), index, "bread", limit=2)
    assert {hit.reason for hit in too_few.hits} == {Reason.BOTH, Reason.VECTOR}


@pytest.mark.parametrize("local", [True, False], ids=["by words", "by sentences"])
@pytest.mark.parametrize(
    ("query", "apart"), [("bake bread", True), ("bake bread " * 30, False)], ids=["plain", "pasted"]
)
def test_the_farther_of_two_distant_skills_ranks_lower(tmp_path: Path, local: bool, query: str, apart: bool) -> None:
    class Fixed(WordEmbedder):
        is_instant = local

        def _vector(self, text: str) -> Vector:
            return [1.0, 0.0] if text else []

    skills = [make_skill(name, "Bake bread.") for name in ("farther", "faraway")]
    index = search_index(tmp_path, skills, vectors=([-0.6, 0.8], [0.1, 0.995]))
    request = SearchRequest(query, limit=2, among=frozenset(skill.directory for skill in skills))
    answer = Searcher(embedder=Fixed(dimension=2)).search(index, request)
    first, second = answer.hits
    assert (first.score > second.score) is apart
    assert names(answer)[0] == ("faraway" if apart else "farther")
    assert list(answer.nearness) == [0.0, 0.0]


def test_query_vectors_are_cached(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    index = stored(tmp_path, embedder=embedder)
    searcher = Searcher(embedder=embedder)
    for _ in range(3):
        found(searcher, index, "bake bread")
    assert embedder.queries == ["bake bread"]


def test_a_failed_provider_is_not_called_during_its_pause(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    index = stored(tmp_path, embedder=embedder)
    now = [0.0]
    searcher = Searcher(embedder=embedder, clock=lambda: now[0])
    embedder.fails = True
    assert {hit.reason for hit in found(searcher, index, "bake bread").hits} == {Reason.TEXT}
    embedder.fails = False
    assert {hit.reason for hit in found(searcher, index, "bake bread").hits} == {Reason.TEXT}
    now[0] = 31.0
    assert Reason.BOTH in {hit.reason for hit in found(searcher, index, "bake bread").hits}


def stored_without(tmp_path: Path, embedder: WordEmbedder, name: str) -> SearchIndex:
    """The library's index, in which the skill of that name has no vector yet."""
    texts = [None if skill.name == name else skill.searchable_text for skill in LIBRARY]
    vectors = [None if text is None else embedder.embed_documents([text])[0] for text in texts]
    return search_index(tmp_path, LIBRARY, vectors=vectors)


@pytest.mark.parametrize("mode", [SearchMode.AUTO, SearchMode.HYBRID, SearchMode.VECTOR])
def test_a_skill_without_a_vector_is_ranked_by_text(tmp_path: Path, mode: SearchMode) -> None:
    embedder = WordEmbedder(dimension=64)
    index = stored_without(tmp_path, embedder, "bread")
    searcher = Searcher(mode=mode, embedder=embedder)
    answer = found(searcher, index, "bake bread at home")
    assert (names(answer)[0], answer.hits[0].reason) == ("bread", Reason.TEXT)
    # The others have theirs, and are found by them.
    assert {hit.reason for hit in answer.hits[1:]} <= {Reason.VECTOR, Reason.BOTH}
    first = found(searcher, index, "read tables out of a PDF").hits[0]
    assert (first.directory, first.reason) == ("/library/table-reader", Reason.BOTH)


def test_vector_mode_waits_until_every_skill_has_a_vector(tmp_path: Path) -> None:
    embedder = WordEmbedder(dimension=64)
    searcher = Searcher(mode=SearchMode.VECTOR, embedder=embedder)
    assert found(searcher, stored_without(tmp_path, embedder, "bread"), "bake bread").mode == "hybrid"
    assert found(searcher, stored(tmp_path, embedder=embedder), "bake bread").mode == "vector"
    assert found(searcher, stored(tmp_path), "bake bread").mode == "fts"


def test_a_query_vector_of_another_length_counts_as_a_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder = WordEmbedder(dimension=64)
    index = stored(tmp_path, embedder=embedder)
    searcher = Searcher(embedder=embedder)
    embedder.dimension = 32
    assert found(searcher, index, "bake bread").mode == "fts"
    assert found(searcher, index, "bake a cake").mode == "fts"
    assert len(embedder.queries) == 1
    assert "has 32 numbers, those of the index 64" in caplog.text


def test_a_failure_during_indexing_pauses_searches_too(tmp_path: Path) -> None:
    embedder, breaker = WordEmbedder(), CircuitBreaker(30.0)
    searcher = Searcher(embedder=embedder, embedder_breaker=breaker)
    breaker.record_failure()
    assert found(searcher, stored(tmp_path, embedder=embedder), "bake bread").mode == "fts"
    assert embedder.queries == []


class Judge:
    """Calls the skills of those names fitting, in that order."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.fails = False
        self.shown: list[list[tuple[str, str]]] = []

    def rerank(self, query: str, skills: Sequence[tuple[str, str]]) -> list[float]:
        del query
        self.shown.append(list(skills))
        if self.fails:
            raise RerankingError("the test's model is down")
        return [2.0 - self.names.index(name) / 10 if name in self.names else 0.0 for name, _ in skills]


def describe(directory: str) -> tuple[str, str]:
    skill = next(skill for skill in LIBRARY if skill.directory == directory)
    return skill.name, skill.description


def test_a_model_reorders_hits_and_sees_only_names_and_descriptions(tmp_path: Path) -> None:
    index, judge = stored(tmp_path), Judge("table-reader")
    request = SearchRequest("sort invoices, read tables", limit=40, among=EVERYTHING, describe=describe)
    without, answer = (Searcher(model=model).search(index, request) for model in (None, judge))
    assert names(without) == ["invoice-sorter", "table-reader"]
    assert names(answer) == ["table-reader", "invoice-sorter"]
    # Odds of any model's own kind say nothing of how far the second is behind.
    ratios = [one.hits[1].score / one.hits[0].score for one in (without, answer)]
    assert ratios[0] == pytest.approx(ratios[1])
    assert sorted(judge.shown[0]) == [describe("/library/invoice-sorter"), describe("/library/table-reader")]


def test_a_model_is_not_called_without_hits(tmp_path: Path) -> None:
    judge = Judge("table-reader")
    answer = Searcher(model=judge).search(stored(tmp_path), SearchRequest("xylophones", limit=40, among=EVERYTHING))
    assert (names(answer), judge.shown) == ([], [])


def test_a_failed_model_keeps_the_order_and_is_paused(tmp_path: Path) -> None:
    index, judge, now = stored(tmp_path), Judge("table-reader"), [0.0]
    searcher = Searcher(model=judge, clock=lambda: now[0])
    judge.fails = True
    for _ in range(2):
        answer = searcher.search(
            index, SearchRequest("sort invoices, read", limit=40, among=EVERYTHING, describe=describe)
        )
        assert names(answer)[0] == "invoice-sorter"
    assert len(judge.shown) == 1
    judge.fails, now[0] = False, 31.0
    answer = searcher.search(index, SearchRequest("sort invoices, read", limit=40, among=EVERYTHING, describe=describe))
    assert names(answer)[0] == "table-reader"


@pytest.mark.slow
@pytest.mark.acceptance("S2-21")
@pytest.mark.parametrize(
    "query",
    [
        "\0\0\0",
        "x" * 100_000,
        "pdf " * 25_000,
        "a AND (b OR",
        '"*:^~',
        "🦀🦀🦀",
        "請求書" * 9_000,
        "\ud800 pdf",
        "' OR 1=1 --",
    ],
)
def test_unusual_queries_are_answered(tmp_path: Path, query: str) -> None:
    answer = found(Searcher(), stored(tmp_path), query)
    assert all(0.0 <= hit.score <= 1.0 for hit in answer.hits)


def test_only_embedding_errors_are_tolerated(tmp_path: Path) -> None:
    class Broken(WordEmbedder):
        def embed_query(self, text: str) -> list[float]:
            raise ZeroDivisionError(text)

    index = stored(tmp_path, embedder=WordEmbedder())
    with pytest.raises(ZeroDivisionError):
        found(Searcher(embedder=Broken()), index, "bread")


def test_a_skill_with_the_queried_name_is_first_and_confident(tmp_path: Path) -> None:
    skills = [
        make_skill("make", "Build with rules."),
        *(make_skill(f"maker-{number}", "Make makes makers make things. " * 3) for number in range(120)),
    ]
    index = stored(tmp_path, skills)
    everything = frozenset(skill.directory for skill in skills)
    answer = Searcher().search(index, SearchRequest("make", limit=40, among=everything, named="/library/make"))
    assert (answer.hits[0].directory, answer.hits[0].score) == ("/library/make", 1.0)
    hidden = Searcher().search(
        index, SearchRequest("make", limit=40, among=everything - {"/library/make"}, named="/library/make")
    )
    assert "/library/make" not in [hit.directory for hit in hidden.hits]


@pytest.mark.parametrize("fields", [{"body"}, {"name", "body"}, {"tags", "category"}, {"description"}])
def test_only_the_selected_fields_are_searched(tmp_path: Path, fields: set[str]) -> None:
    skill = make_skill("alpha", "Beta.", tags=("gamma",), category="delta")
    index = search_index(tmp_path, [skill], ["epsilon"])
    searcher = Searcher(fields=frozenset(fields))
    words = {"name": "alpha", "description": "beta", "tags": "gamma", "category": "delta", "body": "epsilon"}
    hits = {
        field: searcher.search(index, SearchRequest(word, limit=4, among=frozenset({skill.directory}))).hits
        for field, word in words.items()
    }
    assert {field for field, found in hits.items() if found} == fields


def test_a_word_of_any_length_is_found(tmp_path: Path) -> None:
    long = "достопримечательность"
    skills = [make_skill("one", f"About {long} and {'x' * 60}."), make_skill("two", "Other.")]
    index = stored(tmp_path, skills)
    for word in (long, "x" * 60):
        hits = (
            Searcher()
            .search(index, SearchRequest(word, limit=4, among=frozenset({skill.directory for skill in skills})))
            .hits
        )
        assert [hit.directory for hit in hits] == ["/library/one"]


def test_a_hidden_skill_is_not_found_by_its_name(tmp_path: Path) -> None:
    """Whose name is asked for may be another caller's: it is no hit, and it lends its score to no other."""
    index = stored(tmp_path)
    own, other = LIBRARY[0].directory, LIBRARY[1].directory

    def search(named: str) -> list[tuple[str, float]]:
        request = SearchRequest("sort tables", limit=40, among=frozenset({own}), named=named)
        return [(hit.directory, hit.score) for hit in Searcher().search(index, request).hits]

    plain = search("")
    assert [directory for directory, _ in plain] == [own]
    assert plain[0][1] < 1.0
    assert search(other) == plain
    assert search(own) == [(own, 1.0)]
