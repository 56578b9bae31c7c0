"""Inspecting a skill before it is installed: the specification, the audit, and capabilities. Nothing of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from skillhub_mcp.auditing.audit import audit_files
from skillhub_mcp.auditing.entries import SCRIPTS, SkillEntry
from skillhub_mcp.auditing.reading import read_skill_files
from skillhub_mcp.auditing.rules import AuditFinding, Risk
from skillhub_mcp.errors import SkillWithheld
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.validation.checker import check
from skillhub_mcp.validation.targets import Target

_HOST = re.compile(r"(?i)\b(?:https?|wss?|ftps?|git|ssh)://(?:[^\s/@\"'<>]{1,200}@)?([a-z0-9][a-z0-9.-]{0,252})")
_MORE_SCRIPTS = frozenset((".lua", ".vbs", ".awk", ".r", ".jl", ".go", ".rs", ".exe", ".com", ".scpt", ".applescript"))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The scripts of a skill, its executable files, the hosts in its URLs, and its allowed tools."""

    scripts: frozenset[str] = frozenset()
    executables: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()

    def beyond(self, before: Capabilities) -> Capabilities:
        """Return what these have that `before` did not."""
        return Capabilities(*(getattr(self, one.name) - getattr(before, one.name) for one in fields(self)))


NO_CAPABILITIES = Capabilities()


@dataclass(frozen=True, slots=True)
class Look:
    """Errors of a SKILL.md, findings of the audit, and capabilities. `name` is empty if it cannot be read."""

    document: str
    problems: tuple[Diagnostic, ...]
    findings: tuple[AuditFinding, ...]
    powers: Capabilities
    name: str = ""

    @property
    def critical(self) -> tuple[AuditFinding, ...]:
        """The findings for which a skill is refused."""
        return tuple(one for one in self.findings if one.severity is Risk.CRITICAL)


def look_at(directory: str, name: str) -> Look:
    """Inspect the skill in a directory, which is to be called `name`."""
    files = read_skill_files(directory)
    audit = audit_files(directory, files)
    checked = check(Target(os.path.join(directory, SKILL_FILE), directory, name), advice=False)
    content = files.document or b""
    document = content.decode("utf-8", "replace")
    read = parse_skill(content, directory=directory, directory_name=name)
    powers = Capabilities(
        scripts=frozenset(entry.path for entry in files.entries if _is_script(entry)),
        executables=frozenset(entry.path for entry in files.entries if entry.executable),
        hosts=frozenset().union(hosts_in(document), *(hosts_in(text) for _, text in files.texts)),
        tools=frozenset(read.skill.allowed_tools if read.skill is not None else ()),
    )
    problems = tuple(one for one in checked.findings if one.severity is Severity.ERROR)
    return Look(document, problems, audit.findings, powers, read.skill.name if read.skill is not None else "")


def _is_script(entry: SkillEntry) -> bool:
    ending = os.path.splitext(entry.path)[1].lower()
    return ending in SCRIPTS or ending in _MORE_SCRIPTS or entry.start.startswith(b"#!")


def hosts_in(text: str) -> frozenset[str]:
    """Return the hosts of URLs in a text, in lower case."""
    return frozenset(found[1].lower().rstrip(".-") for found in _HOST.finditer(text))


def accept(
    name: str, look: Look, digest: str, accepted: Collection[str], before: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the rules whose critical findings are accepted, each with the digest that it was accepted for.

    `accepted` are rules that a person accepts now, `before` those of the lock, which count for the same files only.
    Raises SkillWithheld for a critical finding of another rule.
    """
    kept = {rule for rule, of in before.items() if of == digest} | set(accepted)
    refused = [finding for finding in look.critical if finding.rule not in kept]
    if refused:
        first, rules = refused[0], sorted({finding.rule for finding in refused})
        options = " ".join(f"--accept {rule}" for rule in rules)
        them = "accepts it" if len(rules) == 1 else "accept all that was found"
        hint = f"read it there ({first.message}); {options} {them}, for these very files only"
        raise SkillWithheld(name, rule=first.rule, place=first.place, hint=hint)
    return dict.fromkeys(sorted({one.rule for one in look.critical}), digest)
