"""Commands killed by SIGKILL while they change a root, and the recovery by the next command."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.library.roots import LOCK, changed, digest_at, left_behind, locked, prepared, skills_in

from skillhub_mcp.library.change import changing
from skillhub_mcp.library.removal import bring_back
from skillhub_mcp.library.verifying import verify

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kills by a signal")]

KILLS = int(os.environ.get("SKILLHUB_KILLS", "20"))


def killed(work: Callable[[], None], *, after: float | None = None) -> bool:
    """Run `work` in another process, killed after `after` seconds if given; return whether a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def at_rename(number: int) -> None:
    """Kill this process before its rename `number` (from 1)."""
    renames, rename = iter(range(1, number)), os.replace

    def counted(source: str, target: str) -> None:
        if next(renames, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(source, target)

    os.replace = counted  # type: ignore[assignment]


def seconds_of_change(root: Path) -> float:
    start = time.perf_counter()
    killed(lambda: changed(root))
    return time.perf_counter() - start


class Library:
    """Identical roots, with each skill before and after the change."""

    def __init__(self, directory: Path) -> None:
        self.template = prepared(directory)
        self.directory = directory
        whole = self.copy("whole")
        self.before = skills_in(whole)
        changed(whole)
        self.after = skills_in(whole)

    def copy(self, name: str) -> Path:
        root = self.directory / name
        shutil.copytree(self.template, root, symlinks=True)
        return root

    def check(self, root: Path) -> set[str]:
        """Check the files after a kill, and return where each skill was found."""
        found = set()
        now, verified = skills_in(root), verify(os.fspath(root), os.fspath(root / LOCK))
        wrong = {one.locked.name: one for one in verified.skills if not one.ok}
        for name in self.before | self.after:
            trash = [digest_at(one) for one in (root / ".skillhub" / "trash").glob(f"*/skills/{name}")]
            if name not in now:
                assert trash == ([self.before[name]] if name in self.before else [])
                found.add("trash" if trash else "none")
            else:
                assert now[name] in (self.before.get(name), self.after.get(name))
                found.add("old" if now[name] == self.before.get(name) else "new")
            # `verify` reports every difference from the lock, and where the locked files are.
            if name in locked(root):
                assert (name in wrong) == (now.get(name) != locked(root)[name])
                assert name not in wrong or wrong[name].in_trash
            else:
                assert (name in verified.unlocked) == (name in now)
        with changing(os.fspath(root)):
            pass
        assert left_behind(root) == []
        if missing := [name for name, one in wrong.items() if one.is_missing]:
            bring_back(os.fspath(root), os.fspath(root / LOCK), missing)
            assert {name: skills_in(root)[name] for name in missing} == {name: self.before[name] for name in missing}
        return found


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def test_killing_a_command_at_any_rename_loses_no_skill(library: Library) -> None:
    number, found, was_killed = 0, set[str](), True
    while was_killed:
        number += 1
        root = library.copy(str(number))

        def work(number: int = number, root: Path = root) -> None:
            at_rename(number)
            changed(root)

        was_killed = killed(work)
        found |= library.check(root)
    assert number > 4
    assert found == {"old", "new", "trash", "none"}


def test_a_command_killed_at_a_random_moment_leaves_no_partial_skill(library: Library) -> None:
    chance = random.Random(1)
    # The shortest of some runs: a busy machine would have most kills come too late.
    longest = min(map(seconds_of_change, [library.copy(f"timed-{number}") for number in range(3)]))
    for number in range(KILLS):
        root = library.copy(str(number))
        killed(lambda: changed(root), after=chance.random() * longest)  # noqa: B023 - called at once
        library.check(root)
        shutil.rmtree(root)
