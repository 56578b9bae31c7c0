"""The live index: a view kept in sync while queries use it; its threads, and how they end."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import watchfiles
from tests.conftest import switch
from tests.hubs import hub_of
from tests.library.changes.roots import install
from tests.search.builders import Desk, WordEmbedder, published_rows, text_hits

from skillhub_mcp.embedders.base import Embedder
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index import giving_way, skill_index, watcher
from skillhub_mcp.index import live_index as live_index_module
from skillhub_mcp.index.indexer import Indexer
from skillhub_mcp.index.lance import NoRoom
from skillhub_mcp.index.lance_store import IN_MEMORY, LanceStore
from skillhub_mcp.index.live_index import LiveIndex
from skillhub_mcp.index.mapped_arrays import StoredArrays
from skillhub_mcp.index.state import load_state, state_path
from skillhub_mcp.index.sync import IndexSync, SyncDepth, View
from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.transaction import changing
from skillhub_mcp.policy.files import change_roots
from skillhub_mcp.search import ranking, searcher
from skillhub_mcp.skills import discovery, scanner
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.roots import make_roots

pytestmark = pytest.mark.slow

Writer = Callable[..., Path]
# Only bounds how long a test can hang.
LONG = 20.0


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "db" / "skills.lancedb"


@contextmanager
def live_index(
    db: Path,
    *directories: Path,
    background: bool = True,
    automatic: bool = True,
    embedder: Embedder | None = None,
    **options: Any,
) -> Iterator[LiveIndex]:
    roots = make_roots([str(directory) for directory in directories])
    index_sync = IndexSync(
        roots,
        Indexer(str(db), roots, embedder=embedder, **options),
        make_spare=lambda: Indexer(IN_MEMORY, roots, embedder=None),
        automatic=automatic,
        admission=LENIENT,
    )
    live = LiveIndex(roots, index_sync, automatic=automatic, background=background)
    try:
        yield live
    finally:
        live.close()
        running = {thread.name for thread in threading.enumerate()}
        assert not {"skillhub-sync", "skillhub-watch", "skillhub-vectors"} & running


def found(live: LiveIndex, query: str) -> list[str]:
    view, index = live.view_and_index()
    among = frozenset(skill.directory for skill in view.snapshot.skills)
    return sorted(Path(hit.directory).name for hit in text_hits(index, query, limit=50, among=among))


def watch_in_vain(*_: str, stop_event: Any, **__: Any) -> Iterator[object]:
    """Watch as on a file system that sends no notifications."""
    stop_event._end.wait(LONG)
    yield from ()


def indexed(db: Path) -> list[str]:
    """The directory names of the skills that the published index has: what is gone is in no answer before that."""
    state = load_state(state_path(str(db)))
    return [] if state is None else sorted(os.path.basename(directory) for directory in state.memory)


def eventually(ask: Callable[[], object], wanted: object) -> None:
    deadline = time.monotonic() + LONG
    while (answer := ask()) != wanted:
        assert time.monotonic() < deadline, f"still {answer!r}, not {wanted!r}"
        threading.Event().wait(0.05)


@pytest.mark.parametrize("background", [True, False])
def test_the_first_query_waits_for_the_first_sync(
    db: Path, skills_dir: Path, write_skill: Writer, *, background: bool
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir, background=background) as live:
        assert live.peek() is None
        assert found(live, "walruses") == ["one"]
        assert live.peek() is not None


def test_what_needs_no_index_does_not_start_to_load_one(hub_environment: dict[str, str], write_skill: Writer) -> None:
    place = write_skill("one", body="As it was.\n", files={"a.txt": "A"})
    with hub_of(hub_environment, background=True) as hub:
        assert [skill.name for skill in hub.skills()] == ["one"]
        assert [entry.name for entry in hub.catalogue()] == ["one"]
        assert hub.load("one").instructions == "As it was.\n"
        assert hub.read_file("one", "a.txt").content == "A"
        assert hub.peek() is None
        # The file is read when it is requested, whatever an earlier scan found.
        (place / "SKILL.md").write_text("---\nname: one\ndescription: d\n---\nAs it is.\n", encoding="utf-8")
        assert hub.load("one").instructions == "As it is.\n"
        assert hub.search("one").searched == 1
        assert hub.peek() is not None
        assert hub.load("one").instructions == "As it is.\n"


def test_many_first_queries_share_one_sync(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    answers: list[list[str]] = []
    with live_index(db, skills_dir) as live:
        askers = [threading.Thread(target=lambda: answers.append(found(live, "walruses"))) for _ in range(8)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(LONG)
    assert answers == [["one"]] * 8


def test_a_running_server_notices_new_changed_and_removed_skills(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        write_skill("two", "About walruses too.")
        eventually(lambda: found(live, "walruses"), ["one", "two"])
        write_skill("one", "About bread.")
        eventually(lambda: found(live, "walruses"), ["two"])
        shutil.rmtree(skills_dir / "two")
        eventually(lambda: found(live, "walruses"), [])
        eventually(lambda: indexed(db), ["one"])
    assert published_rows(db) == ["one"]


class SlowDisk(Disk):
    """A disk that takes longer between two steps than notices of the file system are held together."""

    def exchange(self, first: str, second: str) -> bool:
        done = super().exchange(first, second)
        threading.Event().wait(0.25)
        return done

    def move(self, source: str, target: str) -> None:
        super().move(source, target)
        threading.Event().wait(0.25)


def test_what_a_command_installs_replaces_and_removes_is_one_change_for_a_running_server(
    db: Path, skills_dir: Path
) -> None:
    with changing(str(skills_dir)) as change:
        install(change, dict.fromkeys(("gone", "kept", "replaced"), "Of walruses."))
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["gone", "kept", "replaced"]
        before = settle_syncs(live)
        changes: list[list[str]] = []
        live.on_change(lambda: changes.append(found(live, "walruses")))
        with changing(str(skills_dir), disk=SlowDisk()) as change:
            # Staging takes a while too, and is no change.
            threading.Event().wait(0.25)
            install(change, {"new": "Of walruses.", "replaced": "Of bread."}, removals=["gone"])
        eventually(lambda: len(changes), 1)
        after = settle_syncs(live)
        assert changes == [["kept", "new"]]
        # One look finds it all, and another may follow the last notice, and finds nothing.
        assert after - before <= 2


def unmerged(db: Path) -> int:
    state = load_state(state_path(str(db)))
    assert state is not None
    table = LanceStore(str(db)).open_table(state.table_version)
    return int(table._table.index_stats("description_idx").num_unindexed_rows)


def test_a_running_server_serves_what_was_added_and_merges_the_table_behind_it(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", "About walruses.")
    merging, go_on = threading.Event(), threading.Event()
    merge = LanceStore._merge

    def held_up(store: LanceStore, *arguments: Any) -> None:
        merging.set()
        assert go_on.wait(LONG)
        merge(store, *arguments)

    monkeypatch.setattr(LanceStore, "_merge", held_up)
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        many = [f"many-{number:02}" for number in range(30)]
        for name in many:
            write_skill(name, "About penguins.")
        eventually(lambda: found(live, "penguins"), many)
        assert merging.wait(LONG)
        assert found(live, "penguins") == many
        unmerged_before = unmerged(db)
        go_on.set()
        eventually(lambda: unmerged(db), 0)
        assert unmerged_before > 0
        published = load_state(state_path(str(db)))
        assert published is not None
        eventually(lambda: live.view_and_index()[1].version, published.table_version)
        assert found(live, "penguins") == many
        write_skill("two", "About walruses.")
        eventually(lambda: found(live, "walruses"), ["one", "two"])


def test_a_server_that_nobody_asks_gives_back_what_it_read_of_the_index_each_time(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 0.05)
    monkeypatch.setattr(skill_index, "_IDLE_SECONDS", 0.0)
    released = threading.Event()
    monkeypatch.setattr(StoredArrays, "release", lambda _: released.set())
    write_skill("walrus", "Feeds the walrus.")
    with live_index(db, skills_dir) as live:
        for _ in range(2):
            assert text_hits(live.view_and_index()[1], "walrus", among=[str(skills_dir / "walrus")])
            released.clear()
            assert released.wait(LONG)


def test_what_waits_for_the_next_view_has_it_before_anybody_else(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with live_index(db, skills_dir, background=False) as live:
        first = live.sync_now()
        told: list[tuple[list[str], View | None]] = []
        live.before_view(lambda snapshot, _: told.append(([one.name for one in snapshot.skills], live.peek())))
        write_skill("otter", "Feeds the otter.")
        assert live.sync_now().index is not first.index
    # The skills come before the index that has them.
    assert [names for names, _ in told] == [["otter", "walrus"]] * 2
    before, between = (view for _, view in told)
    assert before is first
    assert between is not None
    assert between.index is first.index
    assert [one.name for one in between.snapshot.skills] == ["otter", "walrus"]


def test_a_sync_behind_a_servers_answers_gives_way_to_them_and_a_callers_own_does_not(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    usual = sys.getswitchinterval()
    for background, given in ((True, giving_way._SWITCH_SECONDS), (False, usual)):
        write_skill("walrus", f"Feeds the walrus, {background}.")
        with live_index(db, skills_dir, background=background) as live:
            during: list[float] = []
            live.before_view(lambda *_, seen=during: seen.append(sys.getswitchinterval()))
            live.view_and_index()
            assert during
            assert during == [pytest.approx(given)] * len(during)
            eventually(sys.getswitchinterval, pytest.approx(usual))


def test_in_a_large_library_garbage_is_not_looked_for_in_what_stays(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_index_module, "LARGE", 2)
    frozen: list[int] = []
    with live_index(db, skills_dir) as live:
        monkeypatch.setattr(gc, "freeze", lambda: frozen.append(live._sync_count))
        write_skill("walrus", "Feeds the walrus.")
        for number in range(2, 20):
            live.sync_now()
            write_skill(f"otter-{number}", f"Feeds otter {number}.")
    # A small one is not, and a large one fewer times the longer it runs.
    assert 1 not in frozen
    assert {4, 8, 16} & set(frozen) == set(frozen) - {2}
    assert 16 in frozen


def test_a_path_is_in_memory_once(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("otter", "Feeds the otter.")
    with live_index(db, skills_dir, background=False) as live:
        view, index = live.view_and_index()
    assert sorted(index.directories) == [str(skills_dir / "otter"), str(skills_dir / "walrus")]
    assert set(map(id, index.directories)) == {id(skill.directory) for skill in view.snapshot.skills}


def test_a_server_goes_on_after_an_unexpected_failure_behind_a_sync(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 0.05)
    failed = threading.Event()

    def broken(_: IndexSync) -> bool:
        failed.set()
        raise ZeroDivisionError

    monkeypatch.setattr(IndexSync, "tidy", broken)
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        assert failed.wait(LONG)
        write_skill("two", "About walruses.")
        eventually(lambda: found(live, "walruses"), ["one", "two"])
    assert "Tidying the index failed unexpectedly" in caplog.text


def test_a_command_that_writes_the_index_merges_the_table_before_it_ends_and_one_that_answers_does_not(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir, background=False) as live:
        live.sync_now()
    for waiting, left in ((True, 30), (False, 0)):
        for number in range(30):
            write_skill(f"many-{number:02}", f"About penguins. {waiting}")
        with live_index(db, skills_dir, background=False) as live:
            live.sync_now(waiting=waiting)
            assert len(found(live, "penguins")) == 30
            # Whoever asked for it has the index that there is then: a publication is of that.
            view, state = live.peek(), load_state(state_path(str(db)))
            assert view is not None
            assert view.index is not None
            assert state is not None
            assert (view.index.table_id, view.index.version) == state.published
        assert unmerged(db) == left


def settle_syncs(live: LiveIndex) -> int:
    """How many syncs there were, when no more follow."""
    before = -1
    while before != live._sync_count:
        before = live._sync_count
        threading.Event().wait(0.6)
    return before


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """The walks over everything, in a library of which each takes long, and which nobody checks for no reason."""
    taken: list[tuple[object, ...]] = []

    def walk_roots(*given: Any) -> object:
        taken.append(given)
        return discovery.walk_roots(*given)

    monkeypatch.setattr(scanner, "walk_roots", walk_roots)
    monkeypatch.setattr(live_index_module, "_CHEAP_SCAN_SECONDS", -1.0)
    monkeypatch.setattr(live_index_module, "_MIN_SYNC_INTERVAL_SECONDS", 10_000.0)
    return taken


def settle(walks: list[tuple[object, ...]]) -> int:
    """How many walks there were when the watches are set: then another follows that at the start."""
    eventually(lambda: len(walks) > 1, wanted=True)
    before = -1
    while before != len(walks):
        before = len(walks)
        threading.Event().wait(0.3)
    return before


def test_of_a_large_library_what_the_watcher_reports_is_looked_at_and_nothing_else(
    db: Path, skills_dir: Path, write_skill: Writer, walks: list[tuple[object, ...]]
) -> None:
    write_skill("one", "About walruses.")
    write_skill("four", "About bread.", directory="team/four")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        before = settle(walks)
        write_skill("two", "About walruses too.")
        eventually(lambda: found(live, "walruses"), ["one", "two"])
        write_skill("one", "About bread.")
        eventually(lambda: found(live, "walruses"), ["two"])
        shutil.rmtree(skills_dir / "team")
        eventually(lambda: found(live, "bread"), ["one"])
        eventually(lambda: indexed(db), ["one", "two"])
        assert len(walks) == before
    assert published_rows(db) == ["one", "two"]


def test_what_could_not_be_written_is_found_by_looking_at_everything(
    db: Path, skills_dir: Path, write_skill: Writer, walks: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        settle(walks)
        with monkeypatch.context() as patch:

            def refuse(*_: object, **__: object) -> None:
                raise NoRoom("the disk is full")

            patch.setattr(LanceStore, "update", refuse)
            write_skill("two", "About walruses too.")
            eventually(lambda: getattr(live.peek(), "problem", None) is not None, True)
        write_skill("three", "About bread.")
        eventually(lambda: getattr(live.peek(), "problem", None), None)
        eventually(lambda: found(live, "walruses"), ["one", "two"])
    assert published_rows(db) == ["one", "three", "two"]


def test_queries_keep_a_server_in_sync_where_nothing_can_be_watched(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillhub_mcp.index.watcher.RootWatcher.start", lambda *_: None)
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 10_000.0)
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        write_skill("two", "About walruses too.")
        eventually(lambda: found(live, "walruses"), ["one", "two"])


@pytest.fixture
def silent_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watcher that runs and never reports, and a last sync that is always too old."""
    monkeypatch.setattr(watchfiles, "watch", watch_in_vain)
    monkeypatch.setattr(live_index_module, "_MIN_SYNC_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(live_index_module, "_IDLE_FACTOR", 0)


@pytest.mark.usefixtures("silent_watcher")
@pytest.mark.parametrize("polls", [False, True])
def test_a_query_waits_for_no_sync_while_the_watcher_reports_nothing_and_a_poll_follows_it(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, polls: bool
) -> None:
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 0.1 if polls else 10_000.0)
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        eventually(lambda: live._watcher.healthy, wanted=True)
        write_skill("two", "About walruses too.")
        if polls:
            eventually(lambda: found(live, "walruses"), ["one", "two"])
        else:
            assert found(live, "walruses") == ["one"]


def test_a_skill_that_is_merely_read_once_more_is_no_change(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another process on the same index read it, perhaps because its file had just been written."""
    monkeypatch.setattr(scanner, "_FINE_TICK_NS", 10**18)
    changes: list[int] = []
    file = write_skill("one") / "SKILL.md"
    with live_index(db, skills_dir, background=False) as live:
        live.on_change(lambda: changes.append(1))
        first, second = (live.sync_now().snapshot.everything[0].stamp for _ in range(2))
        assert first.read_at_ns < second.read_at_ns
        assert changes == []
        os.utime(file, ns=(0, first.mtime_ns + 10**9))
        live.sync_now()
        assert changes == [1]


def test_a_skill_file_that_breaks_while_nobody_asks_is_decided_about_without_another_notice(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 10_000.0)

    def names() -> list[str]:
        return [] if (view := live.peek()) is None else [skill.name for skill in view.snapshot.skills]

    changes: list[int] = []
    with live_index(db, skills_dir) as live:
        live.on_change(lambda: changes.append(1))
        write_skill("one")
        write_skill("two")
        live.start()
        eventually(names, ["one", "two"])
        eventually(lambda: live._watcher.healthy, wanted=True)
        for name, left in (("one", ["two"]), ("two", [])):
            changes.clear()
            (skills_dir / name / "SKILL.md").write_text("---\nname: one\ndescription: [", encoding="utf-8")
            eventually(names, left)
            eventually(lambda: changes != [], True)


def test_polling_keeps_a_server_in_sync_without_queries(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillhub_mcp.index.watcher.RootWatcher.start", lambda *_: None)
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 0.1)
    monkeypatch.setattr(live_index_module, "_IDLE_FACTOR", 0)
    with live_index(db, skills_dir) as live:
        live.start()
        eventually(lambda: live.peek() is not None, True)
        write_skill("one")
        eventually(lambda: [s.name for s in view.snapshot.skills] if (view := live.peek()) else None, ["one"])
        eventually(lambda: indexed(db), ["one"])


def test_a_skills_directory_that_appears_later_is_noticed(db: Path, tmp_path: Path, write_skill: Writer) -> None:
    with live_index(db, tmp_path / "later") as live:
        assert found(live, "walruses") == []
        write_skill("one", "About walruses.", root=tmp_path / "later")
        eventually(lambda: found(live, "walruses"), ["one"])
        # What was there stays known while the directory is away, and goes when it comes back without it.
        shutil.rmtree(tmp_path / "later")
        write_skill("two", "About walruses.", root=tmp_path / "later")
        eventually(lambda: found(live, "walruses"), ["two"])


def test_a_database_inside_the_skills_directory_does_not_keep_the_server_busy(
    skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 10_000.0)
    write_skill("one", "About walruses.")
    syncs: list[float] = []
    with live_index(skills_dir / ".skillhub" / "skills.lancedb", skills_dir) as live:
        look = live._index_sync.sync

        def counted(*given: Any, **named: Any) -> View:
            syncs.append(time.monotonic())
            return look(*given, **named)

        monkeypatch.setattr(live._index_sync, "sync", counted)
        assert found(live, "walruses") == ["one"]
        # A second without a sync must come: writing the index is itself a change below the root, but only once.
        deadline = time.monotonic() + LONG
        while time.monotonic() - syncs[-1] < 1.0:
            assert time.monotonic() < deadline
            threading.Event().wait(0.05)
    assert len(syncs) < 10


def test_an_answer_keeps_the_view_that_it_began_with(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        view, index = live.view_and_index()
        shutil.rmtree(skills_dir / "one")
        write_skill("two", "About walruses.")
        eventually(lambda: found(live, "walruses"), ["two"])
        assert [skill.name for skill in view.snapshot.skills] == ["one"]
        (hit,) = text_hits(index, "walruses", limit=5, among={view.snapshot.skills[0].directory})
        assert hit.directory == str(skills_dir / "one")


@contextmanager
def slow_rebuild(db: Path, skills_dir: Path) -> Iterator[tuple[LiveIndex, threading.Event]]:
    """A live index whose next write stops at its first row until the event is set."""
    Desk(db, skills_dir).refresh()
    go_on = threading.Event()
    writing = threading.Event()

    def progress(step: str, done: int, total: int) -> None:
        if step == "indexing" and done == 0:
            writing.set()
            assert go_on.wait(LONG)

    with live_index(db, skills_dir, progress=progress) as live:
        rebuild = threading.Thread(target=live.sync_now, args=(SyncDepth.REBUILD,))
        rebuild.start()
        assert writing.wait(LONG)
        try:
            yield live, go_on
        finally:
            go_on.set()
            rebuild.join(LONG)


def test_a_search_during_a_rebuild_answers_from_the_old_index(
    db: Path, skills_dir: Path, write_skill: Writer, hub_environment: dict[str, str]
) -> None:
    write_skill("one", "About walruses.")
    with slow_rebuild(db, skills_dir) as (live, go_on):
        # Another process queries the old version while this one writes the new.
        with hub_of(hub_environment) as hub:
            assert [hit.skill.name for hit in hub.search("walruses").hits] == ["one"]
        assert not go_on.is_set()
        view = live.peek()
        assert view is not None
        assert [skill.name for skill in view.snapshot.skills] == ["one"]


def test_a_server_answers_from_its_old_index_while_it_writes_a_new_one(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    go_on, writing = threading.Event(), threading.Event()
    go_on.set()

    def progress(step: str, done: int, total: int) -> None:
        if step == "indexing" and done == 0:
            writing.set()
            assert go_on.wait(LONG)

    with live_index(db, skills_dir, progress=progress) as live:
        assert found(live, "walruses") == ["one"]
        go_on.clear()
        writing.clear()
        write_skill("two", "About walruses too.")
        assert writing.wait(LONG)
        # The skills are known at once, the index that finds the new one is not there yet.
        assert found(live, "walruses") == ["one"]
        assert [skill.name for skill in live.snapshot().skills] == ["one", "two"]
        go_on.set()
        eventually(lambda: found(live, "walruses"), ["one", "two"])


def test_an_index_that_cannot_be_read_is_replaced(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        _, index = live.view_and_index()
        live.discard_index(index)
        view, replaced = live.view_and_index()
        assert replaced is not index
        assert replaced.version > index.version
        assert view.problem is None
        # Discarding the replaced index again keeps the new one.
        live.discard_index(index)
        assert live.view_and_index()[1] is replaced


@pytest.mark.parametrize("background", [True, False])
def test_a_search_over_removed_data_files_is_answered(
    skills_dir: Path, write_skill: Writer, hub_environment: dict[str, str], *, background: bool
) -> None:
    write_skill("one", "About walruses.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    for file in Path(hub_environment["DB_PATH"]).rglob("*.lance"):
        if file.is_file():
            file.unlink()
    with hub_of(hub_environment, background=background) as hub:
        assert [hit.skill.name for hit in hub.search("walruses").hits] == ["one"]
    with hub_of(hub_environment) as hub:
        assert hub.refresh().report is None


def test_without_automatic_indexing_a_server_takes_what_another_process_publishes(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir, automatic=False) as live:
        with pytest.raises(IndexUnavailable, match="automatic indexing is off"):
            live.view_and_index()
        assert live.snapshot().skills == ()
        Desk(db, skills_dir).refresh()

        def answer() -> list[str] | None:
            try:
                return found(live, "walruses")
            except IndexUnavailable:
                return None

        eventually(answer, ["one"])


def test_an_unexpected_failure_is_reported_and_the_server_goes_on(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        look = live._index_sync.sync
        failures = [ZeroDivisionError("nobody foresaw this")]

        def failing(*given: Any, **named: Any) -> View:
            if failures:
                raise failures.pop()
            return look(*given, **named)

        monkeypatch.setattr(live._index_sync, "sync", failing)
        with pytest.raises(IndexUnavailable) as caught:
            live.view_and_index()
        assert caught.value.hint == "the server's log says why"
        assert "nobody foresaw this" in caplog.text

        def answer() -> list[str] | None:
            try:
                return found(live, "walruses")
            except IndexUnavailable:
                return None

        eventually(answer, ["one"])
        failures.append(ZeroDivisionError("nor this"))
        write_skill("two", "About walruses too.")
        eventually(lambda: found(live, "walruses"), ["one", "two"])


def test_closing_while_an_index_is_written_abandons_it_and_keeps_the_old(
    db: Path, skills_dir: Path, write_skill: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(20):
        write_skill(f"skill-{number:02}")
    Desk(db, skills_dir).refresh()
    before = Desk(db, skills_dir).published()
    for number in range(5):
        write_skill(f"skill-{number:02}", "Changed.")
    writing, closing = threading.Event(), threading.Event()

    def progress(step: str, done: int, total: int) -> None:
        writing.set()
        assert closing.wait(LONG)

    with live_index(db, skills_dir, progress=progress) as live:
        live.start()
        assert writing.wait(LONG)
        cancel = live._index_sync.cancel

        def cancelled() -> None:
            cancel()
            closing.set()

        live._index_sync.cancel = cancelled  # type: ignore[method-assign]  # to go on exactly then
    assert Desk(db, skills_dir).published() == before
    assert [record for record in caplog.records if record.levelname in {"ERROR", "WARNING"}] == []
    assert Desk(db, skills_dir).refresh().report is not None


def test_closing_ends_every_wait(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    writing, go_on = threading.Event(), threading.Event()

    def progress(step: str, done: int, total: int) -> None:
        writing.set()
        assert go_on.wait(LONG)

    caught: list[IndexUnavailable] = []
    with live_index(db, skills_dir, progress=progress) as live:

        def ask() -> None:
            try:
                live.view_and_index()
            except IndexUnavailable as error:
                caught.append(error)

        asker = threading.Thread(target=ask)
        asker.start()
        assert writing.wait(LONG)
        closer = threading.Thread(target=live.close)
        closer.start()
        asker.join(LONG)
        assert not asker.is_alive()
        go_on.set()
        closer.join(LONG)
    assert len(caught) == 1


def test_closing_twice_and_before_the_start_is_harmless(db: Path, skills_dir: Path) -> None:
    with live_index(db, skills_dir) as live:
        live.close()
        live.close()
        live.start()


def test_syncing_in_two_threads_at_once_does_the_work_once(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    with live_index(db, skills_dir) as live:
        look = live._index_sync.sync
        running: list[str] = []
        overlapping: list[list[str]] = []
        another = threading.Event()

        def slow(*given: Any, **named: Any) -> View:
            running.append(threading.current_thread().name)
            if len(running) > 1:
                overlapping.append(list(running))
                another.set()
            # Long enough for another thread to come in, if nothing keeps it out.
            another.wait(0.3)
            try:
                return look(*given, **named)
            finally:
                running.pop()

        monkeypatch.setattr(live._index_sync, "sync", slow)
        live.start()
        views: list[View] = []
        callers = [threading.Thread(target=lambda: views.append(live.sync_now())) for _ in range(3)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(LONG)
        assert overlapping == []
        assert len({view.index.version for view in views if view.index is not None}) == 1
        assert live.view_and_index()[0].index is not None


def test_an_unexpected_failure_while_the_first_index_is_written_ends_the_wait_for_it(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        monkeypatch.setattr(Indexer, "sync", lambda *_, **__: 1 // 0)
        started = time.monotonic()
        # The skills are known by then, so there is a view, and its index will not come.
        with pytest.raises(IndexUnavailable, match="could not be read"):
            live.view_and_index()
        assert time.monotonic() - started < LONG < live_index_module.FIRST_ANSWER_SECONDS
        assert [skill.name for skill in live.snapshot().skills] == ["one"]


def test_an_unexpected_failure_ends_the_wait_of_a_search_that_asked_for_a_sync(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillhub_mcp.index.watcher.RootWatcher.start", lambda *_: None)
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert found(live, "walruses") == ["one"]
        monkeypatch.setattr(live._index_sync, "sync", lambda *_, **__: 1 // 0)
        monkeypatch.setattr(live_index_module, "_MIN_SYNC_INTERVAL_SECONDS", LONG)
        live._synced_at = -2 * LONG
        started = time.monotonic()
        assert found(live, "walruses") == ["one"]
        assert time.monotonic() - started < LONG / 2


@pytest.mark.parametrize(("seconds", "rests"), [(100.0, True), (0.0, False)])
def test_a_library_that_takes_long_to_look_at_is_looked_at_less_often(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, seconds: float, rests: bool
) -> None:
    monkeypatch.setattr("skillhub_mcp.index.watcher.RootWatcher.start", lambda *_: None)
    monkeypatch.setattr(live_index_module, "_MIN_SYNC_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 0.01)
    # What the scan reports to have taken, whatever it took.
    monkeypatch.setattr(IndexSync, "scan_seconds", property(lambda _: seconds, lambda *_: None), raising=False)
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert [skill.name for skill in live.snapshot_without_index().skills] == ["one"]
        write_skill("two", "About walruses too.")
        threading.Event().wait(0.05)
        names = [skill.name for skill in live.snapshot_without_index().skills]
        assert names == (["one"] if rests else ["one", "two"])
        assert found(live, "walruses") == ["one", "two"]
        syncs = live._sync_count
        # Neither the polls nor the queries of this time look again.
        for _ in range(10):
            threading.Event().wait(0.05)
            found(live, "walruses")
        assert (live._sync_count == syncs) is rests


def test_many_readers_and_a_writer_do_not_interfere(
    skills_dir: Path, write_skill: Writer, hub_environment: dict[str, str]
) -> None:
    write_skill("constant", "About walruses.")
    wrong: list[object] = []
    done = threading.Event()

    def ask(hub: SkillHub) -> None:
        while not done.is_set():
            names = [hit.skill.name for hit in hub.search("walruses").hits]
            if "constant" not in names:
                wrong.append(names)

    with hub_of(hub_environment, background=True) as hub:
        askers = [threading.Thread(target=ask, args=(hub,)) for _ in range(4)]
        for asker in askers:
            asker.start()
        try:
            for number in range(12):
                write_skill(f"coming-{number}", "About walruses too.")
                hub.refresh(SyncDepth.REBUILD if number % 4 == 3 else SyncDepth.CHANGES)
                if number % 2:
                    shutil.rmtree(skills_dir / f"coming-{number}")
        finally:
            done.set()
            for asker in askers:
                asker.join(LONG)
        assert wrong == []
        eventually(lambda: len(hub.search("walruses").hits), 7)


# What the hub requests from the index


class Asked:
    """Records what a hub requests from an index."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.limits: list[int] = []
        best = ranking.best

        def recorded(scores: Any, *, limit: int) -> Any:
            self.limits.append(limit)
            return best(scores, limit=limit)

        monkeypatch.setattr(searcher, "best", recorded)


@pytest.mark.acceptance("S2-15", "S2-18")
def test_at_least_four_candidates_are_taken_for_each_hit_and_ten_hits_by_default(
    write_skill: Writer, hub_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(15):
        write_skill(f"skill-{number:02}", "About walruses. " + f"And about bread{number}. " * number)
    asked = Asked(monkeypatch)
    with hub_of(hub_environment) as hub:
        default = hub.search("walruses").hits
        three = hub.search("walruses", limit=3).hits
        many = hub.search("walruses", limit=50).hits
    with hub_of({**hub_environment, "SEARCH_LIMIT": "4"}) as hub:
        four = hub.search("walruses").hits
    assert asked.limits == [100, 100, 200, 100]
    assert [len(default), len(three), len(many), len(four)] == [10, 3, 15, 4]
    assert [hit.score for hit in default] == sorted((hit.score for hit in default), reverse=True)
    assert default[:3] == three


@pytest.mark.acceptance("S2-20")
def test_a_server_that_serves_few_keeps_all_in_the_index(write_skill: Writer, hub_environment: dict[str, str]) -> None:
    write_skill("one", "About walruses.", category="a")
    write_skill("two", "About walruses too.", category="b")
    with hub_of({**hub_environment, "SKILLHUB_ENABLED_SKILLS": "one"}) as hub:
        assert [hit.skill.name for hit in hub.search("walruses").hits] == ["one"]
    with hub_of({**hub_environment, "SKILLHUB_ENABLED_CATEGORIES": "b"}) as hub:
        assert [hit.skill.name for hit in hub.search("walruses").hits] == ["two"]
        view = hub.peek()
        assert view is not None
        # Another filter is no reason to index anything.
        assert view.report is None
    assert published_rows(hub_environment["DB_PATH"]) == ["one", "two"]


def test_servers_of_different_strictness_share_an_index_without_undoing_each_others_work(
    write_skill: Writer, hub_environment: dict[str, str]
) -> None:
    write_skill("conforming", "Paints walls.")
    write_skill("Wild Name", "Paints walls.", extra="version: 1.0")
    strict = {**hub_environment, "SKILLHUB_STRICT": "1"}
    with hub_of(hub_environment) as lenient:
        assert lenient.refresh().report is not None
    with hub_of(strict) as hub:
        view = hub.refresh()
        assert view.report is None
        assert [found.skill.name for found in hub.search("paint walls").hits] == ["conforming"]
        assert [refused.directory.rpartition("/")[2] for refused in view.snapshot.report.refused] == ["Wild Name"]
    with hub_of(hub_environment) as lenient:
        assert lenient.refresh().report is None
        assert {found.skill.name for found in lenient.search("paint walls").hits} == {"conforming", "Wild Name"}


def test_a_missing_skill_is_scanned_for_at_once_before_the_server_has_started(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one")
    with live_index(db, skills_dir) as live:
        assert [skill.name for skill in live.snapshot_without_index().skills] == ["one"]
        write_skill("two")
        assert [skill.name for skill in live.snapshot_without_index(fresh=True).skills] == ["one", "two"]
        assert live.peek() is None


def test_it_says_without_waiting_whether_a_search_would_be_answered(
    db: Path, skills_dir: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with live_index(db, skills_dir) as live:
        assert not live.is_ready()
        notified = threading.Event()
        with live.progress.listen(lambda: notified.set() if live.is_ready() else None):
            live.start()
            assert notified.wait(LONG)
        assert found(live, "walruses") == ["one"]
    with live_index(db, skills_dir, background=False) as live:
        assert live.is_ready()


def test_an_embedder_is_told_whether_a_user_waits(db: Path, skills_dir: Path, write_skill: Writer) -> None:
    embedder = WordEmbedder()
    with live_index(db, skills_dir, background=False, embedder=embedder) as live:
        for number, waiting in enumerate((False, True, False)):
            write_skill(f"skill-{number}")
            live.sync_now(waiting=waiting)
            assert embedder.was_waiting is waiting
            assert len(embedder.texts) == number + 1


def test_a_change_while_the_watches_are_being_set_is_reported_without_a_query(
    db: Path, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a tree so large that setting its watches takes longer than the first sync.
    changed, late = threading.Event(), threading.Event()
    watch = watchfiles.watch

    def watch_late(*paths: str, **options: Any) -> Iterator[object]:
        assert late.wait(LONG)
        yield from watch(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", watch_late)
    write_skill("one")
    with live_index(db, skills_dir) as live:
        live.on_change(changed.set)
        live.start()
        eventually(lambda: live.peek() is not None and live._watcher.healthy, wanted=True)
        # Later than any poll.
        assert not changed.wait(0.7)
        write_skill("two")
        late.set()
        assert changed.wait(LONG)


def test_of_many_skills_changes_are_noticed_also_after_the_process_that_has_the_notices_was_killed_twice(
    db: Path,
    skills_dir: Path,
    write_skill: Writer,
    monkeypatch: pytest.MonkeyPatch,
    started: list[subprocess.Popen[bytes]],
) -> None:
    monkeypatch.setattr(watcher, "MANY_SKILLS", 1)
    write_skill("one")
    with live_index(db, skills_dir) as live:
        changed = threading.Event()
        live.on_change(changed.set)
        live.start()

        def watched_by(number: int) -> bool:
            return len(started) > number and live._watcher.healthy

        for number in range(3):
            eventually(partial(watched_by, number), wanted=True)
            changed.clear()
            write_skill(f"new{number}")
            # Nobody asks: a notice or a poll finds it.
            assert changed.wait(LONG)
            started[-1].kill()
            eventually(lambda: live._watcher.healthy and started[-1].poll() is None, wanted=True)
        assert len(found(live, "new0 new1 new2")) == 3


@pytest.mark.parametrize("watching", [True, False])
def test_a_root_that_is_switched_is_followed_each_time(
    db: Path, tmp_path: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch, *, watching: bool
) -> None:
    if not watching:
        monkeypatch.setattr(watchfiles, "watch", no_notices)
    for number in range(3):
        write_skill("one", f"About walruses of revision{number}.", root=tmp_path / str(number) / "skills")
    (tmp_path / "current").symlink_to("0")
    with live_index(db, tmp_path / "current" / "skills") as live:
        assert found(live, "revision0") == ["one"]
        for number in (1, 2):
            switch(tmp_path / "current", Path(str(number)))
            eventually(lambda number=number: found(live, f"revision{number}"), ["one"])  # type: ignore[misc]
            assert found(live, f"revision{number - 1}") == []


def no_notices(*_: str, **__: Any) -> Iterator[object]:
    """Watch where the operating system has no notices to give."""
    raise OSError("no watches left")
    yield


def test_a_running_server_follows_the_recorded_roots_and_watches_the_new_one(
    hub_environment: dict[str, str], tmp_path: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_index_module, "_POLL_SECONDS", 0.05)
    monkeypatch.chdir(tmp_path)
    team, record = tmp_path / "team", str(Path(os.environ["HOME"], ".skillhub", "roots.json"))
    write_skill("walrus", "About walruses.", root=team)
    environment = {name: value for name, value in hub_environment.items() if name != "SKILLS_DIR"}
    with hub_of(environment, background=True) as hub:

        def names() -> list[str]:
            return [hit.skill.name for hit in hub.search("walruses seals").hits]

        assert names() == []
        change_roots(record, lambda record: record.with_entry(str(team)))
        eventually(names, ["walrus"])
        # The root that was added is watched as the others are.
        write_skill("seal", "About seals.", root=team)
        eventually(lambda: sorted(names()), ["seal", "walrus"])
        # A file that is being broken takes nothing away.
        content = Path(record).read_bytes()
        Path(record).write_bytes(b"{")
        write_skill("other", "About seals and walruses.", root=team)
        eventually(lambda: len(names()), 3)
        Path(record).write_bytes(content)
        change_roots(record, lambda record: record.without_entry(str(team)))
        eventually(names, [])
