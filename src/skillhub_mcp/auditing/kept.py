"""What was found before, in a file beside the index: nothing is audited twice while it stays the same.

The file is a cache, readable by its owner alone: a line of JSON for each skill that was audited. A later line takes the
place of an earlier one, and one of other rules or of another form counts as none. It is appended to, and written anew
when more than half of it is of no use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.auditing.rules import AUDIT_RULES, RULES_VERSION, AuditFinding, Risk
from skillhub_mcp.file_modes import make_private_directory

KEPT_FILE = "audit.json"
_FORMAT = 2
_MAX_BYTES = 256 * 1024 * 1024
# So much of no use is not worth writing the file anew.
_SPARE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """The findings in one skill as it was: `stamp` is of its SKILL.md, `signature` of all its files."""

    stamp: str
    signature: str
    findings: tuple[AuditFinding, ...]


class KeptFile:
    """The file at `path`. Several processes may append to it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._useful = 0

    def read(self) -> dict[str, KeptAudit]:
        """Return what is kept, by the skills' directories, what was written last at the end."""
        kept: dict[str, KeptAudit] = {}
        sizes: dict[str, int] = {}
        for directory, audit, size in self._lines():
            kept.pop(directory, None)
            kept[directory] = audit
            sizes[directory] = size
        self._useful = sum(sizes.values())
        return kept

    def append(self, audits: Mapping[str, KeptAudit], *, most: int) -> None:
        """Write what was found in more skills; where the file is written anew, the last `most` stay. Raises OSError."""
        # Whoever wrote before may have been stopped within a line.
        written = b"\n" + b"".join(_line(directory, one) for directory, one in audits.items())
        make_private_directory(os.path.dirname(self._path))
        with open(self._path, "ab", buffering=0, opener=_open_private) as file:
            file.write(written)
            size = os.fstat(file.fileno()).st_size
        if size > 2 * self._useful + len(written) + _SPARE_BYTES:
            kept = list(self.read().items())[-most:]
            content = b"".join(_line(directory, one) for directory, one in kept)
            atomic_write(self._path, content, mode=0o600)
            self._useful = len(content)

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Write the file anew without what was found in directories that are forgotten, if there is any of it.

        What another process appends meanwhile is audited again. Raises OSError.
        """
        kept = self.read()
        staying = {directory: one for directory, one in kept.items() if not is_forgotten(directory)}
        if len(staying) < len(kept):
            atomic_write(self._path, b"".join(_line(*one) for one in staying.items()), mode=0o600)

    def _lines(self) -> Iterator[tuple[str, KeptAudit, int]]:
        try:
            with open(self._path, "rb") as file:
                left = _MAX_BYTES
                while left > 0 and (line := file.readline(left)):
                    left -= len(line)
                    try:
                        form, rules, directory, stamp, signature, findings = json.loads(line)
                        if (form, rules) != (_FORMAT, RULES_VERSION):
                            continue
                        audit = KeptAudit(str(stamp), str(signature), tuple(_finding(*one) for one in findings))
                        yield str(directory), audit, len(line)
                    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                        continue
        except OSError:
            return


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _line(directory: str, audit: KeptAudit) -> bytes:
    findings = [[one.rule, one.severity.value, one.message, one.path, one.line] for one in audit.findings]
    row = [_FORMAT, RULES_VERSION, directory, audit.stamp, audit.signature, findings]
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _finding(rule: str, severity: str, message: str, path: str, line: int | None) -> AuditFinding:
    if rule not in AUDIT_RULES or not (message.__class__ is path.__class__ is str):
        raise ValueError(rule)
    return AuditFinding(rule, Risk(severity), message, path, line if line is None else int(line))
