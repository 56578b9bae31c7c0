"""Rows of roots that nobody uses: told, and forgotten, with every other root's rows and vectors as they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.index.test_portable_rows import Killed, found, killed, library
from tests.search.builders import Desk, WordEmbedder, published_rows

from skillhub_mcp.errors import IndexUnavailable, InvalidArgument
from skillhub_mcp.index import indexer as indexer_module
from skillhub_mcp.index.indexed_roots import IndexedRoot, is_forgotten, roots_to_forget
from skillhub_mcp.index.state import load_state, remove_state, state_path

Writer = Callable[..., Path]


@pytest.fixture
def shared(tmp_path: Path, write_skill: Writer) -> tuple[Path, Path, Path]:
    """A database of two servers, each with a root of its own, and these roots."""
    a, b = library(tmp_path / "skills", write_skill)
    return tmp_path / "db" / "skills.lancedb", a, b


def test_a_root_of_another_server_is_told_with_what_the_index_has_of_it(shared: tuple[Path, Path, Path]) -> None:
    db, a, b = shared
    Desk(db, a, embedder=WordEmbedder()).sync()
    desk = Desk(db, b, embedder=WordEmbedder())
    desk.sync()
    told = {one.path: one for one in desk.indexer.indexed_roots()}
    size = sum(file.stat().st_size for file in a.rglob("SKILL.md"))
    one = told[str(a)]
    assert (one.skills, one.size, one.vectors, one.used, one.there) == (2, size, 2, False, True)
    assert one.read_at > 0
    assert told[str(b)].used
    a.rename(a.with_name("away"))
    assert not next(one for one in desk.indexer.indexed_roots() if one.path == str(a)).there


@pytest.mark.slow
def test_what_is_forgotten_is_gone_from_rows_state_and_postings_and_nothing_else_is_touched(
    shared: tuple[Path, Path, Path],
) -> None:
    db, a, b = shared
    embedder = WordEmbedder()
    Desk(db, a, embedder=embedder).sync()
    desk = Desk(db, b, embedder=embedder)
    desk.sync()
    embedder.texts.clear()
    desk.indexer.forget([str(a)])
    state = desk.published()
    assert list(state.roots) == [str(b)]
    assert published_rows(db) == ["violin", "walrus"]
    assert tuple(desk.indexer.damages(state)) == ()
    assert found(desk, "walrus") == [str(b / "walrus")]
    assert desk.sync().report is None
    assert embedder.texts == []
    assert str(a).encode() not in b"".join(file.read_bytes() for file in db.parent.glob("index_state*"))
    # Whoever uses it again has it indexed, and embedded, again.
    assert Desk(db, a, embedder=embedder).sync().report is not None
    assert (len(published_rows(db)), len(embedder.texts)) == (4, 2)


def test_a_running_server_of_the_root_follows_and_one_of_another_root_goes_on(
    shared: tuple[Path, Path, Path],
) -> None:
    db, a, b = shared
    one, other = Desk(db, a), Desk(db, b)
    one.refresh()
    other.refresh()
    Desk(db, b).indexer.forget([str(a)])
    assert other.find("violin") == ["violin"]
    other.refresh()
    one.refresh()
    assert (one.find("bread"), other.find("violin")) == (["bread"], ["violin"])
    assert published_rows(db) == ["bread", "violin", "walrus", "walrus"]


def test_a_skill_of_a_root_that_stays_keeps_its_row_and_its_vector(tmp_path: Path, write_skill: Writer) -> None:
    whole, part = tmp_path / "skills", tmp_path / "skills" / "part"
    write_skill("walrus", "About walruses.", root=part)
    write_skill("bread", "About bread.", root=whole)
    db, embedder = tmp_path / "db" / "skills.lancedb", WordEmbedder()
    # The row has the key of the first that found it.
    Desk(db, whole, embedder=embedder).sync()
    desk = Desk(db, part, embedder=embedder)
    desk.sync()
    embedder.texts.clear()
    desk.indexer.forget([str(whole)])
    assert published_rows(db) == ["walrus"]
    desk.sync()
    assert (found(desk, "walrus"), embedder.texts) == ([str(part / "walrus")], [])


@pytest.mark.slow
def test_the_indexes_of_all_embedders_forget(shared: tuple[Path, Path, Path]) -> None:
    db, a, b = shared
    for embedder in (WordEmbedder("test:one"), WordEmbedder("test:two"), None):
        Desk(db, a, embedder=embedder).sync()
    desk = Desk(db, b)
    (told,) = desk.indexer.indexed_roots()
    assert (told.skills, told.vectors) == (2, 4)
    desk.indexer.forget([str(a)])
    assert desk.indexer.indexed_roots() == ()
    assert Desk(db, b, embedder=WordEmbedder("test:two")).sync().index.directories == desk.sync().index.directories


@pytest.mark.parametrize("step", ["LanceStore.with_keys", "LanceStore.open", "save_state"])
def test_killed_at_any_step_the_index_is_as_it_was_and_the_next_one_forgets(
    shared: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    db, a, b = shared
    Desk(db, a).sync()
    desk = Desk(db, b)
    desk.sync()
    before = load_state(state_path(str(db)))
    with monkeypatch.context() as patch:
        patch.setattr(f"{indexer_module.__name__}.{step}", killed)
        with pytest.raises(Killed):
            desk.indexer.forget([str(a)])
    assert load_state(state_path(str(db))) == before
    assert (published_rows(db), found(Desk(db, a), "bread")) == (
        ["bread", "violin", "walrus", "walrus"],
        [str(a / "bread")],
    )
    desk.indexer.forget([str(a)])
    assert published_rows(db) == ["violin", "walrus"]


def test_an_index_whose_entries_are_lost_is_left_until_it_is_repaired(shared: tuple[Path, Path, Path]) -> None:
    db, a, b = shared
    Desk(db, a).sync()
    for file in db.parent.glob("index_state.entries-*"):
        file.unlink()
    with pytest.raises(IndexUnavailable, match="is lost"):
        Desk(db, b).indexer.forget([str(a)])
    remove_state(state_path(str(db)))
    assert Desk(db, b).indexer.indexed_roots() == ()


# Which are meant


def root(path: Path, *, used: bool = False) -> IndexedRoot:
    return IndexedRoot(str(path), 1, 1, 0, 0.0, used, there=True)


def test_a_root_is_named_by_its_path_or_by_that_of_the_project_around_it(tmp_path: Path) -> None:
    own, one, two = tmp_path / "own", tmp_path / "project" / ".claude" / "skills", tmp_path / "project" / "skills"
    roots = (root(own, used=True), root(one), root(two))
    assert roots_to_forget([str(one)], roots) == (roots[1],)
    assert roots_to_forget([str(tmp_path / "project"), f"{two}/"], roots) == roots[1:]
    # What is in use below a directory stays.
    assert roots_to_forget([str(tmp_path)], roots) == roots[1:]


def test_a_root_in_use_is_refused_by_name_and_a_mistake_gets_near_names(tmp_path: Path) -> None:
    roots = (root(tmp_path / "own", used=True), root(tmp_path / "project" / "skills"))
    with pytest.raises(InvalidArgument, match="own: it is a root of this configuration"):
        roots_to_forget([str(tmp_path / "own")], roots)
    with pytest.raises(InvalidArgument, match="no root of that name") as refused:
        roots_to_forget([str(tmp_path / "projet" / "skills")], roots)
    assert refused.value.hint == f"did you mean {tmp_path / 'project' / 'skills'}?"
    # A name that another begins with is not above it.
    with pytest.raises(InvalidArgument):
        roots_to_forget([str(tmp_path / "proj")], roots)


def test_a_directory_is_forgotten_with_its_root_unless_another_root_has_it() -> None:
    assert is_forgotten("/a/x", ["/a"], ["/b"])
    assert is_forgotten("/a", ["/a"], ["/b"])
    assert not is_forgotten("/ab/x", ["/a"], [])
    assert not is_forgotten("/a/b/x", ["/a"], ["/a/b"])
