"""File system notifications for changes below a root."""

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
# Limits how long a test can hang; notifications come within milliseconds.
LONG = 20.0
# Longer than the debounce of one change.
QUIET = 0.2


class Watched:
    """A watcher, and the paths of each of its calls."""

    def __init__(self, *roots: Path) -> None:
        self.called = threading.Event()
        self.changes: list[Collection[str] | None] = []
        self.watcher = RootWatcher(make_roots([str(root) for root in roots]), self._call)

    def _call(self, paths: Collection[str] | None) -> None:
        self.changes.append(paths)
        self.called.set()

    def start(self) -> None:
        """Start the watcher, and wait until every watch is set."""
        self.called.clear()
        assert self.watcher.start()
        assert self.called.wait(LONG), "the watches were not set"
        self.settle()

    def settle(self) -> None:
        """Wait until no earlier notification is pending."""
        while self.called.wait(QUIET):
            self.called.clear()

    def notices(self, change: Callable[[], object]) -> bool:
        """Make one change, once, and return whether a notification came."""
        self.settle()
        change()
        return self.called.wait(LONG)


@pytest.fixture
def watched(skills_dir: Path) -> Iterator[Watched]:
    watched = Watched(skills_dir)
    yield watched
    watched.watcher.stop()


def test_changed_paths_are_reported_unless_there_are_too_many(
    watched: Watched, skills_dir: Path, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_skill("one") / "SKILL.md"
    watched.start()
    assert watched.changes[0] is None
    watched.changes.clear()
    assert watched.notices(lambda: file.write_text("changed", encoding="utf-8"))
    watched.settle()
    assert {path for paths in watched.changes for path in paths or ["everything"]} == {str(file)}
    monkeypatch.setattr(watcher, "MOST_CHANGES", 0)
    watched.changes.clear()
    assert watched.notices(lambda: file.write_text("again", encoding="utf-8"))
    assert watched.changes[0] is None


def test_the_limit_counts_distinct_paths(
    watched: Watched, write_skill: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_skill("one") / "SKILL.md"
    watched.start()
    watched.changes.clear()
    # A replaced file reports two paths, one of them both created and deleted.
    monkeypatch.setattr(watcher, "MOST_CHANGES", 2)
    beside = file.with_name("SKILL.md.new")

    def replace() -> None:
        beside.write_text("changed", encoding="utf-8")
        beside.replace(file)

    assert watched.notices(replace)
    watched.settle()
    assert {path for paths in watched.changes for path in paths or ["everything"]} <= {str(file), str(beside)}


def test_staged_files_are_not_a_change(watched: Watched, skills_dir: Path, write_skill: Writer) -> None:
    file = write_skill("one") / "SKILL.md"
    watched.start()
    watched.changes.clear()
    write_skill("new", directory=".skillhub/staging/new")
    (skills_dir / ".skillhub" / "staging" / "new").rename(skills_dir / ".skillhub" / "gone")
    assert watched.notices(lambda: file.write_text("changed", encoding="utf-8"))
    watched.settle()
    assert {path for paths in watched.changes for path in paths or ["everything"]} == {str(file)}


def test_new_changed_and_removed_skills_are_noticed(watched: Watched, skills_dir: Path, write_skill: Writer) -> None:
    watched.start()
    assert watched.watcher.healthy
    assert watched.notices(lambda: write_skill("new", directory="a/b/c/new"))
    assert watched.notices(lambda: write_skill("new", "Changed.", directory="a/b/c/new"))
    assert watched.notices(lambda: shutil.rmtree(skills_dir / "a"))


def test_each_of_many_changes_is_noticed(watched: Watched, write_skill: Writer) -> None:
    skill = write_skill("one") / "SKILL.md"
    watched.start()
    for number in range(10):
        watched.called.clear()
        skill.write_text(str(number), encoding="utf-8")
        assert watched.called.wait(LONG)


def test_a_change_during_the_setup_of_watches_is_noticed(
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


def test_a_missing_root_is_watched_once_it_exists(tmp_path: Path) -> None:
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


def test_stopping_ends_the_thread_at_once(watched: Watched) -> None:
    watched.watcher.start()
    watched.watcher.stop()
    assert "skillhub-watch" not in [thread.name for thread in threading.enumerate()]
    assert not watched.watcher.healthy
    watched.watcher.start()
    assert "skillhub-watch" not in [thread.name for thread in threading.enumerate()]


def test_stopping_before_the_start_is_harmless(tmp_path: Path) -> None:
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


def test_a_root_created_later_is_ignored_until_the_next_start(skills_dir: Path, tmp_path: Path) -> None:
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
def test_a_switched_link_is_watched_at_each_new_target(tmp_path: Path, below: str) -> None:
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


def test_a_removed_root_is_watched_again_when_it_returns(watched: Watched, skills_dir: Path) -> None:
    watched.start()
    assert watched.notices(lambda: shutil.rmtree(skills_dir))
    skills_dir.mkdir()
    assert watched.watcher.roots_changed()
    watched.start()
    assert watched.notices((skills_dir / "one").mkdir)
