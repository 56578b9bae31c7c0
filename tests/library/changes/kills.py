"""Commands killed by SIGKILL while they change a root: what is there then, and after the next command.

`python -m tests.library.changes.kills` kills one change of three skills before each step and behind the last, once
with an exchange and once with two renames, and a removal that is undone. `--random 200` behind it kills changes at
random moments, and commands that complete or take back what was killed. Prints one line for each as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.library.changes.roots import LOCK, install, left_behind, state_of

from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.transaction import changing
from skillhub_mcp.library.removal import bring_back, remove

BEFORE = {"kept": "one", "replaced": "one", "gone": "one"}
AFTER = {"replaced": "two", "new": "two"}


class CountedDisk(Disk):
    """A disk that kills this process by SIGKILL before its step number `at`, counted from 1."""

    def __init__(self, at: int, *, exchanges: bool) -> None:
        self._left = at
        self._exchanges = exchanges

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def make_directory(self, path: str) -> None:
        self._step()
        super().make_directory(path)

    def exchange(self, first: str, second: str) -> bool:
        self._step()
        return self._exchanges and super().exchange(first, second)

    def move(self, source: str, target: str) -> None:
        self._step()
        super().move(source, target)

    def replace(self, source: str, target: str) -> None:
        self._step()
        super().replace(source, target)

    def write(self, path: str, content: bytes) -> None:
        self._step()
        super().write(path, content)

    def sync(self, path: str) -> None:
        """Not synced: a kill loses nothing that was written, and only a power cut would."""

    def sync_tree(self, directory: str) -> None:
        """Not synced either."""

    def remove_file(self, path: str) -> None:
        self._step()
        super().remove_file(path)

    def remove_tree(self, path: str) -> None:
        self._step()
        super().remove_tree(path)


def change(root: Path, disk: Disk) -> None:
    """The change that is killed: one skill comes in, one is replaced, one goes."""
    with changing(os.fspath(root), disk=disk) as one:
        install(one, AFTER, removals=["gone"])


def killed(work: Callable[[], None], *, after: float | None = None) -> bool:
    """Do something in another process; return whether a signal ended it. With `after`, kill it then, in seconds."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the child's last word
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"a change failed: {os.WEXITSTATUS(status)}")
    return os.WIFSIGNALED(status)


def undo(root: Path, disk: Disk) -> None:
    """The other change that is killed: the last removal comes back."""
    bring_back(os.fspath(root), os.fspath(root / LOCK), disk=disk)


def prepared(directory: Path) -> Path:
    """A root with three installed skills."""
    root = directory / "root"
    with changing(os.fspath(root)) as one:
        install(one, BEFORE)
    return root


def with_removal(directory: Path) -> Path:
    """A root of which two skills were removed."""
    root = prepared(directory)
    remove(os.fspath(root), os.fspath(root / LOCK), ["gone", "replaced"])
    return root


def states(root: Path, act: Callable[[Path, Disk], None]) -> tuple[object, object]:
    """What is there before and after a change."""
    before = state_of(root)
    act(root, Disk())
    return before, state_of(root)


def verdict(root: Path, before: object, after: object) -> dict[str, object]:
    """What the next command makes of a killed one, and whether anything is left."""
    with changing(os.fspath(root)):
        pass
    now = state_of(root)
    return {"is": "old" if now == before else "new" if now == after else "neither", "left": left_behind(root)}


def at_each_step(scratch: Path) -> Iterator[dict[str, object]]:
    """Kill a change before each step in turn, and then the command that mends it before each of its own."""
    for name, prepare, act, exchanges in (
        ("exchange", prepared, change, True),
        ("renames", prepared, change, False),
        ("undo", with_removal, undo, True),
    ):
        before, after = states(prepare(scratch / f"{name}-whole"), act)
        template = prepare(scratch / f"{name}-template")
        at, alive = 0, True
        while alive:
            at += 1
            root = scratch / f"{name}-{at}"
            shutil.copytree(template, root, symlinks=True)
            alive = killed(lambda: act(root, CountedDisk(at, exchanges=exchanges)))  # noqa: B023 - called at once
            # A command that mends may be killed too.
            again = root.with_name(f"{root.name}-again")
            shutil.copytree(root, again, symlinks=True)
            killed(lambda: _mend(again, CountedDisk(1 + at % 4, exchanges=exchanges)))  # noqa: B023 - as above
            for where in (root, again):
                yield {"change": name, "at": at, "mended": where == again, **verdict(where, before, after)}
                shutil.rmtree(where)


def at_random(scratch: Path, count: int, seed: int) -> Iterator[dict[str, object]]:
    """Kill changes at random moments, every fourth while it mends what was killed before."""
    chance = random.Random(seed)
    before, after = states(prepared(scratch / "whole"), change)
    template = prepared(scratch / "template")
    longest = _seconds_of_a_change(template, scratch)
    for number in range(count):
        root = scratch / f"r{number}"
        shutil.copytree(template, root, symlinks=True)
        moment = chance.random() * longest
        was_killed = killed(lambda: change(root, Disk()), after=moment)  # noqa: B023 - called at once
        if number % 4 == 0:
            killed(lambda: _mend(root, Disk()), after=chance.random() * longest / 4)  # noqa: B023 - as above
        yield {"after": round(moment, 4), "killed": was_killed, **verdict(root, before, after)}
        shutil.rmtree(root)


def _seconds_of_a_change(template: Path, scratch: Path) -> float:
    """The time that a change in another process takes here, and a little more."""
    took = []
    for number in range(7):
        root = scratch / f"timed-{number}"
        shutil.copytree(template, root, symlinks=True)
        start = time.perf_counter()
        killed(lambda: change(root, Disk()))  # noqa: B023 - called at once
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1.1


def _mend(root: Path, disk: Disk) -> None:
    with changing(os.fspath(root), disk=disk):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="skillhub-kills-") as scratch:
        found = at_random(Path(scratch), args.random, args.seed) if args.random else at_each_step(Path(scratch))
        for one in found:
            sys.stdout.write(f"{json.dumps(one)}\n")


if __name__ == "__main__":
    main()
