"""Rows of unused roots are listed and forgotten without affecting other roots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.search.builders import Desk, WordEmbedder, published_rows

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.index import state_file
from skillhub_mcp.index.indexed_roots import IndexedRoot, roots_to_forget
from skillhub_mcp.index.state_file import STATE_FILE
from skillhub_mcp.index.writer import SyncDepth

Writer = Callable[..., Path]


@pytest.fixture
def shared(tmp_path: Path, write_skill: Writer) -> tuple[Path, Path, Path]:
    """A database of two servers with one root each, and these roots."""
    a, b = tmp_path / "skills" / "a", tmp_path / "skills" / "b"
    for root, names in ((a, ("bread", "walrus")), (b, ("violin", "walrus"))):
        for name in names:
            write_skill(name, f"About {name}.", root=root)
    return tmp_path / "db" / "skills.lancedb", a, b


def test_a_root_of_another_server_is_listed_with_its_rows(shared: tuple[Path, Path, Path]) -> None:
    db, a, b = shared
    Desk(db, a, embedder=WordEmbedder()).sync()
    desk = Desk(db, b, embedder=WordEmbedder())
    desk.sync()
    known = {one.path: one for one in desk.indexed_roots()}
    size = sum(file.stat().st_size for file in a.rglob("SKILL.md"))
    one = known[str(a)]
    assert (one.skills, one.size, one.vectors, one.used, one.there) == (2, size, 2, False, True)
    assert one.read_at > 0
    assert known[str(b)].used
    a.rename(a.with_name("away"))
    assert not next(one for one in desk.indexed_roots() if one.path == str(a)).there


@pytest.mark.slow
def test_forgetting_a_root_removes_only_its_own_data(
    shared: tuple[Path, Path, Path],
) -> None:
    db, a, b = shared
    embedder = WordEmbedder()
    Desk(db, a, embedder=embedder).sync()
    desk = Desk(db, b, embedder=embedder)
    desk.sync()
    embedder.texts.clear()
    desk.writer.forget([str(a)])
    state = desk.writer.state()
    assert state is not None
    assert list(state.roots) == [str(b)]
    assert published_rows(db) == ["violin", "walrus"]
    assert desk.sync(SyncDepth.VERIFY).report is None
    assert desk.find("walrus") == ["walrus"]
    assert desk.sync().report is None
    assert embedder.texts == []
    assert str(a).encode() not in b"".join(file.read_bytes() for file in db.parent.glob("index_state*"))
    # The next server indexes it again, and embeds only texts that no other root has.
    assert Desk(db, a, embedder=embedder).sync().report is not None
    assert (len(published_rows(db)), embedder.texts) == (4, ["bread\nAbout bread."])


def test_servers_notice_a_forgotten_root(
    shared: tuple[Path, Path, Path],
) -> None:
    db, a, b = shared
    one, other = Desk(db, a), Desk(db, b)
    one.sync()
    other.sync()
    Desk(db, b).writer.forget([str(a)])
    assert other.find("violin") == ["violin"]
    other.sync()
    one.sync()
    assert (one.find("bread"), other.find("violin")) == (["bread"], ["violin"])
    assert published_rows(db) == ["bread", "violin", "walrus", "walrus"]


@pytest.mark.slow
def test_the_indexes_of_all_embedders_forget(shared: tuple[Path, Path, Path]) -> None:
    db, a, b = shared
    for embedder in (WordEmbedder("test:one"), WordEmbedder("test:two"), None):
        Desk(db, a, embedder=embedder).sync()
    desk = Desk(db, b)
    (root,) = desk.indexed_roots()
    assert (root.skills, root.vectors) == (2, 4)
    desk.writer.forget([str(a)])
    assert desk.indexed_roots() == ()
    assert Desk(db, b, embedder=WordEmbedder("test:two")).find("violin") == desk.find("violin") == ["violin"]


def test_a_kill_at_the_commit_keeps_the_index_and_can_be_repeated(
    shared: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, a, b = shared
    Desk(db, a).sync()
    desk = Desk(db, b)
    desk.sync()
    before = db.with_name(STATE_FILE).read_bytes()

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(state_file, "atomic_write", killed)
        with pytest.raises(KeyboardInterrupt):
            desk.writer.forget([str(a)])
    assert db.with_name(STATE_FILE).read_bytes() == before
    assert published_rows(db) == ["bread", "violin", "walrus", "walrus"]
    assert Desk(db, a).find("bread") == ["bread"]
    desk.writer.forget([str(a)])
    assert published_rows(db) == ["violin", "walrus"]


# Selection


def root(path: Path, *, used: bool = False) -> IndexedRoot:
    return IndexedRoot(str(path), 1, 1, 0, 0.0, used, there=True)


def test_a_root_is_named_by_its_path_or_its_projects(tmp_path: Path) -> None:
    own, one, two = tmp_path / "own", tmp_path / "project" / ".claude" / "skills", tmp_path / "project" / "skills"
    roots = (root(own, used=True), root(one), root(two))
    assert roots_to_forget([str(one)], roots) == (roots[1],)
    assert roots_to_forget([str(tmp_path / "project"), f"{two}/"], roots) == roots[1:]
    # Roots in use below a directory stay.
    assert roots_to_forget([str(tmp_path)], roots) == roots[1:]


def test_a_root_in_use_is_refused_and_a_typo_gets_suggestions(tmp_path: Path) -> None:
    roots = (root(tmp_path / "own", used=True), root(tmp_path / "project" / "skills"))
    with pytest.raises(InvalidArgument, match="own: it is a root of this configuration"):
        roots_to_forget([str(tmp_path / "own")], roots)
    with pytest.raises(InvalidArgument, match="no root of that name") as refused:
        roots_to_forget([str(tmp_path / "projet" / "skills")], roots)
    assert refused.value.hint == f"did you mean {tmp_path / 'project' / 'skills'}?"
    # A name prefix is not a parent directory.
    with pytest.raises(InvalidArgument):
        roots_to_forget([str(tmp_path / "proj")], roots)
