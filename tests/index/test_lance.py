"""The LanceDB table: its rows, its search results, and readers that keep their version."""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.search.builders import WordEmbedder, index_of, make_skill, names, row, text_hits

from skillhub_mcp.index import lance, lance_store, segment, versions
from skillhub_mcp.index.features import decode_features
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.lance_store import IN_MEMORY, LanceStore
from skillhub_mcp.index.rows import IndexRow
from skillhub_mcp.index.segment import SegmentBuilder
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.state import FIRST_TABLE
from skillhub_mcp.index.statistics import StatisticsBuilder
from skillhub_mcp.skills.model import Skill

PDF = make_skill(
    "pdf-invoice-extractor",
    "Extract invoice numbers and key fields from invoice PDFs.",
    category="finance",
    tags=("billing", "accounts payable"),
)
REVIEW = make_skill("code-review", "Review a pull request.", category="development", tags=("quality",))
CHART = make_skill("chart", "Draw a diagram of numbers.", metadata={"skillhub.tags": "", "who": "me"})
LIBRARY = (PDF, REVIEW, CHART)


def opened(db_path: Path, version: int) -> Any:
    import lancedb

    table = lancedb.connect(str(db_path)).open_table(FIRST_TABLE)
    table.checkout(version)
    return table


@pytest.mark.slow
@pytest.mark.acceptance("S2-45")
def test_the_table_has_the_specified_fields_and_no_vector_without_embeddings(tmp_path: Path) -> None:
    index = index_of(tmp_path / "db", LIBRARY)
    fields = set(opened(tmp_path / "db", index.version).schema.names)
    specified = {"name", "description", "category", "tags", "tags_text", "instructions", "path", "metadata"}
    assert fields == specified | {"root", "content_hash", "features"}
    assert index.dimension is None


@pytest.mark.acceptance("S2-45")
def test_with_embeddings_there_is_a_vector_of_their_dimension(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    index = store.open_table(store.rebuild([row(PDF, vector=[1.0, 0.0, 0.0])], dimension=3))
    (stored,) = opened(tmp_path / "db", index.version).search().limit(5).to_list()
    assert stored["vector"] == [1.0, 0.0, 0.0]
    assert index.dimension == 3


@pytest.mark.acceptance("S2-45", "S2-46")
def test_a_row_holds_the_skill_its_body_and_its_metadata(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF, "# Body\n\n---\nas written\r\n"), row(CHART)], dimension=None)
    found = opened(tmp_path / "db", version).search().limit(5).to_list()
    by_name = {stored["name"]: stored for stored in found}
    assert decode_features(by_name[PDF.name].pop("features")).lengths.tolist() == [3, 7, 3, 1, 2]
    assert by_name[PDF.name] == {
        "name": PDF.name,
        "description": PDF.description,
        "category": "finance",
        "tags": ["billing", "accounts payable"],
        "tags_text": "billing accounts payable",
        "instructions": "# Body\n\n---\nas written\r\n",
        "path": PDF.directory,
        "root": "",
        "metadata": "{}",
        "content_hash": PDF.stamp.content_hash,
    }
    assert json.loads(by_name["chart"]["metadata"]) == {"skillhub.tags": "", "who": "me"}
    assert by_name["chart"]["category"] is None
    assert by_name["chart"]["tags"] == []


@pytest.mark.acceptance("S2-47")
def test_the_indexes_are_the_specified_ones_and_the_body_has_none(tmp_path: Path) -> None:
    index = index_of(tmp_path / "db", LIBRARY)
    kinds: dict[str, set[str]] = {}
    for found in opened(tmp_path / "db", index.version).list_indices():
        for column in found.columns:
            kinds.setdefault(column, set()).add(found.index_type.upper())
    assert {column for column, kind in kinds.items() if "FTS" in kind} == {
        "name",
        "description",
        "tags_text",
        "category",
    }
    assert "BITMAP" in kinds["category"]
    assert kinds["tags"] == {"LABELLIST"}
    assert "instructions" not in kinds


def unmerged(db: Path, version: int) -> int:
    return int(opened(db, version).index_stats("description_idx").num_unindexed_rows)


@pytest.mark.slow
@pytest.mark.acceptance("S2-47")
def test_the_indexes_outlast_updates_and_merging(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF)], dimension=None)
    before = [str(found) for found in opened(tmp_path / "db", version).list_indices()]
    few, too_many = (
        [row(make_skill(f"extra-{number:04}", "Another.")) for number in range(count)]
        for count in (30, lance_store._MERGE_AFTER_ROWS + 1)
    )
    added = store.update(few, removed=[], dimension=None, published=version)
    assert unmerged(tmp_path / "db", added) == 30
    merged = store.tidy(added)
    at_once = store.update(too_many, removed=[], dimension=None, published=merged)
    for version in (merged, at_once):
        assert len(opened(tmp_path / "db", version).list_indices()) == len(before)
        assert unmerged(tmp_path / "db", version) == 0


@pytest.mark.acceptance("S2-12")
@pytest.mark.parametrize(
    ("query", "found"),
    [("invoice", [PDF]), ("extractor", [PDF]), ("billing", [PDF]), ("finance", [PDF]), ("pull request", [REVIEW])],
)
def test_name_description_tags_and_category_are_searched(tmp_path: Path, query: str, found: list[Skill]) -> None:
    index = index_of(tmp_path / "db", LIBRARY)
    assert names(index, query, among=LIBRARY) == [skill.name for skill in found]


@pytest.mark.acceptance("S2-12")
def test_the_body_is_not_searched_by_match_fields(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    index = store.open(store.rebuild([row(PDF, "zebra crossing"), row(CHART)], dimension=None))
    assert names(index, "zebra", among=LIBRARY) == [PDF.name]
    assert index.table.match_fields("zebra", limit=10) == []
    assert index.table.match_fields("invoice numbers", limit=10) == [PDF.directory, CHART.directory]
    assert index.table.match_fields("invoice numbers", limit=1) == [PDF.directory]


@pytest.mark.acceptance("S2-13")
@pytest.mark.parametrize("query", ["BILLING", "Billing", "FINANCE", "Finance", "PDF-Invoice-Extractor", "InVoice"])
def test_letter_case_makes_no_difference(tmp_path: Path, query: str) -> None:
    index = index_of(tmp_path / "db", LIBRARY)
    assert names(index, query, among=LIBRARY) == [PDF.name]


SCRIPTS = (
    make_skill("ja", "請求書のPDFから番号を抽出する。コードの確認もできる。"),
    make_skill("zh", "从发票中提取号码并翻译成英文。"),
    make_skill("ko", "송장에서 번호를 추출하고 표로 만듭니다."),
    make_skill("ru", "Извлекает номера счетов из документов."),
    make_skill("en", "Bake bread at home."),
)
IN_OTHER_SCRIPTS = [
    ("請求書", "ja"),
    ("番号を抽出", "ja"),
    ("コード", "ja"),
    ("发票", "zh"),
    ("翻译", "zh"),
    ("번호를", "ko"),
    ("송장에서", "ko"),
    ("номера счетов", "ru"),
]


@pytest.mark.acceptance("S2-21")
@pytest.mark.parametrize(("query", "found"), IN_OTHER_SCRIPTS)
def test_a_query_in_another_script_finds_what_is_written_in_it(tmp_path: Path, query: str, found: str) -> None:
    index = index_of(tmp_path / "db", SCRIPTS)
    assert names(index, query, among=SCRIPTS)[:1] == [found]


@pytest.mark.acceptance("S2-21")
@pytest.mark.parametrize(("query", "found"), IN_OTHER_SCRIPTS)
def test_rows_that_no_index_has_merged_yet_are_found_alike(tmp_path: Path, query: str, found: str) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF)], dimension=None)
    version = store.update([row(skill) for skill in SCRIPTS], removed=[], dimension=None, published=version)
    index = store.open(version)
    assert names(index, query, among=SCRIPTS)[:1] == [found]


@pytest.mark.slow
@pytest.mark.acceptance("S2-21")
@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'",
        '"invoice',
        "invoice'",
        "'; DROP TABLE skills; --",
        "*",
        "inv*",
        "name:invoice",
        ":",
        "invoice AND",
        "AND OR NOT",
        "(invoice",
        "invoice)",
        "+invoice -pdf",
        "invoice^3",
        "invoice~2",
        "[a TO b]",
        "{}",
        "\\",
        "/regex/",
        "🦀",
        "invoice 🦀 請求書",
        "%s %d",
        "a" * 2_000,
        "\u200b",
        "-",
        "the of and",
    ],
)
def test_characters_with_a_meaning_elsewhere_are_only_characters(tmp_path: Path, query: str) -> None:
    index = index_of(tmp_path / "db", LIBRARY)
    found = names(index, query, among=LIBRARY)
    assert (PDF.name in found) == ("invoice" in query)


@pytest.mark.parametrize("count", [3, 999, 1_000, 1_001, 1_200])
def test_only_what_may_be_served_is_found_however_many_that_is(tmp_path: Path, count: int) -> None:
    library = [make_skill(f"skill-{number:05}", "Sorts stamps.") for number in range(1_300)]
    index = index_of(tmp_path / "db", library)
    served = library[-count:]
    assert sorted(names(index, "stamps", among=served, limit=2_000)) == [skill.name for skill in served]
    assert len(names(index, "stamps", among=served, limit=40)) == min(40, count)


def test_the_best_of_many_is_found_where_the_better_ones_may_not_be_served(tmp_path: Path) -> None:
    hidden = [make_skill(f"stamps-stamps-{number:05}", "stamps " * 5) for number in range(1_100)]
    served = [make_skill(f"other-{number:05}", "Sorts coins.") for number in range(1_100)]
    wanted = make_skill("wanted", "Sorts coins, letters, maps, keys and now and then a few stamps too.")
    index = index_of(tmp_path / "db", [*hidden, *served, wanted])
    assert names(index, "stamps", among=[*served, wanted], limit=4) == ["wanted"]


ODD_PATHS = [
    "/lib/it's",
    "/lib/''",
    '/lib/say "hi"',
    "/lib/a' OR '1'='1",
    "/lib/back\\slash",
    "/lib/per%cent_",
    "/lib/a;b--c",
    "/lib/請求書",
    "/lib/new\nline",
]


@pytest.mark.slow
def test_paths_with_quotes_are_found_changed_and_removed_as_what_they_are(tmp_path: Path) -> None:
    library = [make_skill(f"odd-{number}", "Odd one.", directory=path) for number, path in enumerate(ODD_PATHS)]
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(skill) for skill in library], dimension=None)
    for skill in library:
        assert names(store.open(version), "odd", among=[skill]) == [skill.name]
    changed = [make_skill(skill.name, "New text.", directory=skill.directory) for skill in library]
    version = store.update([row(skill) for skill in changed], removed=[], dimension=None, published=version)
    assert store.open_table(version).count() == len(library)
    assert sorted(names(store.open(version), "text", among=changed)) == [skill.name for skill in library]
    for left, path in reversed(list(enumerate(ODD_PATHS))):
        version = store.update([], removed=[path], dimension=None, published=version)
        assert store.open_table(version).stored().keys() == set(ODD_PATHS[:left])


def test_a_path_is_matched_whole_and_by_letter_case(tmp_path: Path) -> None:
    upper, lower = (make_skill("stamps", directory=path) for path in ("/lib/A", "/lib/a"))
    index = index_of(tmp_path / "db", [upper, lower, make_skill("stamps", directory="/lib/a/b")])
    hits = text_hits(index, "stamps", among=frozenset({"/lib/A"}))
    assert [hit.directory for hit in hits] == ["/lib/A"]


def test_the_nearest_vectors_are_found_best_first(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    vectors = embedder.embed_documents([skill.searchable_text for skill in LIBRARY])
    store = LanceStore(str(tmp_path / "db"))
    rows = [row(skill, vector=vector) for skill, vector in zip(LIBRARY, vectors, strict=True)]
    index = store.open(store.rebuild(rows, dimension=embedder.dimension))
    found = index.nearest(vectors[1], 10, frozenset({skill.directory for skill in LIBRARY}))
    assert index.directories[found[0]] == REVIEW.directory
    near = index.cosines(vectors[1], found).tolist()
    assert near[0] == pytest.approx(1.0)
    assert len(near) == len(LIBRARY)
    assert near == sorted(near, reverse=True)
    only = index.nearest(vectors[1], 10, frozenset({PDF.directory}))
    assert [index.directories[number] for number in only.tolist()] == [PDF.directory]


def test_a_row_without_a_vector_is_found_by_text_and_not_by_vector(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF, vector=[1.0, 0.0])], dimension=2)
    index = store.open(store.update([row(REVIEW)], removed=[], dimension=2, published=version))
    everything = frozenset({PDF.directory, REVIEW.directory})
    found = index.nearest([1.0, 0.0], 10, everything)
    assert [index.directories[number] for number in found.tolist()] == [PDF.directory]
    assert names(index, "pull request", among=LIBRARY) == [REVIEW.name]
    assert index.table.vectors([PDF.directory, REVIEW.directory]).keys() == {PDF.directory}


def test_vectors_that_are_not_to_be_used_are_as_if_they_were_not_there(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF, vector=[1.0, 0.0])], dimension=2)
    for open_ in (store.open, store.open_table):
        assert open_(version).dimension == 2
        assert open_(version, with_vectors=False).dimension is None
    assert store.open(version, with_vectors=False).nearest([1.0, 0.0], 9, frozenset({PDF.directory})).tolist() == []


def test_the_vectors_of_many_rows_are_read_in_portions(tmp_path: Path) -> None:
    library = [make_skill(f"skill-{number:04}") for number in range(lance.PATHS_PER_STATEMENT + 3)]
    store = LanceStore(str(tmp_path / "db"))
    rows = [row(skill, vector=[float(number), 1.0]) for number, skill in enumerate(library)]
    index = store.open_table(store.rebuild(rows, dimension=2))
    found = index.vectors([skill.directory for skill in library])
    assert [found[skill.directory].vector[0] for skill in library] == [float(n) for n in range(len(library))]
    assert found[library[7].directory].text == library[7].searchable_text


def test_an_update_changes_adds_and_removes_each_row_once(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF), row(REVIEW)], dimension=None)
    changed = make_skill(PDF.name, "Now about receipts.", directory=PDF.directory)
    version = store.update([row(changed), row(CHART)], removed=[REVIEW.directory], dimension=None, published=version)
    index = store.open(version)
    assert index.table.count() == 2
    assert index.table.stored().keys() == {PDF.directory, CHART.directory}
    assert names(index, "receipts", among=LIBRARY) == [PDF.name]
    assert names(index, "key fields", among=LIBRARY) == []


def test_an_empty_library_has_an_index_that_finds_nothing_and_can_grow(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([], dimension=None)
    assert store.open_table(version).count() == 0
    assert names(store.open(version), "invoice", among=LIBRARY) == []
    version = store.update([row(PDF), *map(row, SCRIPTS)], removed=[], dimension=None, published=version)
    assert names(store.open(version), "invoice", among=LIBRARY) == [PDF.name]
    assert names(store.open(version), "請求書", among=SCRIPTS) == ["ja"]


def test_the_first_index_of_skills_too_large_for_one_block_makes_its_own_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "_RUN_POSTINGS", 1)
    assert index_of(tmp_path / "home" / "db", LIBRARY).directories == [skill.directory for skill in LIBRARY]


def test_a_library_of_more_than_one_batch_is_written_whole(tmp_path: Path) -> None:
    library = [make_skill(f"skill-{number:05}") for number in range(2 * lance_store._BATCH_ROWS + 1)]
    index = index_of(tmp_path / "db", library)
    assert index.table.count() == len(index.directories) == len(library)


def test_a_reader_keeps_its_version_while_the_table_is_rebuilt_and_after(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    reader = store.open(store.rebuild([row(PDF)], dimension=None))
    answers: list[list[str]] = []
    writing, answered = threading.Event(), threading.Event()

    def slowly() -> Iterator[IndexRow]:
        for number in range(2 * lance_store._BATCH_ROWS):
            yield row(make_skill(f"other-{number:05}"))
            if number in {10, lance_store._BATCH_ROWS + 10}:
                writing.set()
                # While this batch is computed, a search runs.
                assert answered.wait(20)
                answered.clear()
        yield row(CHART)

    def ask() -> None:
        for _ in range(2):
            assert writing.wait(20)
            writing.clear()
            answers.append(names(reader, "invoice", among=LIBRARY))
            answered.set()

    asker = threading.Thread(target=ask)
    asker.start()
    version = LanceStore(str(tmp_path / "db")).rebuild(slowly(), dimension=None, published=reader.version)
    asker.join()
    assert answers == [[PDF.name], [PDF.name]]
    assert names(reader, "invoice", among=LIBRARY) == [PDF.name]
    assert names(store.open(version), "numbers", among=LIBRARY) == [CHART.name]


def test_a_reader_keeps_its_version_while_another_thread_updates(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    published = store.rebuild([row(PDF), row(REVIEW)], dimension=None)
    reader = store.open(published)
    found: list[list[str]] = []

    def ask() -> None:
        found.extend(names(reader, "invoice", among=LIBRARY) for _ in range(40))

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    version = published
    for _ in range(5):
        version = store.update([row(CHART)], removed=[PDF.directory], dimension=None, published=version)
    for asker in askers:
        asker.join()
    assert found == [[PDF.name]] * 120


def test_a_writer_that_fails_half_way_changes_nothing(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF)], dimension=None)

    def broken() -> Iterator[IndexRow]:
        yield row(REVIEW)
        raise ValueError("the disk went away")

    with pytest.raises(IndexDamaged, match="the disk went away"):
        store.rebuild(broken(), dimension=None)
    with pytest.raises(IndexDamaged, match="the disk went away"):
        store.update(broken(), removed=[PDF.directory], dimension=None, published=version)
    assert store.open_table(version).stored().keys() == {PDF.directory}


def test_what_a_killed_writer_left_behind_is_undone_by_the_next(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    published = store.rebuild([row(PDF)], dimension=None)
    # Two writers that were killed before they published: one after an update, one within a rebuild.
    store.update([row(REVIEW)], removed=[PDF.directory], dimension=None, published=published)
    schema = lance_store._schema(3, {lance.TABLE_ID: b"c0ffee"})
    store._connect().create_table(
        FIRST_TABLE,
        data=lance_store._batches([row(REVIEW, vector=[1.0] * 3)], schema, StatisticsBuilder(), SegmentBuilder()),
        schema=schema,
        mode="overwrite",
    )
    version = store.update([row(CHART)], removed=[], dimension=None, published=published)
    assert store.open_table(version).stored().keys() == {PDF.directory, CHART.directory}
    assert store.open_table(version).dimension is None
    assert len(opened(tmp_path / "db", version).list_indices()) == 7


def test_a_table_without_its_text_index_is_damaged(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    store.rebuild([row(PDF)], dimension=None)
    table = store._connect().open_table(FIRST_TABLE)
    table.drop_index(lance_store._WATCHED_INDEX)
    with pytest.raises(IndexDamaged, match="full-text index"):
        store.update([row(REVIEW)], removed=[], dimension=None, published=int(table.version))


def bytes_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def keep_versions_for(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "KEPT_SECONDS", seconds)


@pytest.mark.slow
def test_old_versions_are_removed_in_time_but_never_one_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_versions_for(0.2, monkeypatch)
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF)], dimension=None)
    counts: list[int] = []
    for _ in range(50):
        published = version
        reader = store.open(published)
        version = store.update([row(PDF)], removed=[REVIEW.directory], dimension=None, published=published)
        assert names(reader, "invoice", among=LIBRARY) == [PDF.name]
        counts.append(len(opened(tmp_path / "db", version).list_versions()))
    assert max(counts) < 50
    assert any(later < earlier for earlier, later in itertools.pairwise(counts))


def test_a_version_that_was_published_for_days_stays_for_those_who_read_it_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance_store, "_UNREAD_VERSIONS", 0)
    store = LanceStore(str(tmp_path / "db"))
    first = store.rebuild([row(PDF)], dimension=None)
    days_ago = time.time() - 1_000_000
    for manifest in (tmp_path / "db" / f"{FIRST_TABLE}.lance" / "_versions").glob("*.manifest"):
        os.utime(manifest, (days_ago, days_ago))
    reader = store.open(first)
    second = store.update([row(REVIEW)], removed=[], dimension=None, published=first)
    store.update([row(REVIEW, "More.")], removed=[], dimension=None, published=second)
    assert names(reader, "invoice", among=LIBRARY) == [PDF.name]
    assert names(LanceStore(str(tmp_path / "db")).open(first), "invoice", among=LIBRARY) == [PDF.name]


def random_bodies(count: int) -> list[str]:
    """Bodies that no two of have much in common, so that files of them cannot be compressed to nothing."""
    choose = random.Random(7)
    return [" ".join(f"word{choose.randrange(100_000)}" for _ in range(1_000)) for _ in range(count)]


@pytest.mark.slow
def test_many_small_changes_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_versions_for(0.0, monkeypatch)
    store = LanceStore(str(tmp_path / "db"))
    library = [make_skill(f"skill-{number:03}", f"Does {number}.") for number in range(300)]
    bodies = random_bodies(len(library))
    version = store.rebuild([row(*pair) for pair in zip(library, bodies, strict=True)], dimension=None)
    fresh, sizes = bytes_below(tmp_path / "db"), []
    for number in range(50):
        at = number * 7 % 300
        changed = row(library[at], f"other{number} {bodies[at]}")
        version = store.update([changed], removed=[], dimension=None, published=version)
        version = version if store.is_tidy else store.tidy(version)
        sizes.append(bytes_below(tmp_path / "db"))
    # While a merge is being published both of its tables are there.
    assert max(sizes) < 3 * fresh
    assert sum(size < 2 * fresh for size in sizes) > 40
    assert store.open_table(version).count() == 300
    assert names(store.open(version), "other49", among=library) == [library[49 * 7 % 300].name]


@pytest.mark.slow
def test_what_a_merge_replaced_stays_while_it_is_read_and_is_tidied_up_without_another_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LanceStore(str(tmp_path / "db"))
    library = [make_skill(f"skill-{number:03}", f"Does {number}.") for number in range(100)]
    bodies = random_bodies(len(library))
    first = store.rebuild([row(skill, f"penguin {bodies.pop()}") for skill in library], dimension=None)
    fresh = bytes_below(tmp_path / "db")
    bodies = random_bodies(60)
    changed = [row(skill, f"walrus {bodies.pop()}") for skill in library[:60]]
    second = store.update(changed, removed=[], dimension=None, published=first)
    assert not store.is_tidy
    merged = store.tidy(second)
    assert merged > second
    assert opened(tmp_path / "db", merged).stats()["fragment_stats"]["num_fragments"] == 1
    assert bytes_below(tmp_path / "db") > 1.8 * fresh
    assert len(names(LanceStore(str(tmp_path / "db")).open(first), "penguin", among=library)) == 100
    for version in (second, merged):
        assert len(names(LanceStore(str(tmp_path / "db")).open(version), "walrus", among=library)) == 60
    assert store.is_tidy
    keep_versions_for(0.0, monkeypatch)
    monkeypatch.setattr(store, "_tidy_at", 0.0)
    assert not store.is_tidy
    assert store.tidy(merged) == merged
    assert store.is_tidy
    assert bytes_below(tmp_path / "db") < 1.5 * fresh
    assert len(names(LanceStore(str(tmp_path / "db")).open(merged), "walrus", among=library)) == 60
    assert int(opened(tmp_path / "db", merged).version) == merged


def test_a_merge_behind_what_a_killed_writer_left_waits_for_the_next_update(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    first = store.rebuild([row(PDF)], dimension=None)
    many = [row(make_skill(f"extra-{number:04}", "Another.")) for number in range(30)]
    published = store.update(many, removed=[], dimension=None, published=first)
    store.update([row(REVIEW)], removed=[], dimension=None, published=published)
    assert store.tidy(published) == published
    version = store.update([row(CHART)], removed=[], dimension=None, published=published)
    merged = store.tidy(version)
    assert unmerged(tmp_path / "db", merged) == 0
    assert names(store.open(merged), "pull request", among=LIBRARY) == []
    assert store.open_table(merged).count() == 32


def test_what_a_writer_left_that_was_killed_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF)], dimension=None)
    left = tmp_path / "db" / f"{FIRST_TABLE}.lance" / "data" / "half-written.lance"
    left.write_bytes(b"x" * 1_000)
    store.rebuild([row(PDF)], dimension=None, published=version)
    assert not left.exists()


@pytest.mark.slow
def test_rebuilding_again_and_again_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_versions_for(0.0, monkeypatch)
    store = LanceStore(str(tmp_path / "db"))
    library = [make_skill(f"skill-{number:03}", "A description. " * 20) for number in range(200)]
    sizes: list[int] = []
    version = None
    for _ in range(6):
        version = store.rebuild([row(skill, "body " * 200) for skill in library], dimension=None, published=version)
        sizes.append(bytes_below(tmp_path / "db"))
    # The one that is read, the one that is new.
    assert sizes[-1] < 3 * sizes[0]


def test_a_missing_table_and_a_missing_version_are_damage(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    assert not store.exists
    with pytest.raises(IndexDamaged):
        store.open_table(1)
    version = store.rebuild([row(PDF)], dimension=None)
    assert store.exists
    with pytest.raises(IndexDamaged):
        store.open_table(version + 100)


def test_a_table_that_was_deleted_under_an_open_store_does_not_exist(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    store.rebuild([row(PDF)], dimension=None)
    store.discard()
    assert not store.exists
    store.discard()
    version = store.rebuild([row(REVIEW)], dimension=None)
    assert store.open_table(version).stored().keys() == {REVIEW.directory}


def test_another_process_may_replace_the_whole_directory(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(PDF)], dimension=None)
    assert names(store.open(version), "invoice", among=LIBRARY) == [PDF.name]
    other = LanceStore(str(tmp_path / "db"))
    other.discard()
    assert other.rebuild([row(REVIEW)], dimension=None) == version
    assert names(store.open(version), "invoice", among=LIBRARY) == []
    assert names(store.open(version), "request", among=LIBRARY) == [REVIEW.name]


def test_an_index_in_memory_is_whole_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = LanceStore(IN_MEMORY)
    assert not store.exists
    version = store.rebuild([row(skill) for skill in LIBRARY], dimension=None)
    version = store.update([row(SCRIPTS[0])], removed=[CHART.directory], dimension=None, published=version)
    assert store.exists
    assert names(store.open(version), "invoice", among=LIBRARY) == [PDF.name]
    assert names(store.open(version), "請求書", among=SCRIPTS) == ["ja"]
    assert list(tmp_path.iterdir()) == []


def test_two_indexes_in_memory_are_separate() -> None:
    one, two = LanceStore(IN_MEMORY), LanceStore(IN_MEMORY)
    first = one.rebuild([row(PDF)], dimension=None)
    two.rebuild([row(REVIEW)], dimension=None)
    assert one.open_table(first).stored().keys() == {PDF.directory}


def test_many_threads_may_query_one_index(tmp_path: Path) -> None:
    index = index_of(tmp_path / "db", LIBRARY)
    wrong: list[object] = []

    def ask(index: SkillIndex) -> None:
        answers = [names(index, "invoice", among=LIBRARY) for _ in range(20)]
        wrong.extend(found for found in answers if found != [PDF.name])

    threads = [threading.Thread(target=ask, args=(index,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
