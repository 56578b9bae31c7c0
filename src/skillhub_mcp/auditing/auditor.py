"""The audits of a hub's skills: kept, and repeated when a changed skill is loaded or, in a server, scanned."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.errors import SkillHubError, SkillUnverifiable
from skillhub_mcp.skills.discovery import FilesOf, own_directory
from skillhub_mcp.skills.model import Skill

if TYPE_CHECKING:
    from skillhub_mcp.auditing.kept import KeptAudit
    from skillhub_mcp.auditing.rules import AuditFinding

log = logging.getLogger(__name__)

# A server that has just started answers its first searches first.
_FIRST_REST_SECONDS = 3.0
_REST_FACTOR = 4
_CLOSE_SECONDS = 2.0


class Auditor:
    """Audits skills and keeps the findings in a file; with `blocks`, critical ones withhold a skill. Thread-safe.

    `accepted` returns the rules whose findings are accepted, by the digest of a skill.
    """

    def __init__(
        self,
        kept_path: str,
        *,
        accepted: Callable[[], Mapping[str, Collection[str]]],
        blocks: bool,
        files_of: FilesOf = own_directory,
    ) -> None:
        self._kept_path = kept_path
        self._accepted = accepted
        self.blocks = blocks
        self._files_of = files_of
        self._lock = threading.Lock()
        self._digests: dict[tuple[str, str], str] = {}
        self._alike: Mapping[str, tuple[AuditFinding, ...]] = {}
        self._changes = 0
        self._unsaved: dict[str, KeptAudit] = {}
        self._waiting: Sequence[Skill] = ()
        # Set if a newer list is waiting, or the hub closes.
        self._wakened = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def known(self, skill: Skill) -> tuple[AuditFinding, ...] | None:
        """Return the unaccepted findings for `skill`, the worst first; None if not audited yet. Opens no file of it."""
        kept = self._kept.get(skill.directory)
        if kept is None or kept.stamp != _stamp(skill):
            return None
        return self._unaccepted(skill, kept)

    def look(self, skill: Skill) -> tuple[AuditFinding, ...]:
        """Return the findings for `skill` as its files are now; audit it if one changed. Raises as `files_of` does."""
        from skillhub_mcp.auditing.reading import signature

        files = self._files_of(skill)
        now = signature(files)
        kept = self._kept.get(skill.directory)
        if kept is None or (kept.stamp, kept.signature) != (_stamp(skill), now):
            kept = self._audit(skill, files, now, kept)
        return self._unaccepted(skill, kept)

    def withholds(self, skill: Skill, *, now: bool = False) -> AuditFinding | None:
        """Return the critical finding for which `skill` is withheld, or None; with `now`, by its files as they are."""
        from skillhub_mcp.auditing.rules import Risk

        findings = None if now else self.known(skill)
        if findings is None:
            try:
                findings = self.look(skill)
            except SkillHubError:
                if now:
                    raise
                # Loading will ask again, and fail.
                return None
        return next((one for one in findings if one.severity is Risk.CRITICAL), None)

    def changes(self) -> object:
        """Return a value that changes when what is withheld may have changed."""
        return self._changes, self._accepted()

    def audit_all(self, skills: Iterable[Skill], *, most: int) -> int:
        """Audit at most `most` of the skills without an audit, and return how many are left."""
        unknown = [skill for skill in skills if self.known(skill) is None]
        for skill in unknown[:most]:
            self.look(skill)
        return max(0, len(unknown) - most)

    def follow(self, skills: Sequence[Skill]) -> None:
        """Audit the new ones among `skills` in a thread, after the index."""
        self._waiting = skills
        self._wakened.set()
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="skillhub-audit", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop the thread, and keep what was found."""
        self._closed = True
        self._wakened.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)
        self._save()

    def catch_up(self, skills: Sequence[Skill]) -> None:
        """Audit those of `skills` without an audit, until a newer list is waiting or the hub closes."""
        from skillhub_mcp.auditing.names import look_alikes

        self._alike = look_alikes({skill.directory: skill.name for skill in skills})
        for skill in skills:
            if self.known(skill) is not None:
                continue
            began = time.perf_counter()
            try:
                self.look(skill)
            except SkillHubError as error:
                log.debug("%s is not audited: %s", skill.name, error.message)
            if self._wakened.wait(0.0 if self.blocks else _REST_FACTOR * (time.perf_counter() - began)):
                break
        self._save()

    def _run(self) -> None:
        while True:
            self._wakened.wait()
            self._wakened.clear()
            if self._closed:
                return
            if not self._wakened.wait(0.0 if self.blocks else _FIRST_REST_SECONDS):
                self.catch_up(self._waiting)

    def _audit(self, skill: Skill, files: str, signature: str, before: KeptAudit | None) -> KeptAudit:
        from skillhub_mcp.auditing.audit import audit_skill
        from skillhub_mcp.auditing.kept import KeptAudit

        if not os.path.isdir(files):
            # Its root is missing: it is audited when that is back.
            return KeptAudit("", "", ())
        kept = KeptAudit(_stamp(skill), signature, audit_skill(files).findings)
        with self._lock:
            self._kept[skill.directory] = kept
            self._unsaved[skill.directory] = kept
            # A skill without an earlier audit was not served yet.
            if before is not None and before.findings != kept.findings:
                self._changes += 1
        return kept

    def _unaccepted(self, skill: Skill, kept: KeptAudit) -> tuple[AuditFinding, ...]:
        findings = (*kept.findings, *self._alike.get(skill.directory, ()))
        accepted = self._accepted() if findings else {}
        if not accepted:
            return findings
        rules = accepted.get(self._digest(skill, kept.signature), ())
        return tuple(one for one in findings if one.rule not in rules)

    def _digest(self, skill: Skill, signature: str) -> str:
        from skillhub_mcp.skills.digest import skill_digest

        key = (skill.directory, signature)
        if key not in self._digests:
            try:
                self._digests[key] = skill_digest(self._files_of(skill))
            except SkillUnverifiable as error:
                log.debug("%s", error.message)
                self._digests[key] = ""
        return self._digests[key]

    @cached_property
    def _kept(self) -> dict[str, KeptAudit]:
        from skillhub_mcp.auditing.kept import read_audits

        return read_audits(self._kept_path)

    def _save(self) -> None:
        with self._lock:
            if not self._unsaved:
                return
            from skillhub_mcp.auditing.kept import add_audits

            unsaved, self._unsaved = self._unsaved, {}
            try:
                add_audits(self._kept_path, unsaved)
            except OSError as error:
                log.debug("The findings of the audit are not kept: %s", error)


def _stamp(skill: Skill) -> str:
    stamp = skill.stamp
    return f"{stamp.content_hash}:{stamp.mtime_ns}:{stamp.ctime_ns}:{stamp.size}"
