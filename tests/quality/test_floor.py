"""Search finds the right skills among real ones: a change that loses more than noise fails here.

The floors lie below what docs/benchmarks.md reports by less than half of its interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.hubs import hub_of

from skillhub_mcp.evaluation.evaluator import evaluate
from skillhub_mcp.evaluation.queries import read_queries, read_skill_ids, relevant_directories
from skillhub_mcp.evaluation.report import Report


@dataclass(frozen=True)
class Asked:
    """The reports on the development queries beside the project, and on our own queries."""

    development: Report
    own: Report


@pytest.fixture(scope="module", params=["none", "local"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[Asked]:
    development = corpus.parents[1] / "eval" / "queries.jsonl"
    if not development.exists():
        pytest.skip("the judged queries are not beside the project")
    database = tmp_path_factory.mktemp("quality") / "skills.lancedb"
    environment = {"SKILLS_DIR": str(corpus), "DB_PATH": str(database), "EMBEDDING_PROVIDER": request.param}
    with hub_of(environment) as hub:
        listed = {one.handle: one.skill.directory for one in hub.listed()}
        ids = read_skill_ids(str(corpus.parent / "index.jsonl"))

        def judged(path: Path) -> Report:
            queries = read_queries(str(path))
            relevant = relevant_directories(queries, ids, listed, str(path))
            (found,) = evaluate(hub, queries, relevant, baselines=(), embedder=None, progress=lambda *_: None)
            return found

        yield Asked(judged(development), judged(Path(__file__).with_name("queries.jsonl")))


@pytest.fixture
def report(asked: Asked) -> Report:
    return asked.development


def test_the_right_skill_is_found_for_questions_of_others_too(asked: Asked) -> None:
    assert asked.own.mean is not None
    assert asked.own.mean.ndcg_at_10 >= 0.69
    assert asked.own.mean.hit_at_1 >= 0.62
    assert asked.own.rejection_rate is not None
    assert asked.own.rejection_rate >= 0.5


def test_the_right_skill_is_found_and_comes_first(report: Report) -> None:
    assert report.mean is not None
    assert report.mean.ndcg_at_10 >= 0.75
    assert report.mean.hit_at_1 >= 0.66
    assert report.mean.recall_at_10 >= 0.84


def test_no_kind_of_question_is_left_behind(report: Report) -> None:
    floors = {"kw": 0.9, "para": 0.68, "long": 0.62, "typo": 0.7, "ml": 0.85}
    assert {kind: report.kinds[kind].ndcg_at_10 >= floor for kind, floor in floors.items()} == dict.fromkeys(
        floors, True
    )


def test_queries_without_a_match_are_rejected_and_others_rarely_are(report: Report) -> None:
    assert report.rejection_rate is not None
    assert report.false_rejection_rate is not None
    assert report.rejection_rate >= 0.6
    assert report.false_rejection_rate <= 0.05
