"""Findings of the audit in hostile skills, and in real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.hostile_skills import RESULTS, HostileSkill, by_pattern, read_table

from skillhub_mcp.auditing.audit import SkillAudit, audit_skill
from skillhub_mcp.auditing.names import look_alikes
from skillhub_mcp.auditing.rules import Risk

pytestmark = pytest.mark.slow

KNOWN = ("code-review", "commit-helper")


def worst(skill: HostileSkill, directory: Path) -> int:
    """Return the rank of the worst finding in a skill, beside two skills that it may imitate."""
    audit = audit_skill(str(skill.write(directory)))
    alike = look_alikes({f"/{name}": name for name in KNOWN} | {audit.path: audit.name})
    findings = (*audit.findings, *alike.get(audit.path, ()))
    return min((one.severity.rank for one in findings), default=len(Risk))


def test_every_hostile_development_skill_is_found(tmp_path: Path) -> None:
    missed = [f"{one.pattern}/{one.case}" for one in read_table("tuned") if worst(one, tmp_path) > Risk.HIGH.rank]
    assert missed == []


def test_nearly_all_held_out_hostile_skills_are_found(tmp_path: Path) -> None:
    ranks = [worst(one, tmp_path) for one in read_table("held-out")]
    assert len(ranks) >= 120
    assert sum(rank <= Risk.HIGH.rank for rank in ranks) >= 0.95 * len(ranks)
    assert sum(rank == Risk.CRITICAL.rank for rank in ranks) >= 0.45 * len(ranks)


def test_the_documented_figures_are_current(tmp_path: Path) -> None:
    figures = json.loads(RESULTS.read_text(encoding="utf-8"))
    for table in ("held-out", "tuned", "another-hand"):
        for pattern, own in by_pattern(read_table(table)).items():
            ranks = [worst(one, tmp_path / table) for one in own]
            assert figures[table][pattern]["skillhub"] == {
                "skills": len(ranks),
                "warned": sum(rank <= Risk.HIGH.rank for rank in ranks),
                "critical": sum(rank == Risk.CRITICAL.rank for rank in ranks),
            }, pattern


def test_benign_look_alikes_are_not_critical(tmp_path: Path) -> None:
    ranks = [worst(one, tmp_path) for one in read_table("another-hand-benign")]
    assert min(ranks) >= Risk.HIGH.rank
    assert sum(rank == Risk.HIGH.rank for rank in ranks) <= 0.25 * len(ranks)


@pytest.fixture(scope="module")
def audits(corpus: Path) -> list[SkillAudit]:
    return [audit_skill(str(file.parent)) for file in sorted(corpus.rglob("SKILL.md"))[::6]]


def test_at_most_0_2_percent_of_real_skills_are_critical(audits: list[SkillAudit]) -> None:
    assert len(audits) > 300
    assert sum(one.has(Risk.CRITICAL) for one in audits) < 0.002 * len(audits)
    assert sum(one.has(Risk.HIGH) for one in audits) < 0.05 * len(audits)
