"""The live view over LanceDB: writes of a sync, fault tolerance, and sharing between processes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.index.live_views import candidates, found, live_view
from tests.search.builders import WordEmbedder, published_rows

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index import state_file, store
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.live import LiveView
from skillhub_mcp.index.state_file import STATE_FILE
from skillhub_mcp.index.writer import LOCK_FILE, SyncDepth
from skillhub_mcp.skills.admission import AGENT_CONTEXT

Writer = Callable[..., Path]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "db" / "skills.lancedb"


@pytest.fixture
def closing() -> Iterator[list[LiveView]]:
    views: list[LiveView] = []
    yield views
    for view in views:
        view.close()


def test_a_second_sync_of_the_same_files_writes_nothing(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    live = live_view(db, skills_dir)
    first = live.sync()
    assert first.report is not None
    second = live.sync()
    assert second.report is None
    assert second.index is first.index
    other = live_view(db, skills_dir).sync()
    assert other.report is None
    assert other.index is not None


def test_a_refused_skill_has_no_row_and_causes_no_write(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    write_skill("silent", frontmatter="name: silent")
    live = live_view(db, skills_dir)
    live.sync()
    assert live.sync().report is None
    assert live.sync(SyncDepth.VERIFY).report is None


def test_a_start_without_changes_opens_no_skill(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    path = write_skill("one") / "SKILL.md"
    os.utime(path, (1_000_000_000, 1_000_000_000))
    live_view(db, skills_dir).sync()
    content = path.read_bytes()
    status = path.stat()
    # Other content with an equal stamp, which only reading reveals.
    with path.open("r+b") as file:
        file.write(content.replace(b"one", b"two"))
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    state = db.parent / STATE_FILE
    written = json.loads(state.read_text())
    (root,) = written["roots"].values()
    root["files"]["one"]["stamp"]["ctime_ns"] = path.stat().st_ctime_ns
    state.write_text(json.dumps(written))
    (skill,) = live_view(db, skills_dir).snapshot().skills
    assert skill.name == "one"


def test_each_change_is_found_by_the_next_sync(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    write_skill("two", "About walruses too.")
    assert live.sync().report is not None
    assert found(live, "walruses") == ["one", "two"]
    write_skill("one", "About bread.")
    live.sync()
    assert found(live, "walruses") == ["two"]
    shutil.rmtree(skills_dir / "two")
    live.sync()
    assert found(live, "walruses") == []
    shutil.move(skills_dir / "one", skills_dir / "three")
    live.sync()
    assert found(live, "bread") == ["three"]


def test_skills_are_listed_without_a_database(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    assert [skill.name for skill in live_view(db, skills_dir).snapshot().skills] == ["one"]
    assert not db.parent.exists()


def test_a_commit_of_another_process_is_opened(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    here, there = live_view(db, skills_dir), live_view(db, skills_dir)
    here.sync()
    there.sync()
    write_skill("two", "About walruses.")
    there.sync()
    assert here.sync().report is None
    assert found(here, "walruses") == ["one", "two"]


def test_two_roots_in_one_database_are_searched_separately(db: Path, tmp_path: Path, write_skill: Writer) -> None:
    write_skill("mine", "About walruses.", root=tmp_path / "mine")
    write_skill("yours", "About walruses.", root=tmp_path / "yours")
    mine, yours = live_view(db, tmp_path / "mine"), live_view(db, tmp_path / "yours")
    mine.sync()
    yours.sync()
    assert (found(mine, "walruses"), found(yours, "walruses")) == (["mine"], ["yours"])
    assert mine.sync().report is None
    _, index = yours.view()
    assert index.statistics.skills == 1


def test_a_nested_root_is_indexed_once_and_survives_its_parent(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("inner", "About walruses.", directory="team/inner")
    alone = live_view(db, skills_dir / "team")
    alone.sync()
    both = live_view(db, skills_dir, skills_dir / "team")
    both.sync()
    assert found(both, "walruses") == ["inner"]
    assert found(alone, "walruses") == ["inner"]
    assert alone.sync().report is None


def test_embedders_and_databases_of_one_directory_are_separate(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    other = db.parent / "other.lancedb"
    views = [
        live_view(db, skills_dir),
        live_view(db, skills_dir, embedder=WordEmbedder()),
        live_view(other, skills_dir),
    ]
    for live in views:
        live.sync()
    for live in views:
        assert live.sync().report is None
        assert found(live, "walruses") == ["one"]
    assert min(path.name for path in db.iterdir() if path.suffix == ".lance") == "skills.lance"
    assert len([*db.glob("*.lance")]) == 2


def test_a_field_search_finds_only_words_of_that_field(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("walrus", "About the sea.")
    write_skill("two", "About a walrus.")
    write_skill("three", body="A walrus.\n")
    live = live_view(db, skills_dir)
    live.sync()
    assert found(live, "walrus") == ["three", "two", "walrus"]
    assert found(live, "walrus", fields=frozenset({"name"})) == ["walrus"]
    assert found(live, "walrus", fields=frozenset({"name", "description"})) == ["two", "walrus"]


def test_hidden_skills_are_never_candidates(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    for number in range(30):
        write_skill(f"walrus-{number}", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    few = frozenset({str(skills_dir / "walrus-7"), str(skills_dir / "walrus-8")})
    assert {*candidates(live, "walruses", among=few).directories} == few
    most = frozenset(str(skills_dir / f"walrus-{number}") for number in range(20))
    assert {*candidates(live, "walruses", among=most).directories} == most


def test_a_verifying_sync_finds_changes_that_stamps_hide(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    state = db.parent / STATE_FILE
    written = json.loads(state.read_text())
    (root,) = written["roots"].values()
    root["files"]["one"]["stamp"]["content_hash"] = "0" * 64
    root["files"]["one"]["skill"]["description"] = "About bread."
    state.write_text(json.dumps(written))
    assert live_view(db, skills_dir).sync(SyncDepth.VERIFY).report is None
    assert json.loads(state.read_text())["roots"] != written["roots"]


def test_a_rebuild_keeps_the_rows_of_other_roots(db: Path, tmp_path: Path, write_skill: Writer) -> None:
    write_skill("mine", "About walruses.", root=tmp_path / "mine")
    write_skill("yours", "About walruses.", root=tmp_path / "yours")
    mine, yours = live_view(db, tmp_path / "mine"), live_view(db, tmp_path / "yours")
    mine.sync()
    yours.sync()
    report = mine.sync(SyncDepth.REBUILD).report
    assert report is not None
    assert (report.written, report.removed, report.rebuilt) == (1, 0, True)
    assert yours.sync().report is None
    assert found(yours, "walruses") == ["yours"]


def test_without_automatic_indexing_the_last_commit_is_served(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live_view(db, skills_dir).sync()
    write_skill("two", "About walruses.")
    live = live_view(db, skills_dir, automatic=False)
    assert found(live, "walruses") == ["one"]
    live.sync()
    assert found(live, "walruses") == ["one", "two"]


def test_without_automatic_indexing_a_missing_index_is_named(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    with pytest.raises(IndexUnavailable, match="automatic indexing is off"):
        live_view(db, skills_dir, automatic=False).view()


def test_a_deleted_table_is_written_again(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    shutil.rmtree(db)
    report = live.sync().report
    assert report is not None
    assert report.reason == "the database is missing"
    assert found(live, "walruses") == ["one"]


def test_an_unreadable_index_is_replaced(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    for path in db.glob("skills.lance/data/*"):
        path.write_bytes(b"")
    again = live_view(db, skills_dir)
    _, index = again.view()
    with pytest.raises(IndexDamaged):
        candidates(again, "walruses")
    again.view(instead_of=index)
    assert found(again, "walruses") == ["one"]


@pytest.mark.acceptance("S2-50")
@pytest.mark.parametrize("content", ["{", "[1, 2]", None], ids=["half", "list", "missing"])
def test_an_empty_state_file_leads_to_a_rebuild(
    db: Path, skills_dir: Path, write_skill: Writer, content: str | None
) -> None:
    write_skill("one", "About walruses.")
    live_view(db, skills_dir).sync()
    (db.parent / STATE_FILE).unlink()
    if content is not None:
        (db.parent / STATE_FILE).write_text(content)
    live = live_view(db, skills_dir)
    report = live.sync().report
    assert report is not None
    assert report.rebuilt
    assert found(live, "walruses") == published_rows(db) == ["one"]


def test_the_index_of_a_newer_version_is_refused_and_kept(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live_view(db, skills_dir).sync()
    state = db.parent / STATE_FILE
    written = json.dumps(json.loads(state.read_text()) | {"format": 99})
    state.write_text(written)
    live = live_view(db, skills_dir)
    problem = live.sync().problem
    assert problem is not None
    assert "newer SkillHub" in problem.message
    assert state.read_text() == written
    assert found(live, "walruses") == ["one"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_database_is_built_in_memory(tmp_path: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    live = live_view(locked / "skills.lancedb", skills_dir)
    problem = live.sync().problem
    assert problem is not None
    assert "cannot be written" in problem.message
    assert found(live, "walruses") == ["one"]
    write_skill("two", "About walruses.")
    live.sync()
    assert found(live, "walruses") == ["one", "two"]
    locked.chmod(0o700)
    assert live.sync().problem is None
    assert found(live, "walruses") == ["one", "two"]


def test_a_database_below_a_file_is_built_in_memory(tmp_path: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    (tmp_path / "file").write_text("")
    live = live_view(tmp_path / "file" / "skills.lancedb", skills_dir)
    problem = live.sync().problem
    assert problem is not None
    assert "cannot be written: Not a directory" in problem.message
    assert found(live, "walruses") == ["one"]


def test_a_full_disk_keeps_the_last_commit_and_says_so(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    write_skill("two", "About walruses.")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(state_file, "atomic_write", full)
        problem = live.sync().problem
    assert problem is not None
    assert "No space left" in problem.message
    assert found(live, "walruses") == ["one"]
    assert live.sync().problem is None
    assert found(live, "walruses") == ["one", "two"]


def test_a_long_lock_of_another_process_leads_to_an_index_in_memory(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir, lock_timeout=0.1)
    db.parent.mkdir()
    with FileLock(db.parent / LOCK_FILE):
        assert live.sync().problem is not None
        assert found(live, "walruses") == ["one"]
    assert live.sync().problem is None


def test_rows_of_a_missing_root_stay_until_it_is_forgotten(
    db: Path, skills_dir: Path, write_skill: Writer, tmp_path: Path
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    live.sync()
    skills_dir.rename(tmp_path / "away")
    assert live.sync().report is None
    assert found(live, "walruses") == ["one"]
    live.writer.forget([str(skills_dir)])
    live.sync()
    assert found(live, "walruses") == []


@pytest.mark.parametrize("content", [b"", b'{"table":', b'{"table":"another"}'])
def test_damaged_statistics_are_counted_again(db: Path, skills_dir: Path, write_skill: Writer, content: bytes) -> None:
    write_skill("one", "About walruses.")
    live_view(db, skills_dir).sync()
    (kept,) = db.glob("statistics-*.json")
    kept.write_bytes(content)
    live = live_view(db, skills_dir)
    assert found(live, "walruses") == ["one"]
    assert live.view()[1].statistics.skills == 1


def test_an_empty_root_has_no_statistics_to_lose(
    db: Path, skills_dir: Path, tmp_path: Path, write_skill: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "skillhub_mcp.index.statistics")
    write_skill("one", "About walruses.")
    (tmp_path / "empty").mkdir()
    live = live_view(db, skills_dir, tmp_path / "empty")
    assert found(live, "walruses") == ["one"]
    assert live.view()[1].statistics.skills == 1
    assert caplog.messages == []


def test_vectors_follow_the_text_and_are_reused_for_equal_text(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    embedder = WordEmbedder()
    live = live_view(db, skills_dir, embedder=embedder)
    view = live.sync()
    assert view.index is not None
    assert not view.index.lacks_vectors
    assert len(embedder.texts) == 1
    write_skill("one", "About walruses.", body="Another body.\n")
    write_skill("two", "About bread.")
    view = live.sync()
    assert view.index is not None
    assert not view.index.lacks_vectors
    assert len(embedder.texts) == 2


def test_a_failing_provider_leaves_text_search_working(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    embedder = WordEmbedder()
    embedder.fails = True
    live = live_view(db, skills_dir, embedder=embedder)
    report = live.sync().report
    assert report is not None
    assert report.embedding_failure == "the test's provider is down"
    assert found(live, "walruses") == ["one"]


def test_a_recovered_provider_gets_its_vectors_written(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    embedder = WordEmbedder()
    embedder.fails = True
    live_view(db, skills_dir, embedder=embedder).sync()
    embedder.fails = False
    view = live_view(db, skills_dir, embedder=embedder).sync()
    assert view.index is not None
    assert not view.index.lacks_vectors


def test_the_provider_never_sees_a_body(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.", body="A secret.", category="sea", tags="cold, wet")
    embedder = WordEmbedder()
    live_view(db, skills_dir, embedder=embedder).sync()
    assert embedder.texts == ["one\nAbout walruses.\ncold wet\nsea"]


def test_a_moved_library_is_not_embedded_again(db: Path, tmp_path: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.", root=tmp_path / "here")
    embedder = WordEmbedder()
    live_view(db, tmp_path / "here", embedder=embedder).sync()
    (tmp_path / "here").rename(tmp_path / "there")
    live = live_view(db, tmp_path / "there", embedder=embedder)
    view = live.sync()
    assert view.index is not None
    assert not view.index.lacks_vectors
    assert found(live, "walruses") == ["one"]
    assert len(embedder.texts) == 1


def test_a_replaced_file_of_equal_mtime_and_size_is_noticed(
    db: Path, skills_dir: Path, write_skill: Writer, tmp_path: Path
) -> None:
    path = write_skill("one", "About walruses.") / "SKILL.md"
    other = write_skill("one", "About penguins.", root=tmp_path / "other") / "SKILL.md"
    for file in (path, other):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    live = live_view(db, skills_dir)
    live.sync()
    shutil.copy2(other, path)
    live.sync()
    assert found(live, "penguins") == ["one"]


def test_an_index_of_another_format_is_rewritten(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    live_view(db, skills_dir).sync()
    state = db.parent / STATE_FILE
    state.write_text(json.dumps(json.loads(state.read_text()) | {"format": 5}))
    live = live_view(db, skills_dir)
    assert live.sync().report is not None
    assert found(live, "walruses") == ["one"]
    assert live_view(db, skills_dir).sync().report is None


def test_thirty_worktrees_share_a_database_and_each_finds_its_own(
    db: Path, tmp_path: Path, write_skill: Writer
) -> None:
    views = []
    for number in range(30):
        for name in ("walrus", "bread"):
            write_skill(name, f"About {name} number{number}.", root=tmp_path / f"tree-{number}")
        views.append(live_view(db, tmp_path / f"tree-{number}"))
        views[-1].sync()
    for number, live in enumerate(views):
        assert live.sync().report is None
        (place,) = candidates(live, "walrus").directories
        assert place == str(tmp_path / f"tree-{number}" / "walrus")


def test_many_single_changes_are_compacted(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    live = live_view(db, skills_dir)
    for number in range(25):
        write_skill(f"walrus-{number}", "About walruses.")
        live.sync()
    assert len(found(live, "walruses")) == 25
    state = live.writer.state()
    assert state is not None
    assert live.writer.open_table(state).unmerged() <= 20


@pytest.mark.parametrize("starts", [False, True], ids=["skillhub index", "a server that starts"])
def test_leftovers_of_short_commands_are_compacted(
    db: Path,
    skills_dir: Path,
    write_skill: Writer,
    closing: list[LiveView],
    monkeypatch: pytest.MonkeyPatch,
    starts: bool,
) -> None:
    monkeypatch.setattr(store, "KEPT_SECONDS", 0.5)

    def size() -> int:
        return sum(path.stat().st_size for path in db.rglob("*") if path.is_file())

    for revision in range(12):
        for number in range(60):
            write_skill(f"walrus-{number}", "About walruses.", body=f"Revision {revision} of {number}. " * 100)
        if revision == 11:
            # Versions of one second are removed together.
            threading.Event().wait(1.1)
        live_view(db, skills_dir).view()
    threading.Event().wait(0.6)
    before, tidied = size(), threading.Event()
    live = live_view(db, skills_dir, background=starts)
    closing.append(live)
    if starts:
        live.subscribe(lambda _: tidied.set() if size() < before / 3 else None)
        live.start()
        assert tidied.wait(30)
    else:
        live.sync()
    assert size() < before / 3
    assert len(found(live, "walruses")) == 60


def test_a_server_notices_changes_without_a_request(
    db: Path, skills_dir: Path, write_skill: Writer, closing: list[LiveView]
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir, background=True)
    closing.append(live)
    assert found(live, "walruses") == ["one"]
    changed = threading.Event()
    live.subscribe(lambda is_other: changed.set() if is_other else None)
    write_skill("two", "About walruses.")
    assert changed.wait(30)
    assert found(live, "walruses") == ["one", "two"]


def test_a_skill_written_during_indexing_is_listed_at_once(
    db: Path, skills_dir: Path, write_skill: Writer, closing: list[LiveView]
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir, background=True)
    closing.append(live)
    listed: list[list[str]] = []
    db.parent.mkdir()
    with FileLock(db.parent / LOCK_FILE):
        assert [skill.name for skill in live.snapshot().skills] == ["one"]
        write_skill("two", "About walruses.")
        assert [skill.name for skill in live.snapshot(fresh=True).skills] == ["one", "two"]
        assert [skill.name for skill in live.snapshot(admission=AGENT_CONTEXT).skills] == ["one", "two"]
        view = live.peek()
        assert view is not None
        assert view.index is None
        live.subscribe(lambda _: listed.append([skill.name for skill in live.snapshot().skills]))
    live.sync()
    assert found(live, "walruses") == ["one", "two"]
    assert listed
    assert all(names == ["one", "two"] for names in listed)


@pytest.mark.slow
def test_a_sync_that_waited_for_the_lock_commits_the_present_files(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir)
    waiting = threading.Thread(target=live.sync)
    db.parent.mkdir()
    with FileLock(db.parent / LOCK_FILE):
        waiting.start()
        threading.Event().wait(1.5)
        write_skill("two", "About walruses.")
    waiting.join()
    assert found(live, "walruses") == ["one", "two"]


def test_a_server_embeds_in_the_background(
    db: Path, skills_dir: Path, write_skill: Writer, closing: list[LiveView]
) -> None:
    write_skill("one", "About walruses.")
    live = live_view(db, skills_dir, background=True, embedder=WordEmbedder())
    closing.append(live)
    done = threading.Event()

    def look(_: bool) -> None:
        view = live.peek()
        if view is not None and view.index is not None and not view.index.lacks_vectors:
            done.set()

    live.subscribe(look)
    live.start()
    assert done.wait(30)


def test_closing_twice_or_before_the_start_is_harmless(db: Path, skills_dir: Path) -> None:
    live = live_view(db, skills_dir, background=True)
    live.close()
    live.close()
    with pytest.raises(IndexUnavailable):
        live.view()


def test_without_any_index_no_skill_is_called_unknown(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with hub_of({**hub_environment, "SKILLHUB_SKIP_AUTO_REINDEX": "1"}) as hub:
        for ask in (partial(hub.load, "walrus"), partial(hub.search, ""), partial(hub.search, "walrus")):
            with pytest.raises(IndexUnavailable, match="automatic indexing is off"):
                ask()
