"""Earlier findings, in a file beside the index. A damaged file, or one of other rules, counts as empty."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from pydantic import TypeAdapter

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.auditing.rules import RULES_VERSION, AuditFinding

KEPT_FILE = "audit.json"
_MAX_BYTES = 256 * 1024 * 1024
# Other libraries may use the same database.
_MAX_SKILLS = 50_000


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """The findings in one skill as it was: `stamp` is of its SKILL.md, `signature` of all its files."""

    stamp: str
    signature: str
    findings: tuple[AuditFinding, ...]


@dataclass(frozen=True, slots=True)
class _Content:
    rules: int
    skills: dict[str, KeptAudit]


_CONTENT = TypeAdapter(_Content)


def read_audits(path: str) -> dict[str, KeptAudit]:
    """Return the audits by the skills' directories, the last written at the end."""
    try:
        with open(path, "rb") as file:
            content = _CONTENT.validate_json(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        # The skills are audited again, and the next write replaces the file.
        return {}
    return content.skills if content.rules == RULES_VERSION else {}


def add_audits(path: str, audits: Mapping[str, KeptAudit], *, most: int = _MAX_SKILLS) -> None:
    """Add audits to the file, which keeps the newest `most`. Raises OSError.

    If two processes write at once, the skills of one are audited again.
    """
    kept = {directory: one for directory, one in read_audits(path).items() if directory not in audits} | dict(audits)
    newest = dict(islice(kept.items(), max(0, len(kept) - most), None))
    make_private_directory(os.path.dirname(path))
    atomic_write(path, _CONTENT.dump_json(_Content(RULES_VERSION, newest)), mode=0o600)
