"""Running queries while the skills change."""

from __future__ import annotations

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.evaluation.evaluator import evaluate
from skillhub_mcp.evaluation.queries import JudgedQuery

REPORTS = "Extract tables, figures and footnotes from scanned annual reports of public companies."


@pytest.mark.slow
def test_skills_may_appear_during_a_run(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    old = write_skill("reports", REPORTS, body="Step by step. " * 30).resolve()
    painter = write_skill("painter", "Paints walls.").resolve()
    queries = [JudgedQuery("1", "paint walls", "any", frozenset()), JudgedQuery("2", REPORTS, "any", frozenset())]
    with hub_of(hub_environment) as hub:

        def appear(_: str, number: int, __: int) -> None:
            if number == 0:
                write_skill("decorator", "Paints walls and hangs pictures.")
                write_skill("reports-too", REPORTS, body="Step by step. " * 31)
                hub.refresh()

        (report,) = evaluate(
            hub,
            queries,
            [frozenset({str(painter)}), frozenset({str(old)})],
            baselines=[],
            embedder=None,
            progress=appear,
        )
        assert [hit.handle for hit in hub.search("paint walls").hits] == ["painter", "decorator"]
        (hit,) = hub.search(REPORTS).hits
        assert {hit.handle, *hit.copies} == {"reports", "reports-too"}
    painted, reported = ([*one.found] for one in report.judged)
    assert painted == [str(painter), str(painter.parent / "decorator")]
    assert str(old) in reported


def test_a_baseline_searches_the_same_skills(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("otter", "Feeds otters.", extra="disable-model-invocation: true")
    seal = write_skill("seal", "Feeds seals, and otters.").resolve()
    queries = [JudgedQuery("1", "feed the otters", "any", frozenset())]
    with hub_of(hub_environment) as hub:
        reports = evaluate(
            hub, queries, [frozenset({str(seal)})], baselines=["words"], embedder=None, progress=lambda *_: None
        )
    assert [[*one.found] for report in reports for one in report.judged] == [[str(seal)]] * 2
