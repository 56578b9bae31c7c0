"""Whether the files of a project are those that its user trusted."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterable
from dataclasses import replace

from skillhub_mcp.errors import PolicyUnreadable, SkillUnverifiable
from skillhub_mcp.policy.files import PolicyFile
from skillhub_mcp.policy.trust import NO_AGREEMENT, TrustMode, TrustRecord
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.roots import SkillRoot

log = logging.getLogger(__name__)

RULES_FILE = os.path.join(".skillhub", "permissions.json")
"""The file of rules of a project, relative to its root."""

_MAX_RULES_BYTES = 4 * 1024 * 1024


class ProjectTrust:
    """Decides which roots are trusted. Thread-safe. A `record` that cannot be used trusts nothing."""

    def __init__(self, mode: TrustMode, record: PolicyFile[TrustRecord]) -> None:
        self._mode = mode
        self._record_file = record
        self._lock = threading.Lock()
        self._logged = ""

    def judged(self, roots: Iterable[SkillRoot]) -> tuple[SkillRoot, ...]:
        """Return the roots, those of a project with their present trust."""
        roots = tuple(roots)
        if not any(root.within for root in roots):
            return roots
        with self._lock:
            record = NO_AGREEMENT if self._mode is TrustMode.ALL else self._record()
            return tuple(root if not root.within else replace(root, trust=self._judge(root, record)) for root in roots)

    def record(self) -> TrustRecord:
        """Return the record, the same value while its file does not change."""
        with self._lock:
            return self._record()

    def _judge(self, root: SkillRoot, record: TrustRecord) -> Trust:
        if self._mode is TrustMode.ALL:
            return Trust.AGREED
        trusted = record.digest(root.within, root.path)
        if trusted is None:
            return Trust.AWAITED
        return Trust.AGREED if self._digest(root) == trusted else Trust.CHANGED

    def _digest(self, root: SkillRoot) -> str | None:
        """Return the digest of the files of a root, or None if they cannot be read."""
        try:
            return project_digest(root)
        except (SkillUnverifiable, OSError) as error:
            log.debug("The files of %s cannot be compared with those that were trusted: %s", root.path, error)
            return None

    def _record(self) -> TrustRecord:
        try:
            record = self._record_file.read() or NO_AGREEMENT
        except PolicyUnreadable as error:
            if self._logged != error.message:
                log.warning("%s (%s): no project is trusted until it is fixed", error.message, error.path)
            self._logged = error.message
            return NO_AGREEMENT
        self._logged = ""
        return record


def project_digest(root: SkillRoot) -> str:
    """Return the digest of a root's skills and its project's rules. Raises SkillUnverifiable and OSError."""
    skills = [
        (os.path.relpath(directory, root.within), name, skill_digest(directory, bytecode=False))
        for directory, name in _directories(root)
    ]
    content = json.dumps([sorted(skills), _rules_digest(root.within)], ensure_ascii=True)
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"


def _directories(root: SkillRoot) -> list[tuple[str, str]]:
    """Return the canonical directory and the name of each skill of the root, as if it were trusted.

    Raises SkillUnverifiable if there are too many directories.
    """
    walk = walk_roots((replace(root, trust=Trust.AGREED),))
    if walk.cut:
        raise SkillUnverifiable(os.path.basename(root.path), f"it has more than {root.max_directories:,} directories")
    return [(walk.roots[0].resolved(found.directory), found.name) for found in walk.found]


def _rules_digest(project: str) -> str:
    """Return the digest of the project's rules, or an empty text. Raises OSError."""
    path = os.path.join(project, RULES_FILE)
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            return hashlib.sha256(file.read(_MAX_RULES_BYTES)).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise OSError(error.errno, error.strerror, RULES_FILE) from error
