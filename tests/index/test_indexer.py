"""Syncing the index: what is written, what is reused, and how several writers share one database."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.index.earlier_states import write_as_schema_3
from tests.search.builders import Desk, WordEmbedder, published_rows, text_hits

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index import indexer as indexer_module
from skillhub_mcp.index import row_embedder
from skillhub_mcp.index.indexer import Indexer, Published
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.lance_store import SCHEMA_VERSION, LanceStore
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.state import NO_EMBEDDING, save_state, state_path
from skillhub_mcp.index.writer_lock import LOCK_FILE
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan

Writer = Callable[..., Path]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "db" / "skills.lancedb"


def stale(desk: Desk) -> str | None:
    return desk.indexer.reason_to_sync(desk.state(), desk.scan())


@pytest.mark.acceptance("S2-50")
def test_without_a_state_everything_is_written(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    write_skill("two")
    desk = Desk(db, skills_dir)
    assert stale(desk) == "there is no index yet"
    published = desk.sync()
    assert published.report is not None
    assert (published.report.rebuilt, published.report.written) == (True, 2)
    assert published_rows(db) == ["one", "two"]


@pytest.mark.acceptance("S2-49")
def test_where_nothing_changed_nothing_is_written(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    Desk(db, skills_dir).sync()
    before = sorted((path, path.stat().st_mtime_ns) for path in db.parent.rglob("*") if path.name != LOCK_FILE)
    desk = Desk(db, skills_dir)
    assert stale(desk) is None
    assert desk.sync().report is None
    assert sorted((path, path.stat().st_mtime_ns) for path in db.parent.rglob("*") if path.name != LOCK_FILE) == before


def reachable_by_others(directory: Path) -> list[str]:
    """Return what others may read or write, of what they get to: nothing is reached in a directory that is closed."""
    found = []
    for entry in os.scandir(directory):
        mode = entry.stat(follow_symlinks=False).st_mode
        found += [entry.name] if mode & 0o077 else []
        found += reachable_by_others(Path(entry.path)) if stat.S_ISDIR(mode) and mode & 0o011 else []
    return sorted(found)


def test_the_index_is_its_owners_alone_whatever_the_umask_and_so_is_one_that_was_not(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    before = os.umask(0)
    try:
        Desk(db, skills_dir).sync()
        assert stat.S_IMODE(db.parent.stat().st_mode) == 0o700
        assert reachable_by_others(db.parent) == []
        # As an earlier version left it.
        for path in (db.parent, *db.parent.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        reading = Desk(db, skills_dir)
        state = reading.state()
        assert state is not None
        reading.indexer.open(state)
    finally:
        os.umask(before)
    # Not the directory that it lies in: the person may have others look for skills there.
    assert reachable_by_others(db.parent) == []


def test_only_the_version_that_failed_is_replaced(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    """Another process may have published a sound one since: it is kept, and read."""
    write_skill("one")
    desk = Desk(db, skills_dir)
    failed = desk.sync().state.published
    write_skill("two")
    Desk(db, skills_dir).sync()

    def sync_after_failure() -> Published:
        _, published = desk.indexer.sync(lambda memory: scan(desk.roots, memory=memory), failed=failed)
        return published

    taken = sync_after_failure()
    assert (taken.report, taken.state.published == failed) == (None, False)
    write_skill("three")
    changed = sync_after_failure().report
    assert changed is not None
    assert (changed.rebuilt, changed.written) == (False, 1)


def test_a_change_an_addition_and_a_removal_touch_only_their_rows(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for name in ("kept", "changed", "gone"):
        write_skill(name)
    desk = Desk(db, skills_dir)
    desk.sync()
    write_skill("changed", "Now about walruses.")
    write_skill("added")
    shutil.rmtree(skills_dir / "gone")
    assert stale(desk) == "skills changed"
    report = desk.sync().report
    assert report is not None
    assert (report.rebuilt, report.written, report.removed) == (False, 2, 1)
    assert published_rows(db) == ["added", "changed", "kept"]
    assert stale(desk) is None


@pytest.mark.acceptance("S2-50")
def test_another_schema_is_rebuilt(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    desk = Desk(db, skills_dir)
    desk.sync()
    state = desk.published()
    save_state(state_path(str(db)), replace(state, schema=2))
    assert stale(desk) == f"the index has schema 2, this version writes {SCHEMA_VERSION}"
    report = desk.sync().report
    assert report is not None
    assert report.rebuilt
    assert desk.published().schema == SCHEMA_VERSION


@pytest.mark.slow
def test_what_another_release_embedded_is_not_embedded_again(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    for name in ("bread", "walrus", "changed"):
        write_skill(name, f"about {name}")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    write_as_schema_3(db)
    save_state(state_path(str(db)), replace(desk.published(), schema=2))
    write_skill("changed", "other text")
    embedder.texts.clear()
    published = Desk(db, skills_dir, embedder=embedder).sync()
    assert published.report is not None
    assert published.report.rebuilt
    assert [text.splitlines()[-1] for text in embedder.texts] == ["other text"]
    assert not published.index.lacks_vectors
    assert published.index.table.unembedded() == frozenset()


def test_a_search_that_fails_on_what_lies_beside_the_table_has_nothing_embedded_again(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    """As on postings that are damaged: what a provider was paid for lies in the table."""
    write_skill("one")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    failed = desk.sync().state.published
    embedder.texts.clear()
    _, published = desk.indexer.sync(lambda memory: scan(desk.roots, memory=memory), failed=failed)
    desk.indexer.embed_missing()
    assert published.report is not None
    assert published.report.rebuilt
    assert (embedder.texts, published.index.lacks_vectors) == ([], False)


@pytest.mark.slow
@pytest.mark.acceptance("S2-50")
def test_another_provider_has_an_index_of_its_own(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    without = Desk(db, skills_dir)
    without.sync()
    for embedder in (WordEmbedder("a:small", 8), WordEmbedder("b:large", 12)):
        desk = Desk(db, skills_dir, embedder=embedder)
        assert stale(desk) == f"there is no index for {embedder.identity} yet"
        published = desk.sync()
        assert published.report is not None
        assert published.report.rebuilt
        assert published.index.dimension == embedder.dimension
        assert desk.published().embedding == embedder.identity
    assert stale(without) is None
    assert without.sync().index.dimension is None
    assert without.published().embedding == NO_EMBEDDING


def test_the_provider_sees_names_descriptions_tags_and_categories_and_never_a_body(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "What it does.", body="the secret body", category="C", tags="t1, t2", files={"a.txt": "secret"})
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    write_skill("one", "What it does now.", body="another secret body")
    desk.sync()
    assert embedder.texts == ["one\nWhat it does.\nt1 t2\nc", "one\nWhat it does now."]


def test_only_a_changed_skill_is_embedded_again(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    write_skill("two")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    assert len(embedder.texts) == 2
    write_skill("two", "Now something else.")
    desk.sync()
    assert embedder.texts[2:] == ["two\nNow something else."]


def test_a_skill_whose_body_alone_changed_keeps_its_vector(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", body="before")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    write_skill("one", body="after, and longer")
    index = desk.sync().index
    assert len(embedder.texts) == 1
    assert index.table.vectors(["hub/one"])["hub/one"].vector == pytest.approx(
        embedder.embed_query("one\nDoes one thing well. Use when that thing is wanted.")
    )


@pytest.mark.slow
def test_skills_that_moved_with_a_link_keep_their_vectors(db: Path, tmp_path: Path) -> None:
    def publish(version: str, *names: str) -> None:
        for name in names:
            directory = tmp_path / "volume" / f"..{version}" / name
            directory.mkdir(parents=True)
            (directory / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{version}\n")
        (tmp_path / "volume" / "new").symlink_to(f"..{version}")
        (tmp_path / "volume" / "new").rename(tmp_path / "volume" / "..data")

    # As Kubernetes mounts a volume: every name leads through one link, which is switched.
    publish("first", "one", "two")
    for name in ("one", "two", "three"):
        (tmp_path / "volume" / name).symlink_to(f"..data/{name}")
    embedder = WordEmbedder()
    desk = Desk(db, tmp_path / "volume", embedder=embedder)
    desk.sync()
    assert sorted(embedder.texts) == ["one\nAbout one.", "two\nAbout two."]
    publish("second", "one", "two", "three")
    index = desk.sync().index
    assert embedder.texts[2:] == ["three\nAbout three."]
    assert index.table.unembedded() == frozenset()
    assert {Path(path).parent.name for path in index.table.stored()} == {"..second"}


@pytest.mark.slow
def test_vectors_find_what_they_should_after_an_update(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("bread", "bake bread")
    embedder = WordEmbedder(dimension=64)
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    walrus = write_skill("walrus", "feed walrus")
    index = desk.sync().index
    (nearest,) = index.nearest(embedder.embed_query("walrus feed"), 1, frozenset(index.directories))
    assert index.directories[nearest] == str(walrus)


@pytest.mark.slow
def test_a_provider_that_fails_at_first_leaves_a_text_index_that_says_so(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    embedder = WordEmbedder()
    embedder.fails = True
    desk = Desk(db, skills_dir, embedder=embedder)
    published = desk.sync()
    assert published.report is not None
    assert published.report.embedding_failure == "the test's provider is down"
    assert published.index.dimension is None
    assert published.state.roots[str(skills_dir)].missing_vectors == 1
    assert len(text_hits(published.index, "walruses", among=frozenset(published.index.directories))) == 1
    assert stale(desk) is None


def test_a_provider_that_recovers_gets_its_vectors_written(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    embedder.fails = True
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    desk.sync()
    embedder.fails = False
    published = desk.sync()
    assert published.index.dimension == embedder.dimension
    assert published.report is not None
    assert (published.report.reason, published.report.written) == ("skills had no embeddings yet", 1)
    assert published.state.roots[str(skills_dir)].missing_vectors == 0
    assert desk.sync().report is None


def test_a_provider_that_goes_on_failing_does_not_get_the_same_text_index_written_again(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    embedder.fails = True
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    version = desk.sync().index.version
    report = desk.sync().report
    assert report is not None
    assert (report.rebuilt, report.written) == (False, 0)
    assert report.embedding_failure == "the test's provider is down"
    assert desk.published().table_version == version
    write_skill("two")
    assert desk.sync().index.version > version
    assert published_rows(db) == ["one", "two"]


@pytest.mark.slow
def test_a_provider_that_fails_at_an_update_leaves_a_row_that_text_finds_and_that_is_completed_later(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    one = write_skill("one")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    desk.sync()
    embedder.fails = True
    two = write_skill("two", "About walruses.")
    published = desk.sync()
    root = str(skills_dir)
    assert published.report is not None
    assert published.report.embedding_failure
    assert not published.report.rebuilt
    assert published.state.roots[root].missing_vectors == 1
    assert published.index.dimension == embedder.dimension
    everything = {str(one), str(two)}
    assert [hit.directory for hit in text_hits(published.index, "walruses", among=everything)] == [str(two)]
    assert published.index.table.vectors().keys() == {"hub/one"}
    embedder.fails = False
    embedder.texts.clear()
    published = desk.sync()
    assert embedder.texts == ["two\nAbout walruses."]
    assert published.state.roots[root].missing_vectors == 0
    assert published.index.table.vectors().keys() == {"hub/one", "hub/two"}
    assert stale(desk) is None


@pytest.mark.slow
def test_rows_without_vectors_wait_while_the_embedder_rests(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    embedder.fails = True
    write_skill("two")
    desk.sync()
    embedder.fails = False
    write_skill("three")
    published = desk.sync()
    assert len(embedder.texts) == 1
    assert published.state.roots[str(skills_dir)].missing_vectors == 2
    assert published.state.embedding == embedder.identity
    assert published_rows(db) == ["one", "three", "two"]


def test_a_library_that_was_empty_gets_vectors_with_its_first_skill(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync()
    assert stale(desk) is None
    write_skill("one")
    assert desk.sync().index.dimension == embedder.dimension


def test_what_a_killed_rebuild_for_another_provider_left_is_not_used(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    ours = WordEmbedder("a:small")
    desk = Desk(db, skills_dir, embedder=ours)
    desk.sync()

    class Killed(BaseException):
        """Stands for a signal between the last version and the state that would have published it."""

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(indexer_module, "save_state", killed)
        with pytest.raises(Killed):
            Desk(db, skills_dir, embedder=WordEmbedder("b:small")).sync()
    write_skill("two")
    ours.texts.clear()
    index = desk.sync().index
    assert [text.splitlines()[0] for text in ours.texts] == ["two"]
    vectors = {key: found.vector for key, found in index.table.vectors().items()}
    assert vectors.keys() == {"hub/one", "hub/two"}
    assert vectors["hub/one"] == pytest.approx(
        ours.embed_query("one\nDoes one thing well. Use when that thing is wanted.")
    )


# The vectors that come behind the text


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts in one request."""
    monkeypatch.setattr(row_embedder, "BATCH_TEXTS", 2)


def embedded(desk: Desk) -> list[str]:
    """The skills of the published index that have a vector of their present text."""
    index = desk.indexer.open(desk.published())
    return sorted(Path(path).name for path in index.table.stored().keys() - index.table.unembedded())


def test_the_text_is_published_before_the_embedder_is_asked(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    index = desk.sync_text().index
    assert len(text_hits(index, "walruses", among=frozenset(index.directories))) == 1
    assert (embedder.texts, desk.published().roots[str(skills_dir)].missing_vectors) == ([], 1)
    desk.sync()
    write_skill("two", "About walruses too.")
    index = desk.sync_text().index
    assert len(text_hits(index, "walruses", among=frozenset(index.directories))) == 2
    assert (len(embedder.texts), index.dimension) == (1, embedder.dimension)


@pytest.mark.usefixtures("small_batches")
def test_an_embedder_that_fails_at_its_second_batch_keeps_the_first_and_completes_the_rest_later(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for number in range(5):
        write_skill(f"s{number}")
    embedder = WordEmbedder()
    embedder.lasts = 1
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    published = desk.sync()
    assert published.report is not None
    assert published.report.embedding_failure == "the test's provider has died"
    assert published.state.roots[str(skills_dir)].missing_vectors == 3
    assert embedded(desk) == ["s0", "s1"]
    # Another process completes it as well.
    embedder.lasts = 2
    embedder.texts.clear()
    assert Desk(db, skills_dir, embedder=embedder).sync().state.roots[str(skills_dir)].missing_vectors == 0
    assert embedded(desk) == ["s0", "s1", "s2", "s3", "s4"]
    assert [text.splitlines()[0] for text in embedder.texts] == ["s2", "s3", "s4"]


def test_no_lock_is_held_while_the_embedder_works_and_changes_meanwhile_are_not_overwritten(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for name in ("changed", "gone", "kept"):
        write_skill(name)
    embedder = WordEmbedder()
    desk, other = Desk(db, skills_dir, embedder=embedder), Desk(db, skills_dir, embedder=embedder, lock_timeout=0.0)

    def change() -> None:
        embedder.meanwhile = bool
        write_skill("changed", "Now about walruses.")
        write_skill("added", "About walruses too.")
        shutil.rmtree(skills_dir / "gone")
        assert other.sync_text().report is not None

    embedder.meanwhile = change
    assert desk.sync().state.roots[str(skills_dir)].missing_vectors == 2
    assert (embedded(desk), published_rows(db)) == (["kept"], ["added", "changed", "kept"])
    assert desk.sync().state.roots[str(skills_dir)].missing_vectors == 0
    index = desk.indexer.open(desk.published())
    stored = index.table.vectors(list(index.table.stored()))
    assert {Path(path).name: own.text for path, own in stored.items()} == {
        "added": "added\nAbout walruses too.",
        "changed": "changed\nNow about walruses.",
        "kept": "kept\nDoes one thing well. Use when that thing is wanted.",
    }
    for own in stored.values():
        assert own.vector == pytest.approx(embedder.embed_query(str(own.text)))


def test_of_two_servers_of_one_index_one_pays_the_provider(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    first, second = WordEmbedder(), WordEmbedder()
    desk, other = Desk(db, skills_dir, embedder=first), Desk(db, skills_dir, embedder=second)
    first.meanwhile = other.sync
    assert desk.sync().state.roots[str(skills_dir)].missing_vectors == 0
    assert (len(first.texts), len(second.texts)) == (1, 0)
    assert other.sync().report is None


def test_a_rebuild_keeps_the_vectors_until_the_provider_has_returned_others(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for name in ("one", "two"):
        write_skill(name)
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    desk.sync()
    embedder.fails = True
    published = desk.sync(force_reason="requested", rebuild=True)
    assert published.report is not None
    assert (published.report.rebuilt, published.report.embedding_failure) == (True, "the test's provider is down")
    assert len(published.index.table.vectors(list(published.index.table.stored()))) == 2
    assert published.state.roots[str(skills_dir)].missing_vectors == 2
    embedder.fails = False
    embedder.texts.clear()
    assert desk.sync().state.roots[str(skills_dir)].missing_vectors == 0
    assert len(embedder.texts) == 2


@pytest.mark.slow
def test_vectors_of_another_length_are_a_failure_but_after_a_rebuild_the_new_ones(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    desk.sync()
    embedder.dimension = 8
    write_skill("two")
    published = desk.sync()
    assert published.report is not None
    assert "vectors of 8 numbers, and the index has 16" in str(published.report.embedding_failure)
    assert (published.index.dimension, embedded(desk)) == (16, ["one"])
    published = desk.sync(force_reason="requested", rebuild=True)
    assert (published.index.dimension, embedded(desk)) == (8, ["one", "two"])


def test_a_state_is_saved_only_after_its_version_was_opened(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    embedder.fails = True
    desk = Desk(db, skills_dir, embedder=embedder, cooldown_seconds=0)
    desk.sync()
    before = desk.published()
    opened = LanceStore.open

    def unreadable(store: LanceStore, version: int, **options: Any) -> SkillIndex:
        if version != before.table_version:
            raise IndexDamaged("the new version cannot be read")
        return opened(store, version, **options)

    embedder.fails = False
    with monkeypatch.context() as patch:
        patch.setattr(LanceStore, "open", unreadable)
        with pytest.raises(IndexUnavailable, match="the new version cannot be read"):
            desk.indexer.embed_missing()
        assert desk.published() == before
        write_skill("two")
        with pytest.raises(IndexUnavailable, match="the new version cannot be read"):
            desk.sync_text()
    assert desk.published() == before
    assert desk.sync().state.roots[str(skills_dir)].missing_vectors == 0
    assert published_rows(db) == ["one", "two"]


def test_vectors_that_cannot_be_written_are_not_paid_for_again_at_once(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.sync_text()

    def full(*_: object, **__: object) -> int:
        raise IndexDamaged("No space left on device")

    monkeypatch.setattr(LanceStore, "add_vectors", full)
    with pytest.raises(IndexUnavailable, match="No space left"):
        desk.indexer.embed_missing()
    for _ in range(3):
        assert desk.indexer.embed_missing().failure is None
    assert len(embedder.texts) == 1


def unmerged(desk: Desk) -> int:
    state = desk.published()
    table = LanceStore(desk.db_path).open_table(state.table_version)
    return int(table._table.index_stats("description_idx").num_unindexed_rows)


def count(index: SkillIndex, query: str) -> int:
    return len(text_hits(index, query, limit=50, among=frozenset(index.directories)))


@pytest.fixture
def much_added(db: Path, skills_dir: Path, write_skill: Writer) -> Desk:
    """One whose last sync added more rows than the table's indexes are left without."""
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir)
    desk.sync()
    for number in range(30):
        write_skill(f"many-{number:02}", "About penguins.")
    desk.sync()
    return desk


@pytest.mark.slow
def test_what_was_added_is_published_before_the_table_is_merged_and_other_processes_follow(
    db: Path, skills_dir: Path, write_skill: Writer, much_added: Desk
) -> None:
    added = much_added.published()
    assert unmerged(much_added) == 30
    reader = Desk(db, skills_dir)
    before = reader.sync()
    assert reader.indexer.tidy() is False, "who added nothing merges nothing"
    assert much_added.indexer.tidy() is True
    merged = much_added.published()
    assert merged.table_version > added.table_version
    assert replace(merged, table_version=added.table_version, entries=added.entries) == added
    assert unmerged(much_added) == 0
    for one in (before, reader.sync(), Desk(db, skills_dir).sync()):
        assert one.report is None or one.report.written == 0
        assert count(one.index, "penguins") == 30
        assert count(one.index, "walruses") == 1
    assert much_added.indexer.tidy() is False, "there is nothing more to merge"
    write_skill("two", "About walruses.")
    assert count(reader.sync().index, "walruses") == 2
    assert count(much_added.sync().index, "walruses") == 2


@pytest.mark.slow
def test_a_merge_that_fails_leaves_what_was_published_and_comes_again_with_the_next_change(
    much_added: Desk, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = much_added.published()

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(LanceStore, "_merge", full)
        assert much_added.indexer.tidy() is False
    assert much_added.published() == before
    assert much_added.indexer.tidy() is False
    write_skill("two", "About walruses.")
    assert count(much_added.sync().index, "walruses") == 2
    assert much_added.indexer.tidy() is True
    assert unmerged(much_added) == 0


def test_a_merge_that_cannot_be_read_is_not_published(much_added: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    before = much_added.published()

    def unreadable(*_: object, **__: object) -> SkillIndex:
        raise IndexDamaged("the new version cannot be read")

    with monkeypatch.context() as patch:
        patch.setattr(LanceStore, "open", unreadable)
        assert much_added.indexer.tidy() is False
    assert much_added.published() == before
    assert count(much_added.sync().index, "penguins") == 30


def test_while_another_process_writes_nothing_is_merged(db: Path, much_added: Desk) -> None:
    with FileLock(db.parent / LOCK_FILE):
        assert much_added.indexer.tidy() is False
    assert much_added.indexer.tidy() is True


# Two servers


def test_two_servers_with_roots_of_their_own_leave_each_others_rows_alone(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("a", root=tmp_path / "a")
    write_skill("b", root=tmp_path / "b")
    one, two = Desk(db, tmp_path / "a"), Desk(db, tmp_path / "b")
    one.sync()
    assert stale(two) == "a skills directory is not in the index yet"
    two.sync()
    assert published_rows(db) == ["a", "b"]
    assert (stale(one), stale(two)) == (None, None)
    write_skill("a2", root=tmp_path / "a")
    one.sync()
    shutil.rmtree(tmp_path / "b" / "b")
    two.sync()
    assert published_rows(db) == ["a", "a2"]
    assert (stale(one), stale(two)) == (None, None)


def test_two_servers_of_the_same_root_do_each_piece_of_work_once(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("a")
    one, two = Desk(db, skills_dir), Desk(db, skills_dir)
    assert one.sync().report is not None
    assert two.sync().report is None
    write_skill("b")
    assert two.sync().report is not None
    assert one.sync().report is None
    assert published_rows(db) == ["a", "b"]


def test_two_servers_whose_roots_overlap_reach_a_stable_state(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    team = skills_dir / "team"
    write_skill("shared", root=team)
    write_skill("outer")
    outer, inner = Desk(db, skills_dir), Desk(db, team)
    for desk in (outer, inner, outer, inner):
        desk.sync()
    for desk in (outer, inner, outer):
        assert stale(desk) is None
    write_skill("shared", "Changed text about walruses.", root=team)
    assert inner.sync().report is not None
    outer.sync()
    for desk in (inner, outer, inner):
        assert stale(desk) is None
    assert published_rows(db) == ["outer", "shared"]
    shutil.rmtree(team / "shared")
    outer.sync()
    inner.sync()
    assert published_rows(db) == ["outer"]
    assert (stale(outer), stale(inner)) == (None, None)


def test_a_skill_that_one_server_no_longer_sees_is_restored_by_the_other(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("shared", root=tmp_path / "b")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b" / "shared")
    one, two = Desk(db, tmp_path / "a"), Desk(db, tmp_path / "b")
    one.sync()
    two.sync()
    (tmp_path / "a" / "link").unlink()
    one.sync()
    two.sync()
    assert published_rows(db) == ["shared"]
    assert (stale(one), stale(two)) == (None, None)


def test_rows_of_a_root_that_no_server_configures_any_more_are_removed_by_the_root_above(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("shared", root=skills_dir / "team")
    Desk(db, skills_dir / "team").sync()
    outer = Desk(db, skills_dir)
    outer.sync()
    shutil.rmtree(skills_dir / "team")
    outer.sync()
    assert published_rows(db) == []


@pytest.mark.slow
def test_a_rebuild_by_one_server_leaves_the_rows_and_vectors_of_another_as_they_are(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    embedder = WordEmbedder()
    for name in ("a", "b"):
        write_skill(name, root=tmp_path / name)
    one, two = (Desk(db, tmp_path / name, embedder=embedder) for name in ("a", "b"))
    one.sync()
    two.sync()
    # Its files are away, so nobody could read them again.
    (tmp_path / "b").rename(tmp_path / "away")
    embedder.texts.clear()
    write_skill("a2", root=tmp_path / "a")
    shutil.rmtree(tmp_path / "a" / "a")
    report = one.sync(force_reason="requested", rebuild=True).report
    assert report is not None
    assert (report.written, report.removed, report.rebuilt) == (1, 1, True)
    assert published_rows(db) == ["a2", "b"]
    (tmp_path / "away").rename(tmp_path / "b")
    assert (stale(one), stale(two)) == (None, None)
    assert [text.splitlines()[0] for text in embedder.texts] == ["a2"]
    # The second time, what did not change is written anew all the same.
    embedder.texts.clear()
    one.sync(force_reason="requested", rebuild=True)
    assert published_rows(db) == ["a2", "b"]
    assert [text.splitlines()[0] for text in embedder.texts] == ["a2"]


def test_a_rebuild_of_a_damaged_table_leads_the_other_server_to_restore_its_rows(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("a", root=tmp_path / "a")
    write_skill("b", root=tmp_path / "b")
    one, two = Desk(db, tmp_path / "a"), Desk(db, tmp_path / "b")
    one.sync()
    two.sync()
    for file in (db / "skills.lance" / "data").iterdir():
        file.write_bytes(b"")
    one.sync(force_reason="requested", rebuild=True)
    assert published_rows(db) == ["a"]
    assert stale(two) == "a skills directory is not in the index yet"
    two.sync()
    assert published_rows(db) == ["a", "b"]
    assert (stale(one), stale(two)) == (None, None)


@pytest.mark.slow
def test_vectors_that_another_server_still_lacks_are_left_to_it(db: Path, tmp_path: Path, write_skill: Writer) -> None:
    write_skill("a", root=tmp_path / "a")
    write_skill("b", root=tmp_path / "b")
    failing, fine = WordEmbedder(), WordEmbedder()
    one = Desk(db, tmp_path / "a", embedder=failing, cooldown_seconds=0)
    two = Desk(db, tmp_path / "b", embedder=fine)
    one.sync()
    two.sync()
    failing.fails = True
    write_skill("a2", root=tmp_path / "a")
    one.sync()
    write_skill("b2", root=tmp_path / "b")
    two.sync()
    assert stale(two) is None
    failing.fails = False
    one.sync()
    assert [text.splitlines()[0] for text in (*failing.texts, *fine.texts)] == ["a", "a2", "b", "b2"]
    assert [own.missing_vectors for own in one.published().roots.values()] == [0, 0]


def test_stamps_saved_late_do_not_overwrite_a_state_published_since(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("a", root=tmp_path / "a")
    one = Desk(db, tmp_path / "a")
    one.sync()
    seen, published = one.scan(reread=True), one.published()
    # Meanwhile another server publishes.
    write_skill("b", root=tmp_path / "b")
    Desk(db, tmp_path / "b").sync()
    one.indexer.save_stamps(seen, published)
    assert set(one.published().roots) == {str(tmp_path / "a"), str(tmp_path / "b")}


def test_the_stamps_of_files_read_again_are_saved_so_that_they_are_not_read_once_more(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    directory = write_skill("a")
    written = 1_700_000_000_000_000_001
    os.utime(directory / "SKILL.md", ns=(written, written))
    desk = Desk(db, skills_dir)
    desk.sync()
    state = desk.published()
    root = state.roots[str(skills_dir)]
    path, entry = next(iter(root.memory.items()))
    # As if it had been read in the very tick in which it was written.
    early = entry._replace(stamp=entry.stamp._replace(read_at_ns=written + 1))
    roots = {str(skills_dir): replace(root, memory={path: early})}
    save_state(state_path(str(db)), replace(state, roots=roots))
    seen = desk.scan()
    assert (seen.opened, seen.changed) == (1, False)
    desk.indexer.save_stamps(seen, desk.published())
    assert desk.scan().opened == 0


def test_the_stamp_of_a_file_from_the_future_is_not_saved_at_every_scan(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    directory = write_skill("a")
    os.utime(directory / "SKILL.md", ns=(1, 4_000_000_000_000_000_001))
    desk = Desk(db, skills_dir)
    desk.sync()
    before = os.stat(state_path(str(db))).st_mtime_ns
    seen = desk.scan()
    assert (seen.opened, seen.changed) == (1, False)
    desk.indexer.save_stamps(seen, desk.published())
    assert os.stat(state_path(str(db))).st_mtime_ns == before


# The lock


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a directory in which no file can be made")
def test_where_no_lock_can_be_made_a_writer_fails_at_once_and_names_no_other_process(
    skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("a")
    desk = Desk(Path("/proc/x"), skills_dir, lock_timeout=20)
    began = time.monotonic()
    with pytest.raises(IndexUnavailable) as caught:
        desk.sync()
    assert time.monotonic() - began < 10
    assert caught.value.message == "The index at /proc/x cannot be written: No such file or directory"


def test_a_writer_that_waits_too_long_for_another_fails_with_a_reason(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("a")
    db.parent.mkdir()
    desk = Desk(db, skills_dir, lock_timeout=0.3)
    with FileLock(db.parent / LOCK_FILE), pytest.raises(IndexUnavailable) as caught:
        desk.sync()
    assert str(db) in caught.value.message
    assert "Another process" in caught.value.message
    assert caught.value.hint
    assert desk.sync().report is not None


def test_a_waiting_writer_stops_when_it_is_cancelled(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("a")
    db.parent.mkdir()
    desk = Desk(db, skills_dir, lock_timeout=600)
    caught: list[IndexUnavailable] = []

    def wait() -> None:
        try:
            desk.sync()
        except IndexUnavailable as error:
            caught.append(error)

    with FileLock(db.parent / LOCK_FILE):
        waiting = threading.Thread(target=wait)
        waiting.start()
        desk.indexer.cancel()
        waiting.join(20)
        assert not waiting.is_alive()
    assert "stopped" in caught[0].message
    assert desk.state() is None


def test_a_lock_file_without_a_holder_is_harmless(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("a")
    db.parent.mkdir()
    (db.parent / LOCK_FILE).write_text("4194304\n", encoding="utf-8")
    assert Desk(db, skills_dir, lock_timeout=0.5).sync().report is not None


def test_a_writer_that_waited_for_the_lock_uses_what_was_published_meanwhile(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("a")
    desks = [Desk(db, skills_dir) for _ in range(4)]
    start = threading.Barrier(len(desks))
    reports: list[Any] = []

    def sync(desk: Desk) -> None:
        start.wait()
        reports.append(desk.sync().report)

    threads = [threading.Thread(target=sync, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([report for report in reports if report is not None]) == 1
    assert published_rows(db) == ["a"]


def test_cancelled_indexing_leaves_the_published_index(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    for number in range(30):
        write_skill(f"skill-{number:02}")
    Desk(db, skills_dir).sync()
    before = Desk(db, skills_dir).published()
    roots = make_roots([str(skills_dir)])
    steps: list[tuple[str, int]] = []

    def progress(step: str, done: int, total: int) -> None:
        steps.append((step, done))
        if done == 20:
            indexer.cancel()

    indexer = Indexer(str(db), roots, embedder=None, progress=progress)
    with pytest.raises(IndexUnavailable, match="stopped"):
        indexer.sync(lambda memory: scan(roots, memory=memory), force_reason="requested", rebuild=True)
    assert ("indexing", 20) in steps
    assert Desk(db, skills_dir).published() == before
    assert len(published_rows(db)) == 30


def test_a_skill_that_vanishes_between_scan_and_writing_does_not_stop_the_others(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for name in ("one", "two"):
        write_skill(name)
    desk = Desk(db, skills_dir)
    seen = desk.scan()
    shutil.rmtree(skills_dir / "one")
    desk.indexer.sync(lambda _: seen)
    assert published_rows(db) == ["one", "two"]
    desk.sync()
    assert published_rows(db) == ["two"]


@pytest.mark.acceptance("S2-54")
def test_both_of_two_skills_of_one_name_have_a_row(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("same", directory="first")
    write_skill("same", directory="second")
    desk = Desk(db, skills_dir)
    desk.sync()
    assert published_rows(db) == ["first", "second"]
    snapshot = desk.scan().snapshot
    (served,) = snapshot.skills
    (shadowed,) = snapshot.report.shadowed
    assert shadowed.winner is served
    assert {served.directory, shadowed.skill.directory} == {str(skills_dir / "first"), str(skills_dir / "second")}


@pytest.mark.acceptance("S2-48")
def test_the_state_names_schema_provider_and_the_hash_of_each_root(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("a", root=tmp_path / "a")
    write_skill("b", root=tmp_path / "b")
    desk = Desk(db, tmp_path / "a", tmp_path / "b", embedder=WordEmbedder("test:words"))
    desk.sync()
    state = desk.published()
    assert (state.schema, state.embedding) == (SCHEMA_VERSION, "test:words")
    hashes = {root: own.digest for root, own in state.roots.items()}
    assert hashes.keys() == {str(tmp_path / "a"), str(tmp_path / "b")}
    write_skill("a", "Other.", root=tmp_path / "a")
    desk.sync()
    after = {root: own.digest for root, own in desk.published().roots.items()}
    assert after[str(tmp_path / "a")] != hashes[str(tmp_path / "a")]
    assert after[str(tmp_path / "b")] == hashes[str(tmp_path / "b")]


def test_the_database_that_was_deleted_is_written_again(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("a")
    desk = Desk(db, skills_dir)
    desk.sync()
    shutil.rmtree(db)
    assert stale(desk) == "the database is missing"
    desk.sync()
    assert published_rows(db) == ["a"]
