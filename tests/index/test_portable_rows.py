"""Rows and postings by keys: libraries that moved, databases of earlier releases, and a state that was lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.index.earlier_states import write_as_format, write_as_schema_3
from tests.search.builders import Desk, WordEmbedder, published_rows, text_hits

from skillhub_mcp.index import indexer as indexer_module
from skillhub_mcp.index import lance_store
from skillhub_mcp.index.lance_store import KEYS_SINCE, LanceStore
from skillhub_mcp.index.state import load_state, remove_state, state_path

pytestmark = pytest.mark.slow

Writer = Callable[..., Path]


class Killed(BaseException):
    """Stands for a signal."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def library(place: Path, write_skill: Writer) -> tuple[Path, Path]:
    """Two roots with two skills each, one of them named alike."""
    for root, name in (("a", "walrus"), ("a", "bread"), ("b", "walrus"), ("b", "violin")):
        write_skill(name, f"About the {name} of {root}.", root=place / root)
    return place / "a", place / "b"


def found(desk: Desk, query: str) -> list[str]:
    """The directories that a search of the published index finds."""
    index = desk.indexer.open(desk.published())
    return sorted(hit.directory for hit in text_hits(index, query, among=frozenset(index.directories)))


def test_neither_the_table_nor_the_postings_name_a_directory_of_this_machine(
    tmp_path: Path, write_skill: Writer
) -> None:
    a, b = library(tmp_path / "skills", write_skill)
    db = tmp_path / "db" / "skills.lancedb"
    index = Desk(db, a, b).sync().index
    assert sorted(index.table.stored()) == ["hub-2/violin", "hub-2/walrus", "hub/bread", "hub/walrus"]
    for file in (path for path in db.rglob("*") if path.is_file()):
        assert str(tmp_path).encode() not in file.read_bytes(), file.name


@pytest.mark.parametrize("what", ["a root", "everything"])
def test_a_library_that_moved_has_nothing_written_or_embedded_again(
    tmp_path: Path, write_skill: Writer, what: str
) -> None:
    a, b = library(tmp_path / "here" / "skills", write_skill)
    db = tmp_path / "here" / "db" / "skills.lancedb"
    embedder = WordEmbedder()
    Desk(db, a, b, embedder=embedder).sync()
    embedder.texts.clear()
    if what == "a root":
        a = a.rename(a.with_name("renamed"))
    else:
        shutil.move(tmp_path / "here", tmp_path / "elsewhere")
        a, b, db = (tmp_path / "elsewhere" / path.relative_to(tmp_path / "here") for path in (a, b, db))
    desk = Desk(db, a, b, embedder=embedder)
    published = desk.sync()
    assert published.report is not None
    assert (published.report.written, published.report.removed, published.report.rebuilt) == (0, 0, False)
    assert embedder.texts == []
    assert found(desk, "walrus") == sorted([str(a / "walrus"), str(b / "walrus")])
    assert desk.indexer.reason_to_sync(desk.state(), desk.scan()) is None
    write_skill("walrus", "About another animal.", root=a)
    desk.sync()
    assert (found(desk, "animal"), len(embedder.texts)) == ([str(a / "walrus")], 1)


def test_a_library_that_was_copied_gets_rows_of_its_own_with_the_vectors_that_there_are(
    tmp_path: Path, write_skill: Writer
) -> None:
    a, b = library(tmp_path / "skills", write_skill)
    db = tmp_path / "db" / "skills.lancedb"
    embedder = WordEmbedder()
    Desk(db, a, b, embedder=embedder).sync()
    embedder.texts.clear()
    copy = Path(shutil.copytree(a, tmp_path / "copy"))
    desk = Desk(db, copy, embedder=embedder)
    published = desk.sync()
    assert embedder.texts == []
    assert not published.index.lacks_vectors
    assert published_rows(db) == ["bread", "bread", "violin", "walrus", "walrus", "walrus"]
    assert found(desk, "bread") == [str(copy / "bread"), str(a / "bread")]


def test_another_servers_root_that_is_away_is_not_taken_for_one_that_moved(tmp_path: Path, write_skill: Writer) -> None:
    a, b = library(tmp_path / "skills", write_skill)
    db = tmp_path / "db" / "skills.lancedb"
    Desk(db, a).sync()
    away = a.rename(tmp_path / "away")
    Desk(db, b).sync()
    away.rename(a)
    assert published_rows(db) == ["bread", "violin", "walrus", "walrus"]
    desk = Desk(db, a)
    assert desk.sync().report is None
    assert found(desk, "bread") == [str(a / "bread")]


# Databases of earlier releases


def earlier(place: Path, write_skill: Writer, number: int = 5) -> tuple[Path, Path, Path, WordEmbedder]:
    """The database of two servers as a release before keys left it, with a state of that format."""
    a, b = library(place / "skills", write_skill)
    db = place / "db" / "skills.lancedb"
    embedder = WordEmbedder()
    Desk(db, a, embedder=embedder).sync()
    Desk(db, b, embedder=embedder).sync()
    write_as_schema_3(db, with_id=number > 3)
    if number < 5:
        write_as_format(number, Path(state_path(str(db))))
    embedder.texts.clear()
    return db, a, b, embedder


@pytest.mark.parametrize("number", [3, 4, 5])
def test_a_database_with_directories_in_its_rows_gets_keys_and_nothing_embedded_again(
    tmp_path: Path, write_skill: Writer, number: int
) -> None:
    db, a, b, embedder = earlier(tmp_path, write_skill, number)
    one = Desk(db, a, embedder=embedder)
    report = one.sync().report
    assert report is not None
    assert (report.written, report.rebuilt) == (0, False)
    two = Desk(db, b, embedder=embedder)
    assert two.sync().report is None
    assert embedder.texts == []
    state = one.published()
    assert (state.schema, sorted(state.roots)) == (KEYS_SINCE, [str(a), str(b)])
    index = one.indexer.open(state)
    assert sorted(index.table.stored()) == ["hub-2/violin", "hub-2/walrus", "hub/bread", "hub/walrus"]
    assert (index.lacks_vectors, index.table.embedding) == (False, embedder.identity)
    assert found(one, "walrus") == [str(a / "walrus"), str(b / "walrus")]
    assert tuple(one.indexer.damages(state)) == ()


@pytest.mark.parametrize("step", ["_create_indexes", "_pieces", "save_state", "note_checksums", "write_segment"])
def test_whoever_is_killed_while_the_rows_get_keys_leaves_the_index_before_and_the_next_completes_it(
    tmp_path: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    db, a, b, embedder = earlier(tmp_path, write_skill)
    before = load_state(state_path(str(db)))
    assert before is not None
    module = indexer_module if step == "save_state" else lance_store
    with monkeypatch.context() as patch:
        if step == "write_segment":
            patch.setattr("skillhub_mcp.index.segment_files.write_segment", killed)
        else:
            patch.setattr(module, step, killed)
        with pytest.raises(Killed):
            Desk(db, a, embedder=embedder).sync()
    # As the release before reads it: the published version is there, whole.
    assert load_state(state_path(str(db))) == before
    index = LanceStore(str(db)).open_table(before.table_version, created_as=before.table.id)
    assert sorted(index.vectors()) == sorted(map(str, (a / "bread", a / "walrus", b / "violin", b / "walrus")))
    one, two = Desk(db, a, embedder=embedder), Desk(db, b, embedder=embedder)
    one.sync()
    two.sync()
    assert embedder.texts == []
    assert published_rows(db) == ["bread", "violin", "walrus", "walrus"]
    assert found(two, "walrus") == [str(a / "walrus"), str(b / "walrus")]


# Without a state


def lose_state(desk: Desk) -> None:
    files = desk.indexer.identity.find()
    assert files is not None
    remove_state(files.state_path)


def test_a_database_whose_state_was_lost_keeps_its_vectors(tmp_path: Path, write_skill: Writer) -> None:
    a, b = library(tmp_path / "skills", write_skill)
    db = tmp_path / "db" / "skills.lancedb"
    embedder = WordEmbedder()
    Desk(db, a, b, embedder=embedder).sync()
    lose_state(Desk(db, a, b, embedder=embedder))
    embedder.texts.clear()
    write_skill("violin", "Another text.", root=b)
    desk = Desk(db, a, b, embedder=embedder)
    published = desk.sync()
    assert embedder.texts == ["violin\nAnother text."]
    assert not published.index.lacks_vectors
    assert published_rows(db) == ["bread", "violin", "walrus", "walrus"]


def test_of_two_embedders_whose_states_were_lost_neither_takes_the_others_table(
    tmp_path: Path, write_skill: Writer
) -> None:
    a, _ = library(tmp_path / "skills", write_skill)
    db = tmp_path / "db" / "skills.lancedb"
    one, two = WordEmbedder("test:one"), WordEmbedder("test:two")
    for embedder in (one, two):
        Desk(db, a, embedder=embedder).sync()
    for embedder in (one, two):
        lose_state(Desk(db, a, embedder=embedder))
        embedder.texts.clear()
    # The other way round: the first would take the table with the first name.
    for embedder in (two, one):
        desk = Desk(db, a, embedder=embedder)
        assert not desk.sync().index.lacks_vectors
        assert len(found(desk, "walrus")) == 1
    assert (one.texts, two.texts) == ([], [])


def test_who_asks_for_new_vectors_gets_them_also_without_a_state(tmp_path: Path, write_skill: Writer) -> None:
    a, _ = library(tmp_path / "skills", write_skill)
    db = tmp_path / "db" / "skills.lancedb"
    embedder = WordEmbedder()
    desk = Desk(db, a, embedder=embedder)
    desk.sync()
    lose_state(desk)
    embedder.texts.clear()
    Desk(db, a, embedder=embedder).sync(force_reason="requested", rebuild=True)
    assert len(embedder.texts) == 2
