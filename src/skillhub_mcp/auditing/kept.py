"""Earlier findings, in a file beside the index. A damaged file, or one that other rules wrote, counts as empty."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.auditing.rules import AUDIT_RULES, RULES_VERSION, AuditFinding, Risk

KEPT_FILE = "audit.json"
_FORMAT = 3
_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """The findings in one skill as it was: `stamp` is of its SKILL.md, `signature` of all its files."""

    stamp: str
    signature: str
    findings: tuple[AuditFinding, ...]


class KeptFile:
    """The file at `path`. If two processes write it at once, the skills of one are audited again."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> dict[str, KeptAudit]:
        """Return the audits by the skills' directories, the last written at the end."""
        try:
            with open(self._path, "rb") as file:
                written = json.loads(file.read(_MAX_BYTES))
            if (written["format"], written["rules"]) != (_FORMAT, RULES_VERSION):
                return {}
            return {str(directory): _audit(*one) for directory, one in written["skills"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            # Costs an audit of each skill, and is replaced by the next write.
            return {}

    def add(self, audits: Mapping[str, KeptAudit], *, most: int) -> None:
        """Write what was found in more skills, and at most so many in all. Raises OSError."""
        kept = self.read()
        for directory in audits:
            kept.pop(directory, None)
        kept |= audits
        make_private_directory(os.path.dirname(self._path))
        self._write(dict(islice(kept.items(), max(0, len(kept) - most), None)))

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Remove what was found in directories that are forgotten. Raises OSError."""
        kept = self.read()
        staying = {directory: one for directory, one in kept.items() if not is_forgotten(directory)}
        if len(staying) < len(kept):
            self._write(staying)

    def _write(self, audits: Mapping[str, KeptAudit]) -> None:
        skills = {directory: _row(one) for directory, one in audits.items()}
        written = {"format": _FORMAT, "rules": RULES_VERSION, "skills": skills}
        atomic_write(self._path, json.dumps(written, separators=(",", ":")).encode(), mode=0o600)


def _row(audit: KeptAudit) -> list[object]:
    findings = [[one.rule, one.severity.value, one.message, one.path, one.line] for one in audit.findings]
    return [audit.stamp, audit.signature, findings]


def _audit(stamp: str, signature: str, findings: list[list[object]]) -> KeptAudit:
    return KeptAudit(str(stamp), str(signature), tuple(_finding(*one) for one in findings))


def _finding(rule: object, severity: object, message: object, path: object, line: object) -> AuditFinding:
    if rule not in AUDIT_RULES or not isinstance(line, int | None):
        raise ValueError(rule)
    return AuditFinding(str(rule), Risk(severity), str(message), str(path), line)
