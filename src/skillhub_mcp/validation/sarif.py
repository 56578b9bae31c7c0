"""Write findings as SARIF 2.1.0, for code hosts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from skillhub_mcp.version import version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "critical": "error", "high": "error", "warning": "warning", "medium": "warning"}
# Code hosts sort by these scores.
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.0", "low": "2.0"}


class ShownRule(NamedTuple):
    """A rule: what it demands or finds, how to fix a violation, and where it comes from."""

    id: str
    severity: str
    text: str
    fix: str
    source: str


class ShownFile(Protocol):
    """A file and its findings, the worst first; each has a rule, severity, message and line."""

    @property
    def path(self) -> str: ...
    @property
    def findings(self) -> Sequence[Any]: ...


def sarif(
    files: Sequence[ShownFile], rules: Mapping[str, ShownRule], *, command: str, about: str, base: str
) -> dict[str, object]:
    """Return the SARIF log of the findings of `command`; `about` explains its rules.

    Locations are relative to the directory `base` (SARIF 2.1.0 §3).
    """
    violated = sorted({one.rule for file in files for one in file.findings})
    driver = {
        "name": "skillhub",
        "version": version(),
        "informationUri": about,
        "rules": [_rule(rules[rule], command) for rule in violated],
    }
    results = [
        {
            "ruleId": one.rule,
            "ruleIndex": violated.index(one.rule),
            "level": _LEVELS.get(one.severity.value, "note"),
            "message": {"text": f"{one.message}; {rules[one.rule].fix}"},
            "locations": [{"physicalLocation": _location(file.path, base) | {"region": {"startLine": one.line or 1}}}],
        }
        for file in files
        for one in file.findings
    ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": _uri(os.path.join(base, ""))}},
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def explaining_command(rule_id: str, command: str = "validate") -> str:
    """Return the command that says what a rule demands and how to fix a violation."""
    return f"skillhub {command} --list-rules --select {rule_id}"


def _rule(rule: ShownRule, command: str) -> dict[str, object]:
    score = {"security-severity": _SCORES[rule.severity]} if rule.severity in _SCORES else {}
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.text},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS.get(rule.severity, "note")},
        "properties": {"source": rule.source, "explained_by": explaining_command(rule.id, command), **score},
    }


def _location(path: str, base: str) -> dict[str, object]:
    inside = os.path.relpath(os.path.abspath(path), base)
    if inside.startswith(".."):
        return {"artifactLocation": {"uri": _uri(os.path.abspath(path))}}
    return {"artifactLocation": {"uri": _quoted(inside), "uriBaseId": "SRCROOT"}}


def _uri(path: str) -> str:
    return "file://" + _quoted(path)


def _quoted(path: str) -> str:
    return quote(os.fsencode(path.replace(os.sep, "/")))
