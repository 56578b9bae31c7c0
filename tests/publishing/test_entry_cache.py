"""Cached entries outlive the process; damage to the file only costs the time to compute them again."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from skillhub_mcp.publishing.entries import PublishedEntry, PublishedFile
from skillhub_mcp.publishing.entry_cache import EntryCache

ENTRY = PublishedEntry(
    name="demo",
    stamps={"SKILL.md": (1_700_000_000_123_456_789, 1, 2**63 + 5), "ü 概要.txt": (0, 0, 0)},
    frontmatter={"name": "demo", "description": "Does it: ü 🧪\n", "deep": {"list": [1, 1.1, True, None, "x"]}},
    files=(
        PublishedFile("SKILL.md", 3, f"sha256:{'a' * 64}", is_text=True),
        PublishedFile("ü 概要.txt", 0, f"sha256:{'b' * 64}", is_text=False),
    ),
    changes=("name: 'demo' instead of 'Demo'",),
)
WITHHELD = PublishedEntry("large", {}, withheld="it is too large")
_WRITER = """
import sys
from skillhub_mcp.publishing.entries import PublishedEntry
from skillhub_mcp.publishing.entry_cache import EntryCache
cache = EntryCache(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(50):
    cache.put({f"/{sys.argv[2]}/{number}": PublishedEntry(sys.argv[2], {})})
if sys.argv[3] == "dies":
    import os
    os._exit(9)
cache.close()
"""


@contextmanager
def kept_in(path: Path) -> Iterator[EntryCache]:
    cache = EntryCache(str(path))
    try:
        yield cache
    finally:
        cache.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db" / "publication.sqlite"


def test_what_is_kept_is_found_again_in_the_next_process(path: Path) -> None:
    with kept_in(path) as cache:
        cache.put({"/skills/demo": ENTRY, "/skills/large": WITHHELD})
        assert cache.get(["/skills/demo", "/skills/none"]) == {"/skills/demo": ENTRY}
    with kept_in(path) as cache:
        assert cache.get(["/skills/large", "/skills/demo"]) == {"/skills/demo": ENTRY, "/skills/large": WITHHELD}
        assert cache.directories() == {"/skills/demo", "/skills/large"}


def test_what_is_kept_takes_the_place_of_what_was_and_can_be_forgotten(path: Path) -> None:
    with kept_in(path) as cache:
        cache.put({"/a": ENTRY, "/b": ENTRY})
        cache.put({"/a": WITHHELD})
        cache.delete(["/b", "/none"])
        cache.put({})
        cache.delete([])
        assert cache.get(["/a", "/b"]) == {"/a": WITHHELD}


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_directory_can_have_any_name(path: Path) -> None:
    names = ["/a'; DROP TABLE entries; --", '/"x"', "/%_", os.fsdecode(b"/caf\xe9"), "/line\nfeed", "/ü"]
    with kept_in(path) as cache:
        cache.put(dict.fromkeys(names, ENTRY))
    with kept_in(path) as cache:
        assert set(cache.get(names)) == set(names) == cache.directories()


def test_more_than_one_question_can_hold_are_found(path: Path) -> None:
    names = [f"/skills/{number}" for number in range(2_345)]
    with kept_in(path) as cache:
        cache.put(dict.fromkeys(names, WITHHELD))
        assert len(cache.get(names)) == len(names)
        assert cache.get([]) == {}


@pytest.mark.parametrize("content", [b"this is no database", b"SQLite format 3\0" + b"\xff" * 4_000])
def test_a_damaged_file_is_created_again(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for expected in ({}, {"/a": ENTRY}):
        with kept_in(path) as cache:
            assert cache.get(["/a"]) == expected
            cache.put({"/a": ENTRY})


def test_a_file_that_is_damaged_while_it_is_open_is_created_again(path: Path) -> None:
    with kept_in(path) as cache:
        cache.put({f"/{number}": ENTRY for number in range(500)})
        with path.open("r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 50_000)
        with closing(sqlite3.connect(path)) as other, other:
            # The change of another connection lets this one look at the file again, and not at what it remembers.
            other.execute("PRAGMA user_version = 1")
        cache.put({"/a": ENTRY})
        assert cache.get(["/a"]) == {"/a": ENTRY}
    with kept_in(path) as cache:
        assert cache.get(["/a"]) == {"/a": ENTRY}


def test_a_file_of_another_form_is_created_again(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE entries (something TEXT)")
        other.execute("PRAGMA user_version = 99")
    with kept_in(path) as cache:
        assert cache.get(["/a"]) == {}
        cache.put({"/a": ENTRY})
        assert cache.get(["/a"]) == {"/a": ENTRY}


@pytest.mark.parametrize(
    "written",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"by": "0.0.0"}',
        '{"by": "%(by)s", "name": "x", "stamps": 5}',
        '{"by": "%(by)s", "name": "x", "stamps": {}, "frontmatter": {}, "files": [["a"]], "changes": []}',
        '{"by": "0.0.0", "name": "x", "stamps": {}, "frontmatter": {}, "files": [], "changes": [], "withheld": null}',
    ],
)
def test_an_entry_that_cannot_be_read_or_is_another_versions_is_none(path: Path, written: str) -> None:
    from skillhub_mcp.version import version

    with kept_in(path) as cache:
        cache.put({"/a": ENTRY, "/b": ENTRY})
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE entries SET entry = ? WHERE directory = ?", (written % {"by": version()}, b"/a"))
    with kept_in(path) as cache:
        assert cache.get(["/a", "/b"]) == {"/b": ENTRY}


def test_where_the_file_cannot_be_written_entries_are_kept_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    in_the_way = tmp_path / "directory" / "publication.sqlite"
    in_the_way.mkdir(parents=True)
    for path in (tmp_path / "file" / "publication.sqlite", in_the_way):
        caplog.clear()
        with kept_in(path) as cache, caplog.at_level(logging.WARNING):
            cache.put({"/a": ENTRY})
            assert cache.get(["/a"]) == {"/a": ENTRY}
            assert len(caplog.records) == 1
            assert "in memory" in caplog.text
    assert (tmp_path / "file").read_text(encoding="utf-8") == "in the way"


def test_a_file_that_another_process_holds_does_not_stop_this_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("skillhub_mcp.publishing.entry_cache._BUSY_TIMEOUT_SECONDS", 0)
    with kept_in(path) as first, kept_in(path) as second:
        first.put({"/a": ENTRY})
        with closing(sqlite3.connect(path, isolation_level=None)) as holder, caplog.at_level(logging.WARNING):
            holder.execute("BEGIN EXCLUSIVE")
            assert second.get(["/a"]) == {}
            first.put({"/b": ENTRY})
            assert first.get(["/b"]) == {"/b": ENTRY}
            holder.execute("ROLLBACK")
        assert "in memory" in caplog.text
    with kept_in(path) as third:
        assert third.get(["/a"]) == {"/a": ENTRY}


def test_after_closing_nothing_is_found_or_kept_and_no_file_is_opened(path: Path) -> None:
    cache = EntryCache(str(path))
    cache.close()
    cache.put({"/a": ENTRY})
    assert cache.get(["/a"]) == {}
    assert cache.directories() == frozenset()
    assert not path.exists()
    cache.close()


def test_threads_may_share_it(path: Path) -> None:
    failures: list[BaseException] = []
    with kept_in(path) as cache:

        def work(number: int) -> None:
            try:
                for step in range(40):
                    cache.put({f"/{number}/{step}": ENTRY})
                    assert cache.get([f"/{number}/{step}"]) == {f"/{number}/{step}": ENTRY}
            except BaseException as error:  # noqa: BLE001 - shown below, in the thread of the test
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(cache.directories()) == 240


def test_processes_may_begin_and_write_at_once_and_one_that_dies_takes_nothing_with_it(path: Path) -> None:
    ends = ["lives", "dies", "lives"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), f"p{number}", end],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for number, end in enumerate(ends)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process, end in zip(processes, ends, strict=True):
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == (9 if end == "dies" else 0)
    with kept_in(path) as cache:
        assert len(cache.directories()) == 150
