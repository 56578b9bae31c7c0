"""The usage log: written in whole lines by several processes, and read as searches that led to loads."""

from __future__ import annotations

import json
import logging
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.errors import QueriesUnreadable, SkillHubError
from skillhub_mcp.usage import UsageLog, read_usage

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "use.jsonl"


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def at(seconds: float, act: str, **noted: object) -> str:
    """A line of a log, that many seconds after its first."""
    moment = (THEN + timedelta(seconds=seconds)).isoformat()
    return json.dumps({"day": moment[:10], "at": moment, "act": act, **noted})


def search(seconds: float, query: str, *found: str, confident: bool = True) -> str:
    return at(seconds, "search", query=query, found=found, confident=confident)


def load(seconds: float, skill: str) -> str:
    return at(seconds, "load", skill=skill)


def keep(path: Path, *lines: str, end: str = "\n") -> str:
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return str(path)


def test_each_act_is_one_timestamped_line(path: Path) -> None:
    log = UsageLog(str(path), with_queries=True)
    before = datetime.now(timezone.utc)
    log.record_search("prüfe\npdf", ("pdf", "docx@user"), confident=False)
    log.record_load("pdf")
    log.record_read("pdf", "notes/ä.md")
    after = datetime.now(timezone.utc)
    lines = written(path)
    assert all(before <= datetime.fromisoformat(line.pop("at")) <= after for line in lines)
    assert {line.pop("day") for line in lines} == {f"{before:%Y-%m-%d}"}
    assert lines == [
        {"act": "search", "query": "prüfe\npdf", "found": ["pdf", "docx@user"], "confident": False},
        {"act": "load", "skill": "pdf"},
        {"act": "read", "skill": "pdf", "file": "notes/ä.md"},
    ]


def test_a_log_is_created_private_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "use.jsonl"
    UsageLog(str(path), with_queries=True).record_load("one")
    UsageLog(str(path), with_queries=True).record_load("two")
    assert [line["skill"] for line in written(path)] == ["one", "two"]
    assert path.stat().st_mode & 0o077 == 0


def test_an_unwritable_log_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "use.jsonl"):
        caplog.clear()
        log = UsageLog(str(path), with_queries=True)
        log.record_search("pdf", ["pdf"], confident=True)
        log.record_load("pdf")
        log.record_read("pdf", "a.md")
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert record.getMessage().startswith(f"The usage log {path} cannot be written: ")


def test_a_hub_logs_searches_loads_and_reads(
    hub_environment: dict[str, str], write_skill: SkillWriter, path: Path
) -> None:
    write_skill("painter", "Paints walls.", files={"colours.md": "Red."})
    write_skill("plumber", "Mends pipes.")
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(path)}) as hub:
        hub.search("  paint \n walls ")
        hub.search("xyzzy plugh")
        hub.load(" painter ")
        hub.read_file("painter", "colours.md")
    noted = [{key: value for key, value in line.items() if key not in ("day", "at")} for line in written(path)]
    assert noted == [
        {"act": "search", "query": "paint walls", "found": ["painter"], "confident": True},
        {"act": "search", "query": "xyzzy plugh", "found": [], "confident": False},
        {"act": "load", "skill": "painter"},
        {"act": "read", "skill": "painter", "file": "colours.md"},
    ]
    usage = read_usage(str(path))
    assert (usage.searches, usage.loads, usage.reads) == (2, {"painter": 1}, {"painter": 1})
    assert (usage.chosen, usage.missed) == ({"paint walls": ["painter"]}, {"xyzzy plugh": 1})


def test_a_load_in_parts_counts_once(hub_environment: dict[str, str], write_skill: SkillWriter, path: Path) -> None:
    write_skill("novel", "Tells a story.", body="# Chapter\n\nAnd then.\n" * 20_000)
    environment = {**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(path)}
    with hub_of(environment) as hub:
        parts = hub.load("novel").parts
        assert parts > 2
        for part in range(2, parts + 1):
            hub.load("novel", part=part)
    assert [line["act"] for line in written(path)] == ["load"]


def test_refusals_and_listings_are_not_logged(
    hub_environment: dict[str, str], write_skill: SkillWriter, path: Path
) -> None:
    write_skill("painter", "Paints walls.")
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(path)}) as hub:
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


def test_calls_are_counted_by_default_without_query_texts(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("painter", "Paints walls.", files={"colours.md": "Red."})
    with hub_of(hub_environment) as hub:
        hub.search("paint walls")
        hub.load("painter")
        hub.read_file("painter", "colours.md")
    path = Path(os.environ["HOME"]) / ".skillhub" / "usage" / "log.jsonl"
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    assert written(path) == [
        {"day": today, "act": "search"},
        {"day": today, "act": "load", "skill": "painter"},
        {"day": today, "act": "read", "skill": "painter"},
    ]
    usage = read_usage(str(path))
    assert (usage.since, usage.searches, usage.queries) == (today, 1, 0)
    assert (usage.loads, usage.reads, usage.chosen, usage.missed) == ({"painter": 1}, {"painter": 1}, {}, {})
    path.unlink()
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "off"}) as hub:
        hub.load("painter")
    assert not path.exists()


def test_an_unwritable_home_causes_no_warning(
    hub_environment: dict[str, str], write_skill: SkillWriter, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("painter", "Paints walls.")
    (Path(os.environ["HOME"]) / ".skillhub").write_text("", encoding="utf-8")
    with hub_of(hub_environment) as hub:
        hub.load("painter")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


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
            # Neither a skill that no search found nor a file read belongs to a search.
            load(33, "novel"),
            at(34, "read", skill="pdf", file="a.md"),
            search(35, "early", "pdf", confident=False),
        )
    )
    assert usage.chosen == {"late": ["pdf"], "other": ["docx"]}
    assert usage.missed == {"early": 2}
    assert (usage.searches, usage.loads, usage.reads) == (4, {"pdf": 2, "docx": 1, "novel": 1}, {"pdf": 1})


@pytest.mark.parametrize(("later", "together"), [(600.0, True), (600.001, False)])
def test_a_load_is_attributed_for_ten_minutes(path: Path, *, later: float, together: bool) -> None:
    usage = read_usage(keep(path, search(0, "pdf", "pdf"), load(later, "pdf")))
    assert usage.chosen == ({"pdf": ["pdf"]} if together else {})
    assert usage.missed == ({} if together else {"pdf": 1})
    assert usage.loads == {"pdf": 1}


MOMENT = '"at": "2026-01-02T03:04:05+00:00"'


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"5",
        b"\xff",
        b"[" * 100_000,
        b'{"at": "yesterday", "act": "load", "skill": "pdf"}',
        f'{{{MOMENT}, "act": "load"}}'.encode(),
        at(0, "search", query="a", found=["pdf", 5], confident=True).encode(),
        at(0, "dance", skill="pdf").encode(),
        at(0, "load", skill="pdf").encode() * 2,
    ],
)
def test_an_invalid_line_is_skipped(path: Path, bad: bytes) -> None:
    lines = [search(0, "read", "pdf").encode(), b"", bad, load(1, "pdf").encode(), bad]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    usage = read_usage(str(path))
    assert (usage.searches, usage.loads, usage.reads, usage.chosen) == (1, {"pdf": 1}, {}, {"read": ["pdf"]})
    assert (usage.missed, usage.unreadable) == ({}, [3, 5])


def test_an_unreadable_log_is_reported(tmp_path: Path) -> None:
    for name in (str(tmp_path), str(tmp_path / "not-there")):
        with pytest.raises(QueriesUnreadable) as caught:
            read_usage(name)
        assert caught.value.message.startswith(f"{name} cannot be read: ")
        assert caught.value.facts["line"] == 0


def test_a_log_that_others_may_write_is_not_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep(path, load(0, "pdf"))
    assert read_usage(str(path)).loads == {"pdf": 1}
    path.chmod(0o666)
    for _ in range(2):
        usage_log = UsageLog(str(path), with_queries=True)
        usage_log.record_load("pdf")
        usage_log.record_load("pdf")
    assert len(path.read_bytes().splitlines()) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"Nothing is counted in the usage log {path}: others may write it (mode 0666); run chmod go-w {path}"
    ] * 2
    with pytest.raises(QueriesUnreadable, match="others may write it"):
        read_usage(str(path))
