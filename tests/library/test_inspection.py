"""Inspection of a skill before installation, and accepted findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillhub_mcp.auditing.rules import AuditFinding, Risk
from skillhub_mcp.errors import SkillWithheld
from skillhub_mcp.library.inspection import NO_CAPABILITIES, Capabilities, Look, accept, hosts_in, look_at

FOUND = (AuditFinding("exfiltration", Risk.CRITICAL, "sends it"), AuditFinding("weak", Risk.HIGH, "may"))
NOW, BEFORE = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def test_capabilities_are_scripts_executables_hosts_and_tools(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: d\nallowed-tools: Read Bash(git:*)\n---\nSee https://A.example/x.\n"
    )
    (tmp_path / "fill.py").write_text("get('https://b.example:8080')\n")
    (tmp_path / "go").write_text("#!/bin/sh\n")
    (tmp_path / "tool.bin").write_bytes(b"\0\1")
    (tmp_path / "tool.bin").chmod(0o755)
    look = look_at(str(tmp_path), "pdf")
    assert look.problems == ()
    assert look.powers == Capabilities(
        scripts=frozenset({"fill.py", "go"}),
        executables=frozenset({"tool.bin"}),
        hosts=frozenset({"a.example", "b.example"}),
        tools=frozenset({"Read", "Bash(git:*)"}),
    )
    assert look.powers.beyond(look.powers) == NO_CAPABILITIES
    assert look.powers.beyond(Capabilities(hosts=frozenset({"a.example"}))).hosts == {"b.example"}


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("https://user:secret@host.example/x", {"host.example"}),
        ("(http://a.example), wss://b.example.", {"a.example", "b.example"}),
        ("no url: example.org, https:// x", set()),
    ],
)
def test_hosts_are_those_that_urls_would_reach(text: str, hosts: set[str]) -> None:
    assert hosts_in(text) == hosts


def test_a_critical_finding_is_accepted_by_rule_for_one_digest() -> None:
    look = Look("", (), FOUND, NO_CAPABILITIES)
    with pytest.raises(SkillWithheld) as refused:
        accept("pdf", look, NOW, (), {"exfiltration": BEFORE})
    assert "--accept exfiltration" in str(refused.value.hint)
    assert accept("pdf", look, NOW, {"exfiltration", "weak"}, {}) == {"exfiltration": NOW}
    assert accept("pdf", look, NOW, (), {"exfiltration": NOW}) == {"exfiltration": NOW}
    assert accept("pdf", Look("", (), FOUND[1:], NO_CAPABILITIES), NOW, {"exfiltration"}, {}) == {}
