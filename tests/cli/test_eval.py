"""`skillhub eval run` and `skillhub eval from-log`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.evaluation.baselines import BASELINES
from skillhub_mcp.evaluation.queries import read_queries
from skillhub_mcp.usage import UsageLog

Query = dict[str, object]

# The zebras are in a body alone, which LanceDB's search over four fields does not read.
QUERIES: list[Query] = [
    {"id": "plain", "text": "paint walls", "kind": "plain", "relevant": ["painter"]},
    {"id": "hidden", "text": "zebras", "kind": "body", "relevant": {"painter": 2}},
    {"id": "nothing", "text": "xyzzy plugh", "kind": "nothing", "relevant": []},
]


@pytest.fixture
def library(write_skill: SkillWriter) -> dict[str, Path]:
    """Three skills, by name."""
    return {
        "pdf-reader": write_skill("pdf-reader", "Reads PDF files and extracts their tables."),
        "invoices": write_skill("invoices", "Sorts invoices by date and sender."),
        "painter": write_skill("painter", "Paints walls in any colour.", body="Mind the zebras.\n"),
    }


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    return keep(tmp_path / "queries.jsonl", *QUERIES)


def keep(path: Path, *lines: Query) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def baselines(*names: str) -> list[str]:
    return [word for name in names for word in ("--baseline", name)]


@pytest.mark.usefixtures("library")
def test_each_engine_is_a_line_with_the_gain_over_it(skillhub: Skillhub, queries: Path, tmp_path: Path) -> None:
    log = tmp_path / "use.jsonl"
    names = baselines("words", "lancedb", "without body")
    done = skillhub("eval", "run", queries, *names, SKILLHUB_USAGE_LOG=str(log))
    assert (done.code, done.err) == (0, "")
    # Neither the index nor the usage log is changed.
    assert (log.exists(), (tmp_path / "db").exists()) == (False, False)
    head, *engines = done.out.split("\n\n")[0].splitlines()
    assert " ".join(head.split()) == "Hit@1 R@5 R@10 MRR@10 nDCG@10 95 % interval gain refused p50"
    ours, words, plain, without_body = engines
    assert ours.split()[:7] == ["skillhub", *["1.000"] * 5, "1.000–1.000"]
    assert words.split()[:9] == ["words", *["1.000"] * 5, "1.000–1.000", "+0.000", "(+0.000…+0.000)"]
    for line, name in ((plain, "lancedb"), (without_body, "without body")):
        assert line.startswith(f"{name} ")
        wanted = [*["0.500"] * 5, "0.000–1.000", "+0.500", "(+0.000…+1.000)"]
        assert line.removeprefix(name).split()[:8] == wanted
    assert all(line.endswith(" ms") for line in engines)
    assert "100% / " in ours
    assert "0% / 0%" in plain
    assert "by kind: plain 1.000, body 1.000 (nDCG@10)\n" in done.out
    assert "worst" not in done.out


@pytest.mark.usefixtures("library")
def test_the_worst_queries_are_shown_with_their_hits(skillhub: Skillhub, tmp_path: Path) -> None:
    queries = keep(
        tmp_path / "q.jsonl",
        {"id": "wrong", "text": "paint walls", "relevant": ["invoices"]},
        {"id": "vain", "text": "xyzzy plugh", "relevant": ["invoices"]},
        {"id": "right", "text": "paint walls", "relevant": ["painter"]},
    )
    done = skillhub("eval", "run", queries)
    assert done.out.split("worst:\n")[1].splitlines() == [
        "  0.00  vain  xyzzy plugh",
        "        found nothing",
        "  0.00  wrong  paint walls",
        "        found painter",
    ]


def test_an_unknown_baseline_is_refused_with_the_known_ones(skillhub: Skillhub, queries: Path) -> None:
    done = skillhub("eval", "run", queries, *baselines("words", "elastic"))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: --baseline 'elastic' is not one of: {', '.join(BASELINES)}\n")
    assert {"words", "lancedb", "bm25f alone", "without body"} <= set(BASELINES)
    assert skillhub("eval", "run", queries, "--json", *baselines("elastic")).error["code"] == "INVALID_ARGUMENT"


@pytest.mark.usefixtures("library")
def test_a_quality_below_the_minimum_fails(skillhub: Skillhub, tmp_path: Path) -> None:
    queries = keep(
        tmp_path / "q.jsonl",
        {"text": "paint walls", "relevant": ["painter"]},
        {"text": "paint walls", "relevant": ["invoices"]},
    )
    failed = skillhub("eval", "run", queries, "--min-ndcg", "0.6")
    assert (failed.code, failed.err) == (1, "nDCG@10 is 0.500, below 0.6\n")
    assert failed.out.startswith(" ")
    as_json = skillhub("eval", "run", queries, "--min-ndcg", "0.6", "--json")
    assert (as_json.code, as_json.json["queries"]) == (1, 2)
    # It is about our own answers, not about a baseline's, and as much as is demanded is enough.
    assert skillhub("eval", "run", queries, "--min-ndcg", "0.5", *baselines("without body")).code == 0
    keep(queries, {"text": "xyzzy plugh", "relevant": []})
    done = skillhub("eval", "run", queries, "--min-ndcg", "0")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: --min-ndcg cannot be computed: no query of {queries} has a relevant skill\n"


@pytest.mark.usefixtures("library")
def test_an_invalid_file_of_queries_is_an_error_with_its_line(skillhub: Skillhub, tmp_path: Path) -> None:
    queries = keep(tmp_path / "q.jsonl", QUERIES[0], {"text": "a", "relevant": ["nobody"]})
    done = skillhub("eval", "run", queries)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {queries}:2 names the skill 'nobody', which does not exist\n")
    queries.write_text("{\n", encoding="utf-8")
    error = skillhub("eval", "run", queries, "--json").error
    assert (error["code"], error["path"], error["line"]) == ("QUERIES_UNREADABLE", str(queries), 1)
    missing = skillhub("eval", "run", tmp_path / "not-there.jsonl")
    assert missing.code == 1
    assert "not-there.jsonl cannot be read" in missing.err


@pytest.mark.usefixtures("library")
def test_a_usage_log_becomes_queries(skillhub: Skillhub, hub_environment: dict[str, str], tmp_path: Path) -> None:
    log, queries = tmp_path / "use.jsonl", tmp_path / "queries.jsonl"
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(log)}) as hub:
        hub.search("colour for the wände 壁")
        hub.load("painter")
        hub.search("xyzzy plugh")
        hub.search("sort invoices, read PDF")
        hub.load("invoices")
        hub.load("pdf-reader")
    done = skillhub("eval", "from-log", log, "--output", queries)
    assert (done.code, done.out, done.err) == (0, "", "2 queries of 3 searches led to a load\n")
    assert [(one.id, one.text, one.kind, one.relevant) for one in read_queries(str(queries))] == [
        ("log-0001", "colour for the wände 壁", "log", frozenset({"painter"})),
        ("log-0002", "sort invoices, read PDF", "log", frozenset({"invoices", "pdf-reader"})),
    ]
    assert "wände 壁" in queries.read_text(encoding="utf-8")
    printed = skillhub("eval", "from-log", log)
    assert (printed.out, printed.err) == (queries.read_text(encoding="utf-8"), done.err)
    ran = skillhub("eval", "run", queries, "--json", "--min-ndcg", "0.9")
    assert (ran.code, ran.json["queries"]) == (0, 2)
    assert list(ran.json["engines"][0]["kinds"]) == ["log"]


@pytest.mark.usefixtures("library")
def test_a_log_without_queries_overwrites_nothing(
    skillhub: Skillhub, hub_environment: dict[str, str], tmp_path: Path
) -> None:
    log, queries = tmp_path / "use.jsonl", tmp_path / "queries.jsonl"
    queries.write_text("earlier ones\n", encoding="utf-8")

    def refused(*output: str | Path) -> str:
        done = skillhub("eval", "from-log", log, *output)
        assert (done.code, done.out, queries.read_text(encoding="utf-8")) == (1, "", "earlier ones\n")
        return done.err

    log.write_text("", encoding="utf-8")
    assert "has no search that led to a load" in refused("--output", queries)
    log.write_text("no log\n{}\n", encoding="utf-8")
    assert f"{log} has no valid line\n" in refused("--output", queries)
    assert f"{log} has no valid line\n" in refused()
    log.unlink()
    with hub_of({**hub_environment, "SKILLHUB_USAGE": "queries", "SKILLHUB_USAGE_LOG": str(log)}) as hub:
        hub.search("colour for the wände 壁")
        hub.load("painter")
    unwritable = skillhub("eval", "from-log", log, "--output", tmp_path / "not" / "there")
    assert unwritable.code == 2
    assert unwritable.err.startswith("error: --output ")
    log.write_text(log.read_text(encoding="utf-8").replace("painter", "gone"), encoding="utf-8")
    assert "has no search that led to a load" in refused("--output", queries)


def chosen(log: Path, query: str, *skills: str) -> None:
    """Note a search that found skills, all of which were then loaded."""
    noted = UsageLog(str(log), with_queries=True)
    noted.record_search(query, skills, confident=True)
    for skill in skills:
        noted.record_load(skill)


def test_skills_that_are_no_longer_served_are_left_out_of_the_queries(
    skillhub: Skillhub, library: dict[str, Path], tmp_path: Path
) -> None:
    log, queries = tmp_path / "use.jsonl", tmp_path / "q.jsonl"
    chosen(log, "gone for good", "gone")
    chosen(log, "paint walls", "gone", "painter")
    chosen(log, "read pdf", "pdf-reader", "invoices")
    (library["invoices"] / "SKILL.md").unlink()
    assert skillhub("disable", "pdf-reader").code == 0
    before = log.read_bytes()
    done = skillhub("eval", "from-log", log, "--output", queries, SKILLHUB_USAGE_LOG=str(log))
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [
        "3 queries of 3 searches led to a load",
        "left out: 2 queries whose skills are no longer served",
    ]
    assert [(one.id, one.text, one.relevant) for one in read_queries(str(queries))] == [
        ("log-0001", "paint walls", frozenset({"painter"}))
    ]
    assert skillhub("eval", "run", queries, "--min-ndcg", "1").code == 0
    assert log.read_bytes() == before
