"""What is said of one skill: its findings, worst first, and what it costs a model. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.skills.rules import RULES, Diagnostic, Severity

_ORDER = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one rule, as a strict reader judges it. `line` is 1-based within SKILL.md, where it has one."""

    rule: str
    severity: Severity
    message: str
    mend: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """About how many tokens each tier of disclosure takes: the name and description, the body, all text files."""

    catalogue: int
    body: int
    files: int


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """What is said of one skill. `path` is its SKILL.md, or what was named where there is none."""

    path: str
    name: str | None
    findings: tuple[Finding, ...]
    cost: Cost | None = None

    @property
    def valid(self) -> bool:
        """Whether the specification is kept to."""
        return not self.has(Severity.ERROR)

    def has(self, severity: Severity) -> bool:
        """Whether something is found that is as bad as `severity` or worse."""
        return any(_ORDER[finding.severity] <= _ORDER[severity] for finding in self.findings)


def findings(diagnostics: Iterable[Diagnostic]) -> tuple[Finding, ...]:
    """Return breaches with the severity that a strict reader gives them, the worst first, then by line."""
    found = [
        Finding(one.rule, RULES[one.rule].verdict, one.message, RULES[one.rule].mend, one.line) for one in diagnostics
    ]
    return tuple(sorted(found, key=lambda one: (_ORDER[one.severity], one.line or 0, one.rule, one.message)))
