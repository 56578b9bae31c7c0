"""The result of validating one skill."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.skills.rules import RULES, Diagnostic, Severity

_ORDER = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule, with its strict severity and its 1-based line in SKILL.md, if known."""

    rule: str
    severity: Severity
    message: str
    fix: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated tokens of name and description, of the body, and of all text files."""

    catalogue: int
    body: int
    files: int


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The findings for one skill. `path` is its SKILL.md, or the path that was given if there is none."""

    path: str
    name: str | None
    findings: tuple[Finding, ...]
    cost: Cost | None = None

    @property
    def valid(self) -> bool:
        """Whether the skill conforms to the specification."""
        return not self.has(Severity.ERROR)

    def has(self, severity: Severity) -> bool:
        """Whether there is a finding of `severity` or worse."""
        return any(_ORDER[finding.severity] <= _ORDER[severity] for finding in self.findings)


def findings(diagnostics: Iterable[Diagnostic]) -> tuple[Finding, ...]:
    """Return the diagnostics as findings, the worst first, then by line."""
    found = [
        Finding(one.rule, RULES[one.rule].verdict, one.message, RULES[one.rule].fix, one.line) for one in diagnostics
    ]
    return tuple(sorted(found, key=lambda one: (_ORDER[one.severity], one.line or 0, one.rule, one.message)))
