"""The usage log: written in whole lines by several processes, and read as searches that led to loads."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.errors import QueriesUnreadable, SkillHubError
from skillhub_mcp.usage import UsageLog, read_usage

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
LONG = 60.0

# Waits for a line on its stdin, so that several of them write at the same time.
WRITER = """
import sys
from skillhub_mcp.usage import UsageLog
log = UsageLog(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(300):
    log.record_search(f"{sys.argv[2]} {number} " + "ü" * 2_000, ["pdf"] * 20, confident=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "use.jsonl"


def written(path: Path) -> list[dict[str, Any]]:
    # A writer that finds an incomplete line starts with a newline; empty lines are skipped.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def at(seconds: float, act: str, *, process: int = 1, **noted: object) -> str:
    """A line of a log, that many seconds after its first."""
    moment = (THEN + timedelta(seconds=seconds)).isoformat()
    return json.dumps({"at": moment, "process": process, "act": act, **noted})


def search(seconds: float, query: str, *found: str, process: int = 1, confident: bool = True) -> str:
    return at(seconds, "search", process=process, query=query, found=found, confident=confident)


def load(seconds: float, skill: str, *, process: int = 1) -> str:
    return at(seconds, "load", process=process, skill=skill)


def keep(path: Path, *lines: str, end: str = "\n") -> str:
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return str(path)


def test_each_act_is_one_line_with_its_moment_and_its_process(path: Path) -> None:
    log = UsageLog(str(path))
    before = datetime.now(timezone.utc)
    log.record_search("prüfe\npdf", ("pdf", "docx@user"), confident=False)
    log.record_load("pdf")
    log.record_read("pdf", "notes/ä.md")
    after = datetime.now(timezone.utc)
    lines = written(path)
    assert all(before <= datetime.fromisoformat(line.pop("at")) <= after for line in lines)
    assert {line.pop("process") for line in lines} == {os.getpid()}
    assert lines == [
        {"act": "search", "query": "prüfe\npdf", "found": ["pdf", "docx@user"], "confident": False},
        {"act": "load", "skill": "pdf"},
        {"act": "read", "skill": "pdf", "file": "notes/ä.md"},
    ]


def test_a_log_is_made_with_its_directories_for_its_owner_alone_and_then_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "use.jsonl"
    UsageLog(str(path)).record_load("one")
    UsageLog(str(path)).record_load("two")
    assert [line["skill"] for line in written(path)] == ["one", "two"]
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_lines_of_processes_and_threads_that_write_at_once_stay_whole(path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("first", "second")
    ]
    log = UsageLog(str(path))

    def note(name: str) -> None:
        for number in range(300):
            log.record_search(f"{name} {number} " + "ö" * 2_000, ["pdf"] * 20, confident=True)

    threads = [threading.Thread(target=note, args=(name,)) for name in ("third", "fourth")]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        for process in processes:
            process.communicate(timeout=LONG)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    notes = [line["query"].split()[:2] for line in written(path)]
    assert Counter(name for name, _ in notes) == dict.fromkeys(("first", "second", "third", "fourth"), 300)
    assert [int(number) for name, number in notes if name == "first"] == list(range(300))
    assert read_usage(str(path)).searches == 1_200


def test_a_log_that_cannot_be_written_is_warned_about_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "use.jsonl"):
        caplog.clear()
        log = UsageLog(str(path))
        log.record_search("pdf", ["pdf"], confident=True)
        log.record_load("pdf")
        log.record_read("pdf", "a.md")
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert record.getMessage().startswith(f"The usage log {path} cannot be written: ")


def test_a_search_that_cannot_be_noted_is_answered_all_the_same(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("painter", "Paints walls.", files={"colours.md": "Red."})
    with hub_of({**hub_environment, "SKILLHUB_USAGE_LOG": str(tmp_path)}) as hub:
        assert [hit.handle for hit in hub.search("paint walls").hits] == ["painter"]
        assert hub.load("painter").instructions
        assert hub.read_file("painter", "colours.md").content == "Red."
    assert [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp._util.json_lines"] == [
        f"The usage log {tmp_path} cannot be written: Is a directory"
    ]


def test_a_hub_notes_what_is_searched_loaded_and_read(
    hub_environment: dict[str, str], write_skill: SkillWriter, path: Path
) -> None:
    write_skill("painter", "Paints walls.", files={"colours.md": "Red."})
    write_skill("plumber", "Mends pipes.")
    with hub_of({**hub_environment, "SKILLHUB_USAGE_LOG": str(path)}) as hub:
        hub.search("  paint \n walls ")
        hub.search("xyzzy plugh")
        hub.load(" painter ")
        hub.read_file("painter", "colours.md")
    noted = [{key: value for key, value in line.items() if key not in ("at", "process")} for line in written(path)]
    assert noted == [
        {"act": "search", "query": "paint walls", "found": ["painter"], "confident": True},
        {"act": "search", "query": "xyzzy plugh", "found": [], "confident": False},
        {"act": "load", "skill": "painter"},
        {"act": "read", "skill": "painter", "file": "colours.md"},
    ]
    usage = read_usage(str(path))
    assert (usage.searches, usage.loads, usage.reads) == (2, {"painter": 1}, {"painter": 1})
    assert (usage.chosen, usage.missed) == ({"paint walls": ["painter"]}, {"xyzzy plugh": 1})


def test_a_skill_that_comes_in_parts_is_loaded_once(
    hub_environment: dict[str, str], write_skill: SkillWriter, path: Path
) -> None:
    write_skill("novel", "Tells a story.", body="# Chapter\n\nAnd then.\n" * 20_000)
    environment = {**hub_environment, "SKILLHUB_USAGE_LOG": str(path)}
    with hub_of(environment) as hub:
        parts = hub.load("novel").parts
        assert parts > 2
        for part in range(2, parts + 1):
            hub.load("novel", part=part)
    assert [line["act"] for line in written(path)] == ["load"]


def test_what_is_refused_and_what_is_only_listed_is_not_noted(
    hub_environment: dict[str, str], write_skill: SkillWriter, path: Path
) -> None:
    write_skill("painter", "Paints walls.")
    with hub_of({**hub_environment, "SKILLHUB_USAGE_LOG": str(path)}) as hub:
        hub.search("")
        for refused in (
            lambda: hub.load("nobody"),
            lambda: hub.load("painter", part=9),
            lambda: hub.read_file("painter", "not-there.md"),
            lambda: hub.search("paint", limit=0),
        ):
            with pytest.raises(SkillHubError):
                refused()
    assert not path.exists()


def test_nothing_is_noted_where_no_log_is_named(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("painter", "Paints walls.", files={"colours.md": "Red."})
    before = {found for found in tmp_path.rglob("*") if found.is_file()}
    with hub_of(hub_environment) as hub:
        hub.search("paint walls")
        hub.load("painter")
        hub.read_file("painter", "colours.md")
    after = {found for found in tmp_path.rglob("*") if found.is_file()}
    assert {found for found in after - before if tmp_path / "db" not in found.parents} == set()
    assert not any(found.is_file() for found in Path(os.environ["HOME"]).rglob("*"))


def test_a_load_belongs_to_the_latest_search_that_found_the_skill(path: Path) -> None:
    usage = read_usage(
        keep(
            path,
            search(0, "early", "pdf", "docx"),
            search(10, "late", "pdf"),
            search(20, "other", "docx"),
            load(30, "pdf"),
            load(31, "docx"),
            load(32, "pdf"),
        )
    )
    assert usage.chosen == {"late": ["pdf"], "other": ["docx"]}
    assert usage.missed == {"early": 1}
    assert (usage.searches, usage.loads) == (3, {"pdf": 2, "docx": 1})


def test_all_that_was_loaded_after_a_search_answers_it(path: Path) -> None:
    lines = [search(0, "pdf", "a", "b"), load(1, "b"), load(2, "a"), search(99, "pdf", "a", "c"), load(100, "c")]
    assert read_usage(keep(path, *lines)).chosen == {"pdf": ["b", "a", "c"]}


def test_a_load_belongs_to_a_search_of_its_own_process_before_one_of_another(path: Path) -> None:
    usage = read_usage(
        keep(
            path,
            search(0, "mine", "pdf", process=1),
            search(1, "theirs", "pdf", process=2),
            load(2, "pdf", process=1),
        )
    )
    assert (usage.chosen, usage.missed) == ({"mine": ["pdf"]}, {"theirs": 1})


@pytest.mark.parametrize(("later", "chosen"), [(600.0, {"late": ["pdf"]}), (600.001, {})])
def test_a_load_belongs_to_the_latest_search_of_any_process_where_its_own_found_nothing(
    path: Path, later: float, chosen: dict[str, list[str]]
) -> None:
    usage = read_usage(
        keep(
            path,
            search(-300, "early", "pdf", process=1),
            search(0, "late", "pdf", process=2),
            search(0, "mine", "docx", process=3),
            load(later, "pdf", process=3),
        )
    )
    assert usage.chosen == chosen
    assert usage.loads == {"pdf": 1}


def test_a_search_of_its_own_process_that_is_too_old_gives_way_to_one_of_another(path: Path) -> None:
    lines = [search(0, "mine", "pdf", process=1), search(500, "theirs", "pdf", process=2), load(601, "pdf", process=1)]
    assert read_usage(keep(path, *lines)).chosen == {"theirs": ["pdf"]}


@pytest.mark.parametrize(("later", "together"), [(600.0, True), (600.001, False)])
def test_a_load_belongs_to_no_search_of_more_than_ten_minutes_ago(path: Path, *, later: float, together: bool) -> None:
    usage = read_usage(keep(path, search(0, "pdf", "pdf"), load(later, "pdf")))
    assert usage.chosen == ({"pdf": ["pdf"]} if together else {})
    assert usage.missed == ({} if together else {"pdf": 1})
    assert usage.loads == {"pdf": 1}


def test_a_load_of_what_was_not_found_and_a_read_belong_to_no_search(path: Path) -> None:
    usage = read_usage(keep(path, search(0, "pdf", "pdf"), load(1, "docx"), at(2, "read", skill="pdf", file="a.md")))
    assert (usage.chosen, usage.missed) == ({}, {"pdf": 1})
    assert (usage.loads, usage.reads) == ({"docx": 1}, {"pdf": 1})


def test_searches_in_vain_are_counted_by_query(path: Path) -> None:
    lines = [search(0, "sing"), search(1, "sing"), search(2, "dance", "ballet", confident=False)]
    assert read_usage(keep(path, *lines)).missed == {"sing": 2, "dance": 1}


@pytest.mark.parametrize("used", [0, 1, 2])
def test_a_query_that_led_to_a_load_once_was_never_in_vain(path: Path, used: int) -> None:
    lines = [search(number * 10, "pdf", "pdf") for number in range(3)]
    lines.insert(used + 1, load(used * 10 + 1, "pdf"))
    usage = read_usage(keep(path, *lines, search(99, "sing")))
    assert (usage.searches, usage.chosen, usage.missed) == (4, {"pdf": ["pdf"]}, {"sing": 1})


def test_an_empty_log_comes_to_nothing(path: Path) -> None:
    usage = read_usage(keep(path, end=""))
    assert (usage.searches, usage.loads, usage.reads, usage.chosen, usage.missed) == (0, {}, {}, {}, {})
    assert usage.unreadable == []


def test_a_last_line_that_is_cut_is_left_out(path: Path) -> None:
    whole = load(1, "pdf")
    for length in range(1, len(whole)):
        usage = read_usage(keep(path, whole, whole[:length], end=""))
        assert (usage.loads, usage.unreadable) == ({"pdf": 1}, [2])
    usage = read_usage(keep(path, whole, whole, end=""))
    assert (usage.loads, usage.unreadable) == ({"pdf": 2}, [])


MOMENT = '"at": "2026-01-02T03:04:05+00:00"'


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[]",
        b"null",
        b"5",
        b'"load"',
        b"{}",
        b"\xff",
        b"\0\0\0",
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"at": "yesterday", "process": 1, "act": "load", "skill": "pdf"}',
        b'{"at": "0001-01-01T00:00:00", "process": 1, "act": "dance", "skill": "pdf"}',
        b'{"at": 5, "process": 1, "act": "load", "skill": "pdf"}',
        f'{{{MOMENT}, "process": 1, "act": "load"}}'.encode(),
        f'{{{MOMENT}, "act": "load", "skill": "pdf"}}'.encode(),
        f'{{{MOMENT}, "process": 1, "act": "load", "skill": []}}'.encode(),
        f'{{{MOMENT}, "process": 1, "act": "search", "query": "a"}}'.encode(),
        at(0, "search", query=["a"], found=[], confident=True).encode(),
        at(0, "search", query="a", found=5, confident=True).encode(),
        at(0, "search", query="a", found=["pdf", 5], confident=True).encode(),
        at(0, "load", skill=5).encode(),
        at(0, "dance", skill="pdf").encode(),
        at(0, "load", skill="pdf").encode() * 2,
    ],
)
def test_a_line_that_is_no_note_is_skipped_and_the_rest_counts(path: Path, bad: bytes) -> None:
    lines = [search(0, "read", "pdf").encode(), b"", bad, load(1, "pdf").encode(), bad]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    usage = read_usage(str(path))
    assert (usage.searches, usage.loads, usage.reads, usage.chosen) == (1, {"pdf": 1}, {}, {"read": ["pdf"]})
    assert (usage.missed, usage.unreadable) == ({}, [3, 5])


def test_a_log_that_cannot_be_read_is_named_without_a_line(tmp_path: Path) -> None:
    for name in (str(tmp_path), str(tmp_path / "not-there")):
        with pytest.raises(QueriesUnreadable) as caught:
            read_usage(name)
        assert caught.value.message.startswith(f"{name} cannot be read: ")
        assert caught.value.line == 0


def test_a_note_after_a_torn_line_is_whole(path: Path) -> None:
    log = UsageLog(str(path))
    whole = load(0, "pdf")
    keep(path, whole, whole[:20], end="")
    log.record_load("docx")
    log.record_load("pdf")
    assert path.read_text(encoding="utf-8").splitlines()[:2] == [whole, whole[:20]]
    usage = read_usage(str(path))
    assert (usage.loads, usage.unreadable) == ({"pdf": 2, "docx": 1}, [2])
    assert b"\n\n" not in path.read_bytes()


def test_a_note_that_the_system_takes_in_pieces_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("skillhub_mcp.usage.os.write", lambda end, data: write(end, data[:7]))
    log = UsageLog(str(path))
    log.record_load("pdf")
    log.record_load("docx")
    assert [line["skill"] for line in written(path)] == ["pdf", "docx"]


def test_a_log_that_is_no_file_is_written_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    UsageLog(os.devnull).record_load("pdf")
    assert caplog.records == []


def test_a_log_that_somebody_else_may_write_is_neither_written_nor_believed(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep(path, load(0, "pdf"))
    assert read_usage(str(path)).loads == {"pdf": 1}
    path.chmod(0o666)
    for _ in range(2):
        usage_log = UsageLog(str(path))
        usage_log.record_load("pdf")
        usage_log.record_load("pdf")
    assert len(path.read_bytes().splitlines()) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"Nothing is noted in the usage log {path}: others may write it (mode 0666); run chmod go-w {path}"
    ] * 2
    with pytest.raises(QueriesUnreadable, match="others may write it"):
        read_usage(str(path))
