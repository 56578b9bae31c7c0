"""`skillhub stats`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.usage import UsageLog

# A test may run at midnight.
DAY = re.compile(r"\d{4}-\d\d-\d\d")


@pytest.fixture
def log(tmp_path: Path, hub_environment: dict[str, str], write_skill: SkillWriter) -> Path:
    """What a hub noted whose skills were searched for, loaded and read."""
    path = tmp_path / "use.jsonl"
    write_skill("painter", "Paints walls.", files={"colours.md": "Red."})
    write_skill("plumber", "Mends pipes.")
    write_skill("baker", "Bakes bread.")
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(path)}) as hub:
        hub.search("paint walls")
        hub.load("painter")
        hub.load("painter")
        hub.read_file("painter", "colours.md")
        hub.load("baker")
        for _ in range(2):
            hub.search("xyzzy plugh")
        hub.search("mend pipes")
    return path


def test_used_and_unused_skills_and_failed_searches_are_listed(skillhub: Skillhub, log: Path) -> None:
    done = skillhub("stats", log)
    assert (done.code, done.err) == (0, "")
    assert DAY.sub("DAY", done.out).splitlines() == [
        "Since DAY: 4 searches, 3 loads, 1 file read",
        "",
        "Used:",
        "    2  painter",
        "    1  baker",
        "",
        "Never used, of 3 served:",
        "       plumber",
        "",
        "Searched without success:",
        "    2  xyzzy plugh",
        "    1  mend pipes",
    ]


def test_the_log_of_the_setting_is_read_unless_another_is_named(skillhub: Skillhub, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    UsageLog(str(other), with_queries=True).record_load("plumber")
    assert skillhub("stats", "--json", SKILLHUB_USAGE_LOG=str(log)).json["used"] == {"painter": 2, "baker": 1}
    assert skillhub("stats", other, "--json", SKILLHUB_USAGE_LOG=str(log)).json["used"] == {"plumber": 1}


def test_loads_are_counted_without_any_setting(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for name in ("painter", "plumber"):
        write_skill(name)
    assert skillhub("stats").out.splitlines()[0] == "0 searches, 0 loads, 0 files read"
    assert skillhub("search", "painter").code == 0
    assert skillhub("show", "painter").code == 0
    done = skillhub("stats")
    assert DAY.sub("DAY", done.out).splitlines() == [
        "Since DAY: 1 search, 1 load, 0 files read",
        "",
        "Used:",
        "    1  painter",
        "",
        "Never used, of 2 served:",
        "       plumber",
    ]
    assert done.err.startswith("SKILLHUB_USAGE=queries also records what is searched for")
    assert skillhub("stats", SKILLHUB_USAGE="off").err == "SKILLHUB_USAGE=off: nothing is counted.\n"


def test_invalid_lines_are_skipped_and_counted(skillhub: Skillhub, log: Path) -> None:
    before = skillhub("stats", log)
    whole = log.read_text(encoding="utf-8")
    log.write_text(f'{whole}no json\n{{"at": "2026', encoding="utf-8")
    done = skillhub("stats", log)
    assert (done.code, done.out) == (0, before.out)
    assert done.err == f"{log}:9 is invalid; skipped lines: 2\n"
    as_json = skillhub("stats", log, "--json")
    assert (as_json.json["unreadable_lines"], as_json.json["searches"], as_json.err) == ([9, 10], 4, done.err)


def test_ten_of_each_are_shown_and_the_rest_counted(skillhub: Skillhub, tmp_path: Path) -> None:
    path = tmp_path / "use.jsonl"
    log = UsageLog(str(path), with_queries=True)
    for number in range(12):
        log.record_load(f"skill-{number:02}")
        log.record_search(f"query {number:02}", [], confident=False)
    lines = skillhub("stats", path).out.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("    1  skill")] == [
        f"skill-{number:02}" for number in range(10)
    ]
    assert lines.count("  … and 2 more; --json lists them all") == 2
    answer = skillhub("stats", path, "--json").json
    assert (len(answer["used"]), len(answer["searched_without_success"])) == (12, 12)
