"""A scan reports every rule for the skill that violates it, and refuses only what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skills.conftest import Looker
from tests.validation.fixtures import FIXTURES, write_files

from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.rules import RULES, RuleSource

# Scans find existing files only; rules of single consumers have their examples in test_admission.
BY_SCANNING = sorted({rule.id for rule in RULES.values() if rule.origin is RuleSource.SPECIFICATION} - {"file-missing"})


@pytest.mark.acceptance("S2-56")
@pytest.mark.parametrize("rule_id", BY_SCANNING)
def test_a_violation_is_reported_and_excludes_only_unusable_skills(
    rule_id: str, skills_dir: Path, look: Looker
) -> None:
    rule, example = RULES[rule_id], FIXTURES[rule_id]
    write_files(skills_dir / example.name, example.bad)
    (entry,) = look().memory.values()
    (found,) = (one for one in entry.diagnostics if one.rule == rule_id)
    assert (found.severity, found.hint) == (rule.severity, rule.fix)
    assert LENIENT.refuses(entry.diagnostics) == rule.refuses
    assert entry.skill is not None or rule.refuses
