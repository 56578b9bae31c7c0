"""Notices of the operating system that something below a root changed."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles
from tests.conftest import switch

from skillhub_mcp.index import watcher
from skillhub_mcp.index.watcher import RootWatcher
from skillhub_mcp.skills.roots import make_roots

pytestmark = pytest.mark.slow

Writer = Callable[..., Path]
# Notices come within milliseconds: this only bounds how long a test can hang.
LONG = 20.0
# Longer than what one change causes can be apart: the debounce of a notice, and some.
QUIET = 0.3


class Watched:
    """A watcher, whether it called since, and with which paths each time."""

    def __init__(self, *roots: Path) -> None:
        self.called = threading.Event()
        self.told: list[Collection[str] | None] = []
        self.watcher = RootWatcher(make_roots([str(root) for root in roots]), self._call)

    def _call(self, paths: Collection[str] | None) -> None:
        self.told.append(paths)
        self.called.set()

    def start(self) -> None:
        """Start the watcher, and wait until it says that every watch is set."""
        self.called.clear()
        assert self.watcher.start()
        assert self.called.wait(LONG), "the watches were not set"
        self.settle()

    def settle(self) -> None:
        """Wait until no notice of an earlier change is on its way."""
        while self.called.wait(QUIET):
            self.called.clear()

    def notices(self, change: Callable[[], object]) -> bool:
        """Make one change, once, and return whether a notice came: a lost one is never made up for by another."""
        self.settle()
        change()
        return self.called.wait(LONG)


@pytest.fixture
def watched(skills_dir: Path) -> Iterator[Watched]:
    watched = Watched(skills_dir)
    yield watched
    watched.watcher.stop()


def test_it_says_what_changed_but_not_at_the_start_nor_where_that_is_much(
    watched: Watched, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_skill("one") / "SKILL.md"
    watched.start()
    assert watched.told[0] is None
    watched.told.clear()
    assert watched.notices(lambda: file.write_text("changed", encoding="utf-8"))
    watched.settle()
    assert {path for paths in watched.told for path in paths or ["everything"]} == {str(file)}
    monkeypatch.setattr(watcher, "_MOST_CHANGES", 0)
    watched.told.clear()
    assert watched.notices(lambda: file.write_text("again", encoding="utf-8"))
    assert watched.told[0] is None


def test_much_is_counted_in_paths_however_often_each_is_told(
    watched: Watched, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_skill("one") / "SKILL.md"
    watched.start()
    watched.told.clear()
    # Of a file that is replaced two paths are told, one of them as made and as gone.
    monkeypatch.setattr(watcher, "_MOST_CHANGES", 2)
    beside = file.with_name("SKILL.md.new")

    def replace() -> None:
        beside.write_text("changed", encoding="utf-8")
        beside.replace(file)

    assert watched.notices(replace)
    watched.settle()
    assert {path for paths in watched.told for path in paths or ["everything"]} <= {str(file), str(beside)}


def test_what_is_staged_in_the_hubs_own_directory_is_no_change(
    watched: Watched, skills_dir: Path, write_skill: Writer
) -> None:
    file = write_skill("one") / "SKILL.md"
    watched.start()
    watched.told.clear()
    write_skill("new", directory=".skillhub/staging/new")
    (skills_dir / ".skillhub" / "staging" / "new").rename(skills_dir / ".skillhub" / "gone")
    assert watched.notices(lambda: file.write_text("changed", encoding="utf-8"))
    watched.settle()
    assert {path for paths in watched.told for path in paths or ["everything"]} == {str(file)}


def test_new_changed_and_removed_skills_are_noticed(watched: Watched, skills_dir: Path, write_skill: Writer) -> None:
    watched.start()
    assert watched.watcher.healthy
    assert watched.notices(lambda: write_skill("new"))
    assert watched.notices(lambda: write_skill("new", "Changed."))
    assert watched.notices(lambda: shutil.rmtree(skills_dir / "new"))


def test_a_file_deep_below_the_root_is_noticed(watched: Watched, skills_dir: Path) -> None:
    deep = skills_dir / "a" / "b" / "c"
    deep.mkdir(parents=True)
    watched.start()
    assert watched.notices(lambda: (deep / "SKILL.md").write_text("A skill.", encoding="utf-8"))


def test_each_of_many_changes_is_noticed(watched: Watched, write_skill: Writer) -> None:
    skill = write_skill("one") / "SKILL.md"
    watched.start()
    for number in range(10):
        watched.called.clear()
        skill.write_text(str(number), encoding="utf-8")
        assert watched.called.wait(LONG)


def test_a_change_while_the_watches_are_being_set_is_noticed(
    watched: Watched, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = threading.Event()
    watch = watchfiles.watch

    def watch_late(*paths: str, **options: Any) -> Iterator[object]:
        assert written.wait(LONG)
        yield from watch(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", watch_late)
    assert watched.watcher.start()
    write_skill("one")
    assert not watched.called.is_set()
    written.set()
    assert watched.called.wait(LONG)


def test_starting_twice_watches_once(watched: Watched) -> None:
    watched.start()
    assert not watched.watcher.start()
    assert [thread.name for thread in threading.enumerate()].count("skillhub-watch") == 1


def test_a_root_that_is_not_there_is_not_watched_and_is_once_it_is(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "later")
    assert not watched.watcher.start()
    assert not watched.watcher.healthy
    (tmp_path / "later").mkdir()
    try:
        watched.start()
        assert watched.watcher.healthy
        assert watched.notices((tmp_path / "later" / "one").mkdir)
    finally:
        watched.watcher.stop()


def test_stopping_ends_the_thread_at_once_and_for_good(watched: Watched) -> None:
    watched.watcher.start()
    watched.watcher.stop()
    assert "skillhub-watch" not in [thread.name for thread in threading.enumerate()]
    assert not watched.watcher.healthy
    watched.watcher.start()
    assert "skillhub-watch" not in [thread.name for thread in threading.enumerate()]


def test_stopping_what_never_started_is_fine(tmp_path: Path) -> None:
    Watched(tmp_path).watcher.stop()


def test_reading_is_not_a_change(watched: Watched, skills_dir: Path, write_skill: Writer) -> None:
    write_skill("one")
    watched.start()
    assert watched.notices(lambda: write_skill("one", "Changed."))
    watched.settle()
    for _ in range(20):
        os.listdir(skills_dir)
        (skills_dir / "one" / "SKILL.md").read_bytes()
    assert not watched.called.wait(QUIET)


def test_a_root_that_is_made_or_replaced_later_is_overlooked_until_the_next_start(
    skills_dir: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later"
    both = Watched(skills_dir, later)
    try:
        both.start()
        assert not both.watcher.roots_changed()
        later.mkdir()
        assert both.watcher.roots_changed()
        both.start()
        assert not both.watcher.start()
        assert both.notices((later / "one").mkdir)
        assert both.notices((skills_dir / "one").mkdir)
        later.rename(tmp_path / "moved")
        later.mkdir()
        assert both.watcher.roots_changed()
        both.start()
        assert both.notices((later / "again").mkdir)
    finally:
        both.watcher.stop()


@pytest.mark.parametrize("below", ["", "skills"])
def test_a_link_that_is_switched_is_watched_at_its_new_place_each_time(tmp_path: Path, below: str) -> None:
    revisions = [tmp_path / f"revision-{number}" for number in range(3)]
    for revision in revisions:
        (revision / below).mkdir(parents=True)
    (tmp_path / "current").symlink_to(revisions[0])
    root = Watched(tmp_path / "current" / below)
    try:
        root.start()
        for revision in revisions[1:]:
            switch(tmp_path / "current", revision)
            assert root.watcher.roots_changed()
            root.start()
            assert not root.watcher.roots_changed()
            assert root.notices((revision / below / "one").mkdir)
    finally:
        root.watcher.stop()


def test_a_root_that_was_removed_is_watched_again_when_it_is_back(watched: Watched, skills_dir: Path) -> None:
    watched.start()
    assert watched.notices(lambda: shutil.rmtree(skills_dir))
    skills_dir.mkdir()
    assert watched.watcher.roots_changed()
    watched.start()
    assert watched.notices((skills_dir / "one").mkdir)


def test_a_removed_root_counts_as_changed_even_if_one_with_its_inode_is_there(
    watched: Watched, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.start()
    # Whether a file system gives an inode out again at once is not ours to say.
    places = watched.watcher._existing_roots()
    monkeypatch.setattr(watched.watcher, "_existing_roots", lambda: places)
    assert watched.notices(lambda: shutil.rmtree(skills_dir))
    assert watched.watcher.roots_changed()
