"""One sync, and the view it results in: what is trusted, what is read again, and what stays usable."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.conftest import switch
from tests.index.earlier_states import write_as_format
from tests.search.builders import Desk, WordEmbedder, published_rows

from skillhub_mcp.index import indexer, sync
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.lance_store import IN_MEMORY, LanceStore
from skillhub_mcp.index.state import load_state, save_state, state_path
from skillhub_mcp.index.sync import SyncDepth
from skillhub_mcp.index.writer_lock import LOCK_FILE
from skillhub_mcp.skills.scanner import Scan, scan

Writer = Callable[..., Path]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "db" / "skills.lancedb"


@pytest.mark.acceptance("S2-49")
def test_a_second_sync_of_the_same_files_has_nothing_to_do(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    desk = Desk(db, skills_dir)
    first = desk.refresh()
    assert first.report is not None
    second = desk.refresh()
    assert second.report is None
    assert second.index is first.index
    fresh = Desk(db, skills_dir).refresh()
    assert fresh.report is None
    assert fresh.index is not None


def test_each_change_is_found_by_the_next_sync(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir)
    desk.refresh()
    write_skill("two", "About walruses too.")
    desk.refresh()
    assert desk.find("walruses") == ["one", "two"]
    write_skill("one", "About bread.")
    desk.refresh()
    assert desk.find("walruses") == ["two"]
    shutil.rmtree(skills_dir / "two")
    desk.refresh()
    assert desk.find("walruses") == []
    shutil.move(skills_dir / "one", skills_dir / "three")
    desk.refresh()
    assert desk.find("bread") == ["three"]


def test_the_skills_are_published_before_the_index_is_written(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    desk = Desk(db, skills_dir)
    published: list[tuple[int, bool]] = []
    desk.index_sync.sync(None, on_snapshot=lambda snapshot, _: published.append((len(snapshot.skills), db.exists())))
    assert published == [(1, False)]


def test_the_skills_are_scanned_without_a_database(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    assert [skill.name for skill in Desk(db, skills_dir).index_sync.scan().skills] == ["one"]
    assert not db.parent.exists()


def test_what_another_process_published_is_opened(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    one, two = Desk(db, skills_dir), Desk(db, skills_dir)
    first = one.refresh()
    write_skill("two", "About walruses too.")
    assert two.refresh().report is not None
    view = one.refresh()
    assert view.report is None
    assert view.index is not first.index
    assert one.find("walruses") == ["one", "two"]


def write_at(file: Path, mtime_ns: int) -> int:
    """Set the mtime back, as `cp -p` and `rsync -t` do, and return the ctime."""
    os.utime(file, ns=(mtime_ns, mtime_ns))
    return file.stat().st_ctime_ns


def test_a_file_copied_over_another_of_the_same_mtime_and_size_is_noticed(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    file = write_skill("one", "About walruses.") / "SKILL.md"
    write_at(file, 1_700_000_000_000_000_001)
    desk = Desk(db, skills_dir)
    desk.refresh()
    for word in ("elephant", "reindeer"):
        write_skill("one", f"About {word}.")
        write_at(file, 1_700_000_000_000_000_001)
        desk.refresh()
        assert desk.find(word) == ["one"]


def test_a_state_without_ctimes_is_used_and_its_files_are_read_once(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    file = write_skill("one", "About walruses.") / "SKILL.md"
    write_at(file, 1_700_000_000_000_000_001)
    version = Desk(db, skills_dir).refresh().index
    state = db.parent / "index_state.json"
    write_as_format(4, state)
    written = json.loads(state.read_text(encoding="utf-8"))
    for root in written["roots"].values():
        for known in root["files"].values():
            del known["ctime_ns"]
    state.write_text(json.dumps(written), encoding="utf-8")
    view = Desk(db, skills_dir).refresh()
    assert view.report is None
    assert version is not None
    assert view.index is not None
    assert view.index.version == version.version
    saved = load_state(str(state))
    assert saved is not None
    assert all(entry.stamp.ctime_ns for entry in saved.memory.values())


def test_a_verifying_sync_finds_what_stamps_hide(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    file = write_skill("one", "About walruses.") / "SKILL.md"
    before = write_at(file, 1_700_000_000_000_000_001)
    Desk(db, skills_dir).refresh()
    write_skill("one", "About elephant.")
    after = write_at(file, 1_700_000_000_000_000_001)
    # As on a file system that keeps no ctime.
    (entries,) = db.parent.glob("index_state.entries-*")
    entries.write_text(entries.read_text(encoding="utf-8").replace(str(before), str(after)), encoding="utf-8")
    desk = Desk(db, skills_dir)
    desk.refresh()
    assert desk.find("walruses") == ["one"]
    desk.refresh(SyncDepth.VERIFY)
    assert desk.find("walruses") == []
    assert desk.find("elephant") == ["one"]


def test_a_verifying_sync_fixes_rows_that_differ_from_the_files(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    import lancedb

    write_skill("one")
    two = write_skill("two", root=tmp_path / "other")
    Desk(db, tmp_path / "other").refresh()
    desk = Desk(db, skills_dir)
    desk.refresh()
    # A version without this row is published, which SkillHub itself would not do.
    table = lancedb.connect(str(db)).open_table("skills")
    table.delete("path = 'hub-2/one'")
    state = Path(state_path(str(db)))
    version = desk.published().table_version
    text = state.read_text(encoding="utf-8")
    state.write_text(text.replace(f'"table_version":{version}', f'"table_version":{table.version}'), encoding="utf-8")
    assert published_rows(db) == ["two"]
    assert desk.refresh().report is None
    report = desk.refresh(SyncDepth.VERIFY).report
    assert report is not None
    assert (report.rebuilt, report.written) == (False, 1)
    assert published_rows(db) == ["one", "two"]
    assert two.exists()


def test_verifying_a_sound_index_writes_nothing(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    write_skill("two", root=skills_dir / "inner")
    Desk(db, skills_dir / "inner").refresh()
    desk = Desk(db, skills_dir)
    desk.refresh()
    assert desk.refresh(SyncDepth.VERIFY).report is None
    assert Desk(db, skills_dir / "inner").refresh(SyncDepth.VERIFY).report is None


@pytest.mark.acceptance("S2-51")
def test_a_rebuild_writes_everything_whatever_changed(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    write_skill("two")
    desk = Desk(db, skills_dir)
    desk.refresh()
    report = desk.refresh(SyncDepth.REBUILD).report
    assert report is not None
    assert (report.rebuilt, report.written, report.reason) == (True, 2, "requested")


@pytest.mark.acceptance("S2-52")
def test_without_automatic_indexing_the_index_is_served_as_it_was_written(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    Desk(db, skills_dir).refresh()
    write_skill("two", "About walruses too.")
    shutil.rmtree(skills_dir / "one")
    still = Desk(db, skills_dir, automatic=False)
    view = still.refresh()
    assert [skill.name for skill in view.snapshot.skills] == ["one"]
    assert still.find("walruses") == ["one"]
    assert [skill.name for skill in still.index_sync.scan().skills] == ["one"]


@pytest.mark.acceptance("S2-52")
def test_without_automatic_indexing_what_another_publishes_is_taken(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    still = Desk(db, skills_dir, automatic=False)
    problem = still.refresh().problem
    assert problem is not None
    assert "there is none" in problem.message
    assert str(db) in problem.message
    assert problem.hint == "run skillhub --reindex"
    assert not db.parent.exists()
    Desk(db, skills_dir).refresh(SyncDepth.REBUILD)
    assert still.refresh().problem is None
    assert still.find("walruses") == ["one"]
    write_skill("two", "About walruses too.")
    Desk(db, skills_dir).refresh()
    still.refresh()
    assert still.find("walruses") == ["one", "two"]


@pytest.mark.acceptance("S2-51", "S2-52")
def test_a_requested_rebuild_is_done_even_without_automatic_indexing(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    report = Desk(db, skills_dir, automatic=False).refresh(SyncDepth.REBUILD).report
    assert report is not None
    assert published_rows(db) == ["one"]


def test_an_index_that_was_made_for_another_directory_is_not_used(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", root=tmp_path / "other")
    Desk(db, tmp_path / "other").refresh()
    view = Desk(db, skills_dir, automatic=False).refresh()
    assert view.problem is not None
    assert str(skills_dir) in view.problem.message
    assert view.index is None


def test_a_damaged_index_is_not_taken_when_nothing_may_be_written(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    Desk(db, skills_dir).refresh()
    shutil.rmtree(db)
    view = Desk(db, skills_dir, automatic=False).refresh()
    assert view.problem is not None
    assert "it is damaged" in view.problem.message


def test_a_database_that_was_deleted_under_a_server_is_written_again(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir)
    desk.refresh()
    shutil.rmtree(db)
    assert desk.refresh().report is not None
    assert desk.find("walruses") == ["one"]
    shutil.rmtree(db.parent)
    assert desk.refresh().report is not None
    assert desk.find("walruses") == ["one"]


def test_an_index_that_cannot_be_read_is_replaced_by_the_next_sync(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir)
    index = desk.refresh().index
    assert index is not None
    desk.index_sync.mark_damaged(index)
    report = desk.refresh().report
    assert report is not None
    assert (report.rebuilt, report.reason) == (True, "the index cannot be read")
    assert desk.find("walruses") == ["one"]
    assert desk.refresh().report is None


def test_an_index_that_failed_is_not_rebuilt_once_another_took_its_place(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    desk = Desk(db, skills_dir)
    index = desk.refresh().index
    assert index is not None
    Desk(db, skills_dir).refresh(SyncDepth.REBUILD)
    desk.index_sync.mark_damaged(index)
    assert desk.refresh().report is None


def test_a_sound_index_in_place_of_one_that_failed_is_taken_without_writing(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir, lock_timeout=0.1)
    index = desk.refresh().index
    assert index is not None
    Desk(db, skills_dir).refresh(SyncDepth.REBUILD)
    desk.index_sync.mark_damaged(index)
    with FileLock(db.parent / LOCK_FILE):
        view = desk.refresh()
    assert (view.report, view.problem) == (None, None)
    assert desk.find("walruses") == ["one"]


def test_an_index_that_failed_and_cannot_be_replaced_gives_way_to_one_in_memory(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir, lock_timeout=0.1)
    index = desk.refresh().index
    assert index is not None
    desk.index_sync.mark_damaged(index)
    with FileLock(db.parent / LOCK_FILE):
        view = desk.refresh()
    assert view.problem is not None
    assert view.index is not index
    assert desk.find("walruses") == ["one"]


def test_while_another_process_writes_for_too_long_the_new_skills_are_found_in_memory(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    desk = Desk(db, skills_dir, lock_timeout=0.1)
    desk.refresh()
    write_skill("two", "About walruses too.")
    with FileLock(db.parent / LOCK_FILE):
        view = desk.refresh()
    assert view.problem is not None
    assert desk.find("walruses") == ["one", "two"]
    assert [skill.name for skill in view.snapshot.skills] == ["one", "two"]
    assert published_rows(db) == ["one"]
    assert desk.refresh().problem is None
    assert desk.find("walruses") == ["one", "two"]


def test_an_index_in_memory_follows_the_files_and_gives_way_to_the_disk(
    tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    (tmp_path / "db").write_text("a file where the directory should be", encoding="utf-8")
    desk = Desk(tmp_path / "db" / "skills.lancedb", skills_dir)
    view = desk.refresh()
    assert view.problem is not None
    assert str(tmp_path / "db" / "skills.lancedb") in view.problem.message
    assert desk.find("walruses") == ["one"]
    write_skill("two", "About walruses too.")
    shutil.rmtree(skills_dir / "one")
    desk.refresh()
    assert desk.find("walruses") == ["two"]
    (tmp_path / "db").unlink()
    assert desk.refresh().problem is None
    assert desk.find("walruses") == ["two"]
    assert published_rows(tmp_path / "db" / "skills.lancedb") == ["two"]


def test_the_same_problem_is_logged_once(
    tmp_path: Path, skills_dir: Path, write_skill: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("one")
    (tmp_path / "db").write_text("", encoding="utf-8")
    desk = Desk(tmp_path / "db" / "skills.lancedb", skills_dir)
    for _ in range(3):
        desk.refresh()
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


def test_files_too_new_to_be_trusted_are_read_again_but_not_for_ever(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    file = write_skill("one") / "SKILL.md"
    desk = Desk(db, skills_dir)
    desk.refresh()
    # A clock of whole seconds: such a time is trusted only after two seconds.
    soon = (file.stat().st_mtime_ns // 1_000_000_000 + 1) * 1_000_000_000
    os.utime(file, ns=(soon, soon))
    views = [desk.refresh() for _ in range(3)]
    # The content is the same: nothing is written, and the index stays the one that is open.
    assert [view.report for view in views] == [None] * 3
    assert len({id(view.index) for view in views}) == 1


def test_files_that_were_read_again_and_found_the_same_are_trusted_even_where_that_cannot_be_saved(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_skill("one") / "SKILL.md"
    written = 1_700_000_000_000_000_001
    os.utime(file, ns=(written, written))
    desk = Desk(db, skills_dir)
    desk.refresh()
    state = desk.published()
    root = state.roots[str(skills_dir)]
    path, entry = next(iter(root.memory.items()))
    # As if it had been read in the very tick in which it was written.
    early = entry._replace(stamp=entry.stamp._replace(read_at_ns=written + 1))
    roots = {str(skills_dir): replace(root, memory={path: early})}
    save_state(state_path(str(db)), replace(state, roots=roots))
    opened: list[int] = []

    def counted(*given: Any, **named: Any) -> Scan:
        seen = scan(*given, **named)
        opened.append(seen.opened)
        return seen

    monkeypatch.setattr(sync, "scan", counted)
    with FileLock(db.parent / LOCK_FILE):
        for _ in range(3):
            desk.refresh()
    assert opened == [1, 0, 0]


def test_a_sync_after_the_indexer_was_cancelled_builds_nothing(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    desk = Desk(db, skills_dir)
    desk.index_sync.cancel()
    view = desk.refresh()
    assert view.index is None
    assert view.problem is not None
    assert "stopped" in view.problem.message
    assert not db.exists()


# Links that are switched


def revision_of(directory: Path, write_skill: Writer, **skills: str) -> Path:
    for name, description in skills.items():
        write_skill(name, description, root=directory)
    return directory


@pytest.mark.slow
def test_a_switched_root_is_read_where_it_leads_now_and_what_is_the_same_is_not_written_again(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    one = revision_of(tmp_path / "one", write_skill, same="About walruses.", other="About bread.")
    two = revision_of(tmp_path / "two", write_skill, same="About walruses.", other="About tea.")
    three = revision_of(tmp_path / "three", write_skill, same="About walruses.", other="About tea.", new="About rain.")
    root = tmp_path / "current"
    root.symlink_to(one)
    embedder = WordEmbedder()
    desk = Desk(db, root, embedder=embedder)
    desk.refresh()
    asked = len(embedder.texts)
    for place, written, query in ((two, 1, "tea"), (three, 1, "rain")):
        switch(root, place)
        report = desk.refresh().report
        assert report is not None
        assert (report.written, report.removed, report.rebuilt) == (written, 0, False)
        assert desk.find(query) == [{"tea": "other", "rain": "new"}[query]]
    assert len(embedder.texts) == asked + 2
    assert desk.find("bread") == []
    # The revisions before it are removed without a trace.
    shutil.rmtree(one)
    shutil.rmtree(two)
    assert desk.refresh().report is None
    assert published_rows(db) == ["new", "other", "same"]


def test_a_process_that_starts_after_the_switch_takes_the_index_over(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    for number in (1, 2):
        write_skill("one", "About walruses.", root=tmp_path / str(number) / "skills")
    (tmp_path / "current").symlink_to("1")
    Desk(db, tmp_path / "current" / "skills").refresh()
    switch(tmp_path / "current", Path("2"))
    desk = Desk(db, tmp_path / "current" / "skills")
    assert desk.refresh().report is None
    assert desk.find("walruses") == ["one"]
    assert published_rows(db) == ["one"]


# Roots that go away


def test_rows_and_state_of_a_root_that_is_away_stay_and_it_comes_back_as_it_was(
    db: Path, tmp_path: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for name in ("one", "two"):
        write_skill(name, "About walruses.")
    embedder = WordEmbedder()
    desk = Desk(db, skills_dir, embedder=embedder)
    desk.refresh()
    asked = len(embedder.texts)
    skills_dir.rename(tmp_path / "away")
    skills_dir.mkdir()
    for away in (desk, Desk(db, skills_dir, embedder=embedder)):
        view = away.refresh()
        assert (view.report, view.problem) == (None, None)
        assert away.find("walruses") == ["one", "two"]
        assert [root.remembered for root in view.snapshot.report.unavailable] == [2]
    skills_dir.rmdir()
    (tmp_path / "away").rename(skills_dir)
    view = desk.refresh()
    assert (view.report, view.snapshot.report.unavailable, view.snapshot.report.problems) == (None, (), ())
    assert desk.find("walruses") == ["one", "two"]
    assert len(embedder.texts) == asked


def test_a_root_that_is_away_is_forgotten_on_request_by_every_process(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    for name in ("one", "two"):
        write_skill(name, "About walruses.")
    server, shell = Desk(db, skills_dir), Desk(db, skills_dir)
    server.refresh()
    shutil.rmtree(skills_dir)
    assert len(server.refresh().snapshot.skills) == 2
    refused = shell.refresh(SyncDepth.REBUILD)
    assert refused.problem is not None
    assert "would be lost" in refused.problem.message
    assert published_rows(db) == ["one", "two"]
    report = shell.refresh(SyncDepth.FORGET).report
    assert report is not None
    assert report.removed == 2
    assert (server.refresh().snapshot.skills, published_rows(db)) == ((), [])
    assert shell.refresh(SyncDepth.REBUILD).problem is None


# Disks that are full


@pytest.mark.slow
@pytest.mark.parametrize("full", ["table", "state"])
def test_on_a_full_disk_what_changed_is_found_in_memory_and_written_when_there_is_space(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    write_skill("one", "About walruses.")
    gone = write_skill("gone", "About walruses.")
    desk = Desk(db, skills_dir)
    desk.refresh()
    rows = published_rows(db)
    reason = os.strerror(errno.ENOSPC)

    def fill(name: str) -> None:
        before = getattr(LanceStore, name)

        def write(store: LanceStore, *arguments: Any, **options: Any) -> int:
            if store.db_path != IN_MEMORY:
                raise IndexDamaged(reason)
            return int(before(store, *arguments, **options))

        monkeypatch.setattr(LanceStore, name, write)

    def save(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, reason)

    if full == "table":
        fill("update")
        fill("rebuild")
    else:
        monkeypatch.setattr(indexer, "save_state", save)
    for name in ("two", "three"):
        write_skill(name, f"About walruses and {name}.")
        shutil.rmtree(gone, ignore_errors=True)
        view = desk.refresh()
        assert view.problem is not None
        assert reason in view.problem.message
        assert desk.find(name) == [name]
        assert desk.find("walruses") == sorted({"one", "two", name})
        assert published_rows(db) == rows
    monkeypatch.undo()
    view = desk.refresh()
    assert view.problem is None
    assert desk.find("walruses") == published_rows(db) == ["one", "three", "two"]


def test_where_nothing_changed_a_disk_that_is_full_costs_no_index_in_memory(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", "About walruses.")
    Desk(db, skills_dir).refresh()

    def rebuild(*_: object, **__: object) -> int:
        raise IndexDamaged(os.strerror(errno.ENOSPC))

    monkeypatch.setattr(LanceStore, "rebuild", rebuild)
    desk = Desk(db, skills_dir)
    view = desk.refresh(SyncDepth.REBUILD)
    assert view.problem is not None
    assert view.index is not None
    assert desk.find("walruses") == ["one"]
