"""Earlier findings, in a file beside the index. A damaged file, or one of other rules, counts as empty."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from pydantic import TypeAdapter

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.auditing.rules import RULES_VERSION, AuditFinding

KEPT_FILE = "audit.json"
_FORMAT = 4
_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """The findings in one skill as it was: `stamp` is of its SKILL.md, `signature` of all its files."""

    stamp: str
    signature: str
    findings: tuple[AuditFinding, ...]


@dataclass(frozen=True, slots=True)
class _Content:
    format: int
    rules: int
    skills: dict[str, KeptAudit]


_CONTENT = TypeAdapter(_Content)


class KeptFile:
    """The file at `path`. If two processes write it at once, the skills of one are audited again."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> dict[str, KeptAudit]:
        """Return the audits by the skills' directories, the last written at the end."""
        try:
            with open(self._path, "rb") as file:
                content = _CONTENT.validate_json(file.read(_MAX_BYTES))
        except (OSError, ValueError):
            # The skills are audited again, and the next write replaces the file.
            return {}
        return content.skills if (content.format, content.rules) == (_FORMAT, RULES_VERSION) else {}

    def add(self, audits: Mapping[str, KeptAudit], *, most: int) -> None:
        """Add the audits of more skills, and keep at most `most` in all. Raises OSError."""
        kept = {directory: one for directory, one in self.read().items() if directory not in audits} | dict(audits)
        make_private_directory(os.path.dirname(self._path))
        self._write(dict(islice(kept.items(), max(0, len(kept) - most), None)))

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Remove the audits of directories for which `is_forgotten` is true. Raises OSError."""
        kept = self.read()
        staying = {directory: one for directory, one in kept.items() if not is_forgotten(directory)}
        if len(staying) < len(kept):
            self._write(staying)

    def _write(self, audits: dict[str, KeptAudit]) -> None:
        atomic_write(self._path, _CONTENT.dump_json(_Content(_FORMAT, RULES_VERSION, audits)), mode=0o600)
