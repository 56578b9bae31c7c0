"""Findings as SARIF 2.1.0, for code hosts: one run, the rules that were violated, and a result for each finding."""

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
    """Return the SARIF log of `verdicts`. Locations are relative to the directory `base` (SARIF 2.1.0 §3)."""
    violated = sorted({finding.rule for verdict in verdicts for finding in verdict.findings})
    rule_indexes = {rule: index for index, rule in enumerate(violated)}
    driver = {
        "name": "skillhub",
        "version": version(),
        "informationUri": "https://agentskills.io/specification",
        "rules": [_rule(rule) for rule in violated],
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
                    _result(verdict, finding, rule_indexes[finding.rule], base)
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
        "shortDescription": {"text": rule.requirement},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.verdict]},
        "properties": {"origin": rule.origin.value, "explained_by": explaining_command(rule_id)},
    }


def explaining_command(rule_id: str) -> str:
    """Return the command that says what a rule demands and how to fix a violation."""
    return f"skillhub validate --list-rules --select {rule_id}"


def _result(verdict: ValidationResult, finding: Finding, rule_index: int, base: str) -> dict[str, object]:
    path = os.path.relpath(os.path.abspath(verdict.path), base)
    inside = not path.startswith("..")
    uri = quote(path.replace(os.sep, "/")) if inside else _uri(os.path.abspath(verdict.path))
    location: dict[str, object] = {"artifactLocation": {"uri": uri, **({"uriBaseId": "SRCROOT"} if inside else {})}}
    location["region"] = {"startLine": finding.line or 1}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}; {finding.fix}"},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    return "file://" + quote(path.replace(os.sep, "/"))


def _directory_uri(path: str) -> str:
    return _uri(os.path.join(path, ""))
