"""Concurrent and killed publishers: a reader always finds one complete publication."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.store.publications import Library, found_at

from skillhub_mcp.errors import PublicationBusy
from skillhub_mcp.store.publish import PublishOptions, publish, roll_back
from skillhub_mcp.store.tables import PublicationTables, Target, publications

# Kills at random moments, in a directory and in a bucket.
KILLS = int(os.environ.get("SKILLHUB_KILLS", "1"))

_CHILD = """
import json, sys
from tests.store.publications import Library
from skillhub_mcp.errors import PublicationBusy
from skillhub_mcp.store.publish import PublishOptions, publish
from skillhub_mcp.store.tables import open_target
said = json.loads(sys.argv[1])
target = open_target(said["url"], said["options"])
with Library(said["environment"]).read() as library:
    print("ready", flush=True)
    for line in sys.stdin:
        while True:
            try:
                report = publish(library, target, PublishOptions(keep=1000))
                break
            except PublicationBusy:
                pass
        print(json.dumps([report.number, report.changed]), flush=True)
"""


class Publisher:
    """A process that publishes a library on request."""

    def __init__(self, library: Library, target: Target) -> None:
        said = {"url": target.name, "options": dict(target.options), "environment": dict(library.environment)}
        here = Path(__file__).parents[2]
        path = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, json.dumps(said)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=here,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self.line() == "ready\n"

    def begin(self, *, times: int = 1) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n" * times)
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self, *, kill: bool = False) -> str:
        """End the process, and return its output."""
        if kill:
            self.process.kill()
        out, _ = self.process.communicate(timeout=300)
        assert kill or self.process.returncode == 0
        return out


def write_library(write_skill: SkillWriter, folder: Path, names: list[str]) -> Path:
    for name in names:
        files = {"notes.txt": f"{folder.name} {name}"}
        write_skill(name, f"Does {name}.", body=f"# {name}\n", files=files, root=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("place", "has_publication"), [("directory", False), ("bucket", True)])
def test_concurrent_publishers_lose_and_duplicate_nothing(
    hub_environment: Mapping[str, str],
    write_skill: SkillWriter,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    place: str,
    has_publication: bool,
) -> None:
    target = request.getfixturevalue(place)
    publish_at_once(hub_environment, write_skill, target, tmp_path, has_publication=has_publication)


def publish_at_once(
    hub_environment: Mapping[str, str],
    write_skill: SkillWriter,
    target: Target,
    tmp_path: Path,
    *,
    has_publication: bool,
) -> None:
    """Publish two libraries from two processes at once, and check the result."""
    names = ["one", "two"]
    publishers = {}
    for name in names:
        own = ["shared", "common", *(f"{name}-{number}" for number in range(4))]
        skills = write_library(write_skill, tmp_path / name, own)
        places = {"SKILLS_DIR": str(skills), "DB_PATH": str(tmp_path / f"db-{name}" / "skills.lancedb")}
        library = Library({**hub_environment, **places})
        if has_publication and name == "one":
            library.publish(target)
        publishers[name] = Publisher(library, target)
    for publisher in publishers.values():
        publisher.begin(times=2 if has_publication else 1)
    named: dict[int, str] = {1: "one"} if has_publication else {}
    for name, publisher in publishers.items():
        for number, is_changed in map(json.loads, publisher.end().splitlines()):
            assert not is_changed or number not in named
            named.setdefault(number, name)
    # The publications are exactly the reported numbers, each with its skills.
    assert sorted(one.number for one in publications(target)) == sorted(named) == list(range(1, len(named) + 1))
    for number, name in named.items():
        found = found_at(target, number)
        assert found.keys == sorted(["hub/shared", "hub/common", *(f"hub/{name}-{one}" for one in range(4))])
        assert found.files["hub/shared/notes.txt"] == f"{name} shared".encode()


def test_an_overtaken_publisher_starts_again(
    library: Library, write_skill: SkillWriter, directory: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("a", "Does a.")
    library.publish(directory)
    write_skill("b", "Does b.")
    overtake(monkeypatch, directory, times=2)
    assert library.publish(directory).number == 4
    assert found_at(directory).keys == ["hub/a", "hub/b"]
    overtake(monkeypatch, directory, times=1)
    assert roll_back(directory, 1).number == 6


def test_a_publisher_overtaken_every_time_gives_up_and_publishes_nothing(
    library: Library, write_skill: SkillWriter, directory: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("a", "Does a.")
    library.publish(directory)
    write_skill("b", "Does b.")
    overtake(monkeypatch, directory, times=3)
    with pytest.raises(PublicationBusy):
        library.publish(directory)
    assert (found_at(directory).number, found_at(directory).keys) == (4, ["hub/a"])


def overtake(monkeypatch: pytest.MonkeyPatch, target: Target, *, times: int) -> None:
    """Roll back to publication 1 just before another publisher commits."""
    commit, left = PublicationTables.commit, [None] * times

    def overtaken(self: PublicationTables, *args: Any, **named: Any) -> None:
        if left:
            left.pop()
            with monkeypatch.context() as patch:
                patch.setattr(PublicationTables, "commit", commit)
                roll_back(target, 1)
        commit(self, *args, **named)

    monkeypatch.setattr(PublicationTables, "commit", overtaken)


class _Killed(BaseException):
    """The exit of a publisher."""


@pytest.mark.parametrize("step", ["write_files", "write_skills", "merged", "commit"])
def test_a_publisher_that_ends_before_a_step_leaves_a_complete_publication(
    library: Library,
    write_skill: SkillWriter,
    skills_dir: Path,
    directory: Target,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    write_library(write_skill, skills_dir, ["a", "b"])
    for number in (1, 2):
        write_skill("b", f"Does b, {number}.")
        library.publish(directory)
    before = found_at(directory)
    write_skill("b", "Does b better.")
    write_skill("c", "Does c.")
    (skills_dir / "a" / "SKILL.md").unlink()

    def killed(*_: object, **__: object) -> None:
        raise _Killed

    how = PublishOptions(keep=2, keep_days=0)
    with monkeypatch.context() as patch, library.read() as read:
        patch.setattr(PublicationTables, step, killed)
        with pytest.raises(_Killed):
            publish(read, directory, how)
    assert (found_at(directory).number, found_at(directory).files) == (2, before.files)
    with library.read() as read:
        publish(read, directory, how)
    assert found_at(directory).keys == ["hub/b", "hub/c"]


@pytest.mark.slow
def test_a_killed_publisher_leaves_the_old_or_the_new_library(
    library: Library, write_skill: SkillWriter, skills_dir: Path, target: Target
) -> None:
    write_library(write_skill, skills_dir, ["a", "b", *(f"other-{number}" for number in range(8))])
    library.publish(target)
    began = time.monotonic()
    write_skill("b", "Does b, at first.")
    library.publish(target)
    # The moments are spread over about the duration of a publication.
    longest = time.monotonic() - began
    before, chance = found_at(target), random.Random(7)
    for kill in range(KILLS):
        write_skill("b", f"Does b, {kill}.", files={"notes.txt": f"notes {kill}"}, root=skills_dir)
        publisher = Publisher(library, target)
        publisher.begin()
        time.sleep(chance.uniform(0, longest))
        publisher.end(kill=True)
        found = found_at(target)
        if found.number == before.number:
            assert found.files == before.files
        else:
            assert found.number == before.number + 1
            assert found.files["hub/b/notes.txt"] == f"notes {kill}".encode()
        assert len(found.keys) == 10
        before = found
    library.publish(target)
    assert found_at(target).files["hub/b/notes.txt"] == f"notes {KILLS - 1}".encode()
