"""Notices of the operating system that something below a root changed."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillhub_mcp.index.watcher import RootWatcher
from skillhub_mcp.skills.roots import make_roots

Writer = Callable[..., Path]
# Notices come within milliseconds: this only bounds how long a test can hang.
LONG = 20.0


class Watched:
    """A watcher, and what it said."""

    def __init__(self, *roots: Path) -> None:
        self.said = threading.Event()
        self.watcher = RootWatcher(make_roots([str(root) for root in roots]), self.said.set)

    def until(self, act: Callable[[int], object]) -> None:
        """Act until a notice comes: the first acts may fall before the system began to watch."""
        self.said.clear()
        for attempt in range(200):
            act(attempt)
            if self.said.wait(LONG / 200):
                return
        pytest.fail("no notice came")


@pytest.fixture
def watched(skills_dir: Path) -> Iterator[Watched]:
    watched = Watched(skills_dir)
    yield watched
    watched.watcher.stop()


def test_new_changed_and_removed_skills_are_noticed(watched: Watched, skills_dir: Path, write_skill: Writer) -> None:
    watched.watcher.start()
    assert watched.watcher.healthy
    watched.until(lambda attempt: write_skill(f"new-{attempt}"))
    watched.until(lambda attempt: write_skill("new-0", f"Changed {attempt}."))

    def remove(_: int) -> None:
        shutil.rmtree(next(skills_dir.iterdir()))

    watched.until(remove)


def test_a_file_deep_below_the_root_is_noticed(watched: Watched, skills_dir: Path) -> None:
    deep = skills_dir / "a" / "b" / "c"
    deep.mkdir(parents=True)
    watched.watcher.start()
    watched.until(lambda attempt: (deep / "SKILL.md").write_text(str(attempt), encoding="utf-8"))


def test_starting_twice_watches_once(watched: Watched) -> None:
    watched.watcher.start()
    watched.watcher.start()
    assert [thread.name for thread in threading.enumerate()].count("skillhub-watch") == 1


def test_a_root_that_is_not_there_is_not_watched_and_is_once_it_is(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "later")
    watched.watcher.start()
    assert not watched.watcher.healthy
    (tmp_path / "later").mkdir()
    watched.watcher.start()
    try:
        assert watched.watcher.healthy
        watched.until(lambda attempt: (tmp_path / "later" / str(attempt)).mkdir())
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
    watched.watcher.start()
    watched.until(lambda attempt: write_skill("one", f"Changed {attempt}."))
    # What is still on its way from those writes is let pass.
    while watched.said.wait(0.5):
        watched.said.clear()
    for _ in range(20):
        os.listdir(skills_dir)
        (skills_dir / "one" / "SKILL.md").read_bytes()
    assert not watched.said.wait(0.5)


def test_a_root_that_is_made_or_replaced_later_is_overlooked_until_the_next_start(
    watched: Watched, skills_dir: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later"
    both = Watched(skills_dir, later)
    try:
        assert both.watcher.start()
        assert not both.watcher.overlooks()
        later.mkdir()
        assert both.watcher.overlooks()
        assert both.watcher.start()
        assert not both.watcher.start()
        both.until(lambda attempt: (later / str(attempt)).mkdir())
        both.until(lambda attempt: (skills_dir / str(attempt)).mkdir())
        moved = tmp_path / "moved"
        later.rename(moved)
        later.mkdir()
        assert both.watcher.overlooks()
        assert both.watcher.start()
        both.until(lambda attempt: (later / f"again-{attempt}").mkdir())
    finally:
        both.watcher.stop()
