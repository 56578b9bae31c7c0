"""Every real skill is served, shadowed, or refused with a reason."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.hubs import hub_of

from skillhub_mcp.skills.registry import read_document, scan
from skillhub_mcp.skills.roots import make_roots


@pytest.mark.acceptance("S2-53")
def test_no_skill_of_the_corpus_is_lost_in_silence(corpus: Path) -> None:
    snapshot = scan(make_roots([str(corpus)]), memory={}).snapshot
    report = snapshot.report
    everywhere = subprocess.run(
        ["find", str(corpus), "-name", "SKILL.md"], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout.split("\n")[:-1]
    assert report.found == len(everywhere) > 2_000
    assert report.found == len(snapshot.skills) + len(report.shadowed) + len(report.refused)
    assert all(refused.diagnostics for refused in report.refused)
    assert len(report.refused) <= report.found // 100
    served = {skill.directory for skill in snapshot.skills}
    assert all(shadowed.winner.name == shadowed.skill.name for shadowed in report.shadowed)
    assert all(shadowed.winner.directory in served for shadowed in report.shadowed)


def test_every_body_of_the_corpus_ends_its_file_and_every_diagnostic_names_a_line_of_it(corpus: Path) -> None:
    for skill in scan(make_roots([str(corpus)]), memory={}).snapshot.everything:
        text = Path(skill.directory, "SKILL.md").read_bytes().decode("utf-8-sig")
        body = read_document(skill).instructions
        assert text.endswith(body)
        assert body
        lines = text.count("\n") + 1
        assert all(diagnostic.line is None or 1 <= diagnostic.line <= lines for diagnostic in skill.diagnostics)


def test_the_corpus_is_indexed_and_searched(corpus: Path, hub_environment: dict[str, str]) -> None:
    with hub_of({**hub_environment, "SKILLS_DIR": str(corpus)}) as hub:
        view = hub.refresh()
        assert view.index is not None
        assert view.index.count() == view.snapshot.report.found - len(view.snapshot.report.refused)
        assert hub.search("make an emoji reaction gif small enough for slack").hits[0].skill.name == "slack-gif-creator"
        assert hub.search("PDFから請求書番号を抽出").hits
