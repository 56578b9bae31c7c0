"""Write findings as SARIF 2.1.0, for code hosts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from skillhub_mcp.skills.rules import RULES, Severity
from skillhub_mcp.validation.verdict import ValidationResult
from skillhub_mcp.version import version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


@dataclass(frozen=True, slots=True)
class SarifRule:
    """A rule in a log."""

    id: str
    text: str
    fix: str
    level: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SarifResult:
    """A finding in a log, at a 1-based line."""

    rule: str
    level: str
    text: str
    path: str
    line: int | None


def sarif(verdicts: Sequence[ValidationResult], *, base: str) -> dict[str, object]:
    """Return the SARIF log of `verdicts`. Locations are relative to the directory `base` (SARIF 2.1.0 §3)."""
    return sarif_log(
        [
            SarifResult(one.rule, _LEVELS[one.severity], f"{one.message}; {one.fix}", verdict.path, one.line)
            for verdict in verdicts
            for one in verdict.findings
        ],
        rules={
            rule.id: SarifRule(
                rule.id,
                rule.requirement,
                rule.fix,
                _LEVELS[rule.verdict],
                {"origin": rule.origin.value, "explained_by": explaining_command(rule.id)},
            )
            for rule in RULES.values()
        },
        base=base,
        about="https://agentskills.io/specification",
    )


def sarif_log(
    results: Sequence[SarifResult], *, rules: Mapping[str, SarifRule], base: str, about: str
) -> dict[str, object]:
    """Return a SARIF log with the `rules` that `results` have; `about` explains them."""
    violated = sorted({one.rule for one in results})
    indexes = {rule: index for index, rule in enumerate(violated)}
    driver = {
        "name": "skillhub",
        "version": version(),
        "informationUri": about,
        "rules": [_rule(rules[rule]) for rule in violated],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"uri": _directory_uri(base)}},
                "results": [_result(one, indexes[one.rule], base) for one in results],
            }
        ],
    }


def _rule(rule: SarifRule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.text},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": rule.level},
        "properties": dict(rule.properties),
    }


def explaining_command(rule_id: str, command: str = "validate") -> str:
    """Return the command that says what a rule demands and how to fix a violation."""
    return f"skillhub {command} --list-rules --select {rule_id}"


def _result(one: SarifResult, rule_index: int, base: str) -> dict[str, object]:
    path = os.path.relpath(os.path.abspath(one.path), base)
    inside = not path.startswith("..")
    uri = _quoted(path) if inside else _uri(os.path.abspath(one.path))
    location: dict[str, object] = {"artifactLocation": {"uri": uri, **({"uriBaseId": "SRCROOT"} if inside else {})}}
    location["region"] = {"startLine": one.line or 1}
    return {
        "ruleId": one.rule,
        "ruleIndex": rule_index,
        "level": one.level,
        "message": {"text": one.text},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    return "file://" + _quoted(path)


def _directory_uri(path: str) -> str:
    return _uri(os.path.join(path, ""))


def _quoted(path: str) -> str:
    return quote(os.fsencode(path.replace(os.sep, "/")))
