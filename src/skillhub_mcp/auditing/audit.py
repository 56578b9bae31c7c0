"""The audit of one skill: every detector over its text, frontmatter and entries. Pure but for `audit_skill`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from skillhub_mcp.auditing.characters import hidden_characters
from skillhub_mcp.auditing.concealed import encoded_findings, hidden_findings
from skillhub_mcp.auditing.entries import entry_findings, package_findings
from skillhub_mcp.auditing.header import header_findings
from skillhub_mcp.auditing.matching import matches
from skillhub_mcp.auditing.reading import SkillFiles, read_skill_files, weight
from skillhub_mcp.auditing.rules import AuditFinding, Risk, found
from skillhub_mcp.auditing.text import AuditText
from skillhub_mcp.skills.frontmatter import decode, parse
from skillhub_mcp.skills.model import SKILL_FILE, is_skill_file
from skillhub_mcp.skills.parser import read_skill


@dataclass(frozen=True, slots=True)
class SkillAudit:
    """What the audit found in one skill, the worst first. `path` is its directory."""

    path: str
    name: str
    findings: tuple[AuditFinding, ...]

    def has(self, risk: Risk) -> bool:
        """Whether there is a finding of `risk` or worse."""
        return any(one.severity.rank <= risk.rank for one in self.findings)


def audit_skill(directory: str) -> SkillAudit:
    """Read the skill in `directory` and return what is hostile in it. Never raises on its content."""
    return audit_files(directory, read_skill_files(directory))


def audit_files(directory: str, files: SkillFiles) -> SkillAudit:
    """Return what is hostile in the files that were read of a skill."""
    name = os.path.basename(directory)
    findings: list[AuditFinding] = [_unread(path, reason) for path, reason in files.unread]
    for entry in files.entries:
        findings += entry_findings(entry)
        for one in hidden_characters(entry.path, entry.path):
            findings.append(replace(one, message=f"{one.message}, in the name", line=None))
    if files.document is not None:
        named, in_document = _document(files.document, directory)
        name = named or name
        findings += (replace(one, path=files.file) for one in in_document)
    for path, text in files.texts:
        findings += text_findings(path, text)
        if os.path.basename(path) == "package.json":
            findings += package_findings(path, text)
    return SkillAudit(directory, name, ordered(findings))


def _unread(path: str, reason: str) -> AuditFinding:
    severity = None if is_skill_file(path) else (Risk.LOW, Risk.MEDIUM, Risk.HIGH)[weight(path)]
    return found("not-read", reason, path=path, severity=severity)


def ordered(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    """Return the findings, the worst first; of one rule on one line only the worst."""
    worst: dict[tuple[str, str, int | None], AuditFinding] = {}
    for one in findings:
        key = (one.rule, one.path, one.line)
        if key not in worst or one.severity.rank < worst[key].severity.rank:
            worst[key] = one
    return tuple(sorted(worst.values(), key=lambda one: (one.severity.rank, one.path, one.line or 0, one.rule)))


def text_findings(path: str, text: str) -> Iterator[AuditFinding]:
    """Report what is hostile in one text of a skill."""
    yield from hidden_characters(path, text)
    audited = AuditText(path, text)
    yield from matches(audited)
    if audited.is_prose:
        yield from hidden_findings(audited)
    yield from encoded_findings(audited)


def _document(content: bytes, directory: str) -> tuple[str, list[AuditFinding]]:
    """Return the name in a SKILL.md, empty if it cannot be read, and the findings."""
    document, text = parse(content), decode(content)[0] or content.decode("utf-8", "replace")
    findings = list(text_findings(SKILL_FILE, text))
    skill = read_skill(document, directory=directory, directory_name=os.path.basename(directory)).skill
    if skill is None:
        return "", findings
    return skill.name, [*findings, *header_findings(skill, document, text)]
