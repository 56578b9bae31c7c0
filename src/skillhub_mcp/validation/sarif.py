"""How do code hosts want findings? SARIF 2.1.0: one run, the rules that were broken, a result for each finding."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import quote

from skillhub_mcp.skills.rules import RULES, Severity
from skillhub_mcp.validation.verdict import Finding, ValidationResult
from skillhub_mcp.version import version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(verdicts: Sequence[ValidationResult], *, base: str) -> dict[str, object]:
    """Return the log of these verdicts; places are written relative to the directory `base` (SARIF 2.1.0 §3)."""
    broken = sorted({finding.rule for verdict in verdicts for finding in verdict.findings})
    numbers = {rule: number for number, rule in enumerate(broken)}
    driver = {
        "name": "skillhub",
        "version": version(),
        "informationUri": "https://agentskills.io/specification",
        "rules": [_rule(rule) for rule in broken],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"uri": _directory_uri(base)}},
                "results": [
                    _result(verdict, finding, numbers[finding.rule], base)
                    for verdict in verdicts
                    for finding in verdict.findings
                ],
            }
        ],
    }


def _rule(rule_id: str) -> dict[str, object]:
    rule = RULES[rule_id]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "help": {"text": rule.mend},
        "defaultConfiguration": {"level": _LEVELS[rule.verdict]},
        "properties": {"origin": rule.origin.value, "docs": docs_anchor(rule_id)},
    }


def docs_anchor(rule_id: str) -> str:
    """Return where the documents explain a rule, relative to the project."""
    return f"docs/reference/diagnostics.md#{rule_id}"


def _result(verdict: ValidationResult, finding: Finding, number: int, base: str) -> dict[str, object]:
    place = os.path.relpath(os.path.abspath(verdict.path), base)
    inside = not place.startswith("..")
    uri = quote(place.replace(os.sep, "/")) if inside else _uri(os.path.abspath(verdict.path))
    location: dict[str, object] = {"artifactLocation": {"uri": uri, **({"uriBaseId": "SRCROOT"} if inside else {})}}
    location["region"] = {"startLine": finding.line or 1}
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}; {finding.mend}"},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    return "file://" + quote(path.replace(os.sep, "/"))


def _directory_uri(path: str) -> str:
    return _uri(os.path.join(path, ""))
