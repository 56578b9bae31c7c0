"""Publishers at once, and publishers that are killed: a reader finds one publication, whole, whatever happens."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from skillhub_mcp.storage.lance_rows import LanceRows
from skillhub_mcp.storage.lease import LeaseTimes
from skillhub_mcp.storage.manifest import POINTER
from skillhub_mcp.storage.object_store import ObjectStore, PutConflict, StoredEntry, StoredObject
from skillhub_mcp.storage.publish import publish
from skillhub_mcp.storage.reading import PublicationReader
from tests.conftest import SkillWriter
from tests.storage.conftest import Target
from tests.storage.publishing import OPTIONS, Found, Source, found_at, rows_at, rows_of

from skillhub_mcp.errors import LeaseLost
from skillhub_mcp.index.failures import TABLE_ID

pytestmark = pytest.mark.slow

# How often a publisher is killed at a random moment: SKILLHUB_KILLS=100 tries it as often as a release should.
KILLS = int(os.environ.get("SKILLHUB_KILLS", "1"))

_CHILD = """
import json, sys
from dataclasses import replace
from skillhub_mcp.errors import LeaseLost
from tests.storage.conftest import Target
from tests.storage.publishing import OPTIONS, Source, rows_at
from skillhub_mcp.storage.lease import LeaseTimes
from skillhub_mcp.storage.publish import publish
said = json.loads(sys.argv[1])
target = Target(said["url"], said["options"])
times = LeaseTimes(said["seconds"], 120, 0.05, renew_seconds=said["seconds"] / 3)
how = replace(OPTIONS, publisher=said["name"], keep=1000, lease=times)
with Source(said["environment"]).library() as library:
    print("ready", flush=True)
    sys.stdin.readline()
    left = said["times"]
    while left:
        try:
            report = publish(library, target.open(), rows_at(target), how)
        except LeaseLost:
            # On a busy machine this one was not heard of for too long: it does what the error says.
            continue
        print(json.dumps([report.snapshot, report.changed]), flush=True)
        left -= 1
"""


def _start(target: Target, source: Source, *, name: str, times: int = 1, seconds: float = 5.0) -> subprocess.Popen[str]:
    said = {
        "url": target.url,
        "options": target.options,
        "environment": dict(source.environment),
        "name": name,
        "times": times,
        "seconds": seconds,
    }
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, json.dumps(said)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def _library(write_skill: SkillWriter, folder: Path, words: Iterable[str]) -> Path:
    for word in words:
        write_skill(
            word, f"Does {word}.", body=f"# {word}\n", files={"notes.txt": f"{folder.name} {word}"}, root=folder
        )
    return folder


def test_three_publishers_at_once_lose_nothing_and_double_nothing(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, bucket: Target, tmp_path: Path
) -> None:
    """Each publishes a library of its own, again and again: they share some skills, and differ in others."""
    libraries = {
        name: _library(write_skill, tmp_path / name, ["shared", "common", *(f"{name}-{n}" for n in range(4))])
        for name in ("one", "two", "three")
    }
    children = {}
    for name, skills in libraries.items():
        own = {**hub_environment, "SKILLS_DIR": str(skills), "DB_PATH": str(tmp_path / f"db-{name}" / "skills.lancedb")}
        children[name] = _start(bucket, Source(own), name=name, times=2)
    for child in children.values():
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    told: dict[str, list[str]] = {}
    for child in children.values():
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for name, child in children.items():
        out, _ = child.communicate(timeout=300)
        assert child.returncode == 0
        told[name] = [snapshot for snapshot, changed in map(json.loads, out.splitlines()) if changed]
    pointer = PublicationReader(bucket.open()).pointer()[0]
    # Each snapshot that a publisher was told of is there, under its own number, and no other.
    assert sorted(one.id for one in pointer.snapshots) == sorted(one for some in told.values() for one in some)
    assert [one.number for one in pointer.snapshots] == list(range(len(pointer.snapshots), 0, -1))
    assert all(told.values())
    for one in pointer.snapshots:
        found = found_at(bucket, one.id)
        its_own = [f"hub/{one.publisher}-{number}" for number in range(4)]
        assert found.keys == sorted(["hub/shared", "hub/common", *its_own])
        assert found.files["hub/shared/notes.txt"] == f"{one.publisher} shared".encode()
        assert [row["path"] for row in rows_of(bucket, found)] == found.keys


def test_a_row_that_was_doubled_is_mended_before_the_version_is_named(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, skills_dir: Path, bucket: Target
) -> None:
    """As LanceDB doubles one over S3 where another writer, whose lease ran out, still merges the same key."""
    source = Source(hub_environment)
    _library(write_skill, skills_dir, ["a", "b", "c"])
    source.publish(bucket)
    write_skill("b", "Does b better.", root=skills_dir)
    doubled: list[int] = []

    class Doubling(LanceRows):
        def _merge(self, table: Any, *args: Any) -> None:
            super()._merge(table, *args)
            if not doubled:
                rows = table.to_arrow()
                table.add(rows.filter([path == "hub/b" for path in rows.column("path").to_pylist()]))
                doubled.append(table.count_rows())

    with source.library() as library:
        report = publish(
            library,
            bucket.open(),
            lambda check: Doubling("s3", f"{bucket.url}/lance", bucket.options, check=check),
            OPTIONS,
        )
    found = found_at(bucket)
    assert (doubled, report.modified) == ([4], 1)
    assert [(row["path"], row["description"]) for row in rows_of(bucket, found)] == [
        ("hub/a", "Does a."),
        ("hub/b", "Does b better."),
        ("hub/c", "Does c."),
    ]


class _Stale(LanceRows):
    """Before it makes the table's indexes, one who had the lease before writes the whole table, so many `times`."""

    def __init__(self, bucket: Target, *, times: int, check: Callable[[], None]) -> None:
        super().__init__("s3", f"{bucket.url}/lance", bucket.options, check=check)
        self._times = times
        self._other = LanceRows("s3", f"{bucket.url}/lance", bucket.options)

    def _pieces(self, *args: Any) -> Iterator[Any]:
        yield from super()._pieces(*args)
        if self._times:
            self._times -= 1
            source, rows, _, schema = args
            self._other._whole(source, rows, schema.metadata[TABLE_ID].decode())


@pytest.mark.parametrize("times", [1, 2])
def test_a_publisher_whose_table_one_before_it_has_overwritten_writes_it_again(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, skills_dir: Path, bucket: Target, times: int
) -> None:
    source = Source(hub_environment)
    _library(write_skill, skills_dir, ["a", "b"])
    with source.library() as library:
        publish(library, bucket.open(), lambda check: _Stale(bucket, times=times, check=check), OPTIONS)
    found = found_at(bucket)
    assert [row["path"] for row in rows_of(bucket, found)] == found.keys == ["hub/a", "hub/b"]


def test_a_publisher_that_another_has_taken_over_from_says_so_and_not_that_the_storage_failed(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, skills_dir: Path, bucket: Target
) -> None:
    _library(write_skill, skills_dir, ["a", "b"])

    def stale(check: Callable[[], None]) -> LanceRows:
        calls: list[None] = []

        def lost_at_last() -> None:
            calls.append(None)
            check()
            if len(calls) > 3:
                raise LeaseLost("s3")

        return _Stale(bucket, times=3, check=lost_at_last)

    source = Source(hub_environment)
    with source.library() as library, pytest.raises(LeaseLost, match="Another publisher has taken over"):
        publish(library, bucket.open(), stale, OPTIONS)
    assert PublicationReader(bucket.open()).pointer()[0].snapshots == ()
    # Publishing again is what it says to do.
    source.publish(bucket)
    assert found_at(bucket).keys == ["hub/a", "hub/b"]


# Killed


class _Killed(BaseException):
    """The end of a publisher: nothing that it does after it reaches the storage."""


@dataclass
class _Dying:
    """A store whose publisher dies before its write number `at`."""

    store: ObjectStore
    at: int
    writes: int = 0

    @property
    def name(self) -> str:
        return self.store.name

    def _write(self) -> None:
        if threading.current_thread().name == "skillhub-lease":
            if self.writes >= self.at:
                raise PutConflict
            return
        self.writes += 1
        if self.writes >= self.at:
            raise _Killed

    def get(self, path: str, *, most: int) -> StoredObject | None:
        return self.store.get(path, most=most)

    def get_if_changed(self, path: str, etag: str, *, most: int) -> StoredObject | None:
        return self.store.get_if_changed(path, etag, most=most)

    def get_range(self, path: str, offset: int, length: int) -> bytes | None:
        return self.store.get_range(path, offset, length)

    def download(self, path: str, to: str) -> bool:
        return self.store.download(path, to)

    def list(self, prefix: str) -> Iterator[StoredEntry]:
        return self.store.list(prefix)

    def put(self, path: str, content: bytes) -> None:
        self._write()
        self.store.put(path, content)

    def upload(self, path: str, source: str) -> None:
        self._write()
        self.store.upload(path, source)

    def replace(self, path: str, content: bytes, etag: str | None) -> str:
        self._write()
        return self.store.replace(path, content, etag)

    def delete(self, paths: Iterable[str]) -> None:
        self._write()
        self.store.delete(paths)


def test_killed_before_any_write_the_last_publication_stays_whole_and_the_next_goes_on(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    source, target = Source(hub_environment), Target(str(tmp_path / "published"), {})
    short = LeaseTimes(seconds=0.05, wait_seconds=30, poll_seconds=0.01)
    _library(write_skill, skills_dir, ["a", "b"])
    source.publish(target)
    before = found_at(target)
    write_skill("b", "Does b better.", root=skills_dir)
    write_skill("c", "Does c.", root=skills_dir)
    (skills_dir / "a" / "SKILL.md").unlink()
    at, ended = 0, False
    with source.library() as library:
        while not ended:
            at += 1
            try:
                publish(library, _Dying(target.open(), at), rows_at(target), replace(OPTIONS, lease=short))
                ended = True
            except _Killed:
                now = found_at(target)
                if now.id == before.id:
                    assert now.files == before.files
                    assert _paths(target, now) == ["hub/a", "hub/b"]
                else:
                    # It died after the commit.
                    assert now.keys == ["hub/b", "hub/c"]
    # Lease, fence, pack, list of skills, segment, its keys, statistics, snapshot, pointer, and letting go.
    assert at > 9
    found = found_at(target)
    assert found.keys == _paths(target, found) == ["hub/b", "hub/c"]
    # What those left behind depends on when each died.
    left = f"packs/{'0' * 64}"
    target.open().put(left, b"of one that died")
    assert source.publish(target, orphan_seconds=0).removed > 0
    assert target.open().get(left, most=100) is None
    assert found_at(target).files == found.files


def test_killed_at_any_moment_the_last_publication_stays_whole(
    hub_environment: Mapping[str, str], write_skill: SkillWriter, skills_dir: Path, bucket: Target
) -> None:
    source = Source(hub_environment)
    _library(write_skill, skills_dir, ["a", "b", *(f"other-{number}" for number in range(20))])
    began = time.monotonic()
    source.publish(bucket)
    # So long, about, takes a publication: the moments are spread over it.
    longest = time.monotonic() - began
    states = {found_at(bucket).id: found_at(bucket).files}
    chance = random.Random(7)
    for kill in range(KILLS):
        write_skill("b", f"Does b, {kill}.", files={"notes.txt": f"notes {kill}"}, root=skills_dir)
        with _start(bucket, source, name=f"victim {kill}", seconds=0.5) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("\n")
            child.stdin.flush()
            time.sleep(chance.uniform(0, longest))
            child.kill()
            child.wait()
            child.stdin.close()
        found = found_at(bucket)
        if found.id in states:
            assert found.files == states[found.id]
        else:
            assert found.files["hub/b/notes.txt"] == f"notes {kill}".encode()
        assert _paths(bucket, found) == found.keys
        states[found.id] = found.files
    report = source.publish(bucket, lease=LeaseTimes(seconds=0.5, wait_seconds=60, poll_seconds=0.05))
    found = found_at(bucket)
    assert found.files["hub/b/notes.txt"] == f"notes {KILLS - 1}".encode()
    assert report.skills == 22
    assert bucket.open().get(POINTER, most=1_000_000) is not None


def _paths(target: Target, found: Found) -> list[str]:
    return [str(row["path"]) for row in rows_of(target, found)]
