"""What was found before, in a file beside the index: nothing is audited twice while it stays the same.

The file is a cache. It is readable by its owner alone, and one of other rules or of another form counts as none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.auditing.rules import AUDIT_RULES, RULES_VERSION, AuditFinding, Risk
from skillhub_mcp.file_modes import make_private_directory

KEPT_FILE = "audit.json"
_FORMAT = 1
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """The findings in one skill as it was: `stamp` is of its SKILL.md, `signature` of all its files."""

    stamp: str
    signature: str
    findings: tuple[AuditFinding, ...]


def read_kept(path: str) -> dict[str, KeptAudit]:
    """Return what is kept, by the skills' directories; nothing where there is no usable file."""
    try:
        with open(path, "rb") as file:
            written = json.loads(file.read(_MAX_BYTES))
        if (written["format"], written["rules"]) != (_FORMAT, RULES_VERSION):
            return {}
        return {
            str(directory): KeptAudit(str(stamp), str(signature), tuple(_finding(*one) for one in findings))
            for directory, (stamp, signature, findings) in written["skills"].items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def write_kept(path: str, kept: Mapping[str, KeptAudit]) -> None:
    """Replace the file. Raises OSError."""
    written = {
        "format": _FORMAT,
        "rules": RULES_VERSION,
        "skills": {
            directory: [
                one.stamp,
                one.signature,
                [[each.rule, each.severity.value, each.message, each.path, each.line] for each in one.findings],
            ]
            for directory, one in kept.items()
        },
    }
    make_private_directory(os.path.dirname(path))
    atomic_write(path, json.dumps(written, separators=(",", ":")).encode("utf-8", "surrogatepass"), mode=0o600)


def _finding(rule: str, severity: str, message: str, path: str, line: int | None) -> AuditFinding:
    if rule not in AUDIT_RULES or not (message.__class__ is path.__class__ is str):
        raise ValueError(rule)
    return AuditFinding(rule, Risk(severity), message, path, line if line is None else int(line))
