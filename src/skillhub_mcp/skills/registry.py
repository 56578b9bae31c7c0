"""The one way by which skills enter the hub: walk the roots, read what changed, settle the names.

What an earlier scan read is remembered by path, mtime and size, so that an unchanged SKILL.md is not opened
again (DECISIONS 26). This module knows of files and skills; it does not know that there is an index.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.errors import SkillHubError, SkillUnreadable
from skillhub_mcp.skills.discovery import FoundSkillFile, WalkProblem, walk_roots
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import SKILL_FILE, FileStamp, Skill, SkillDocument
from skillhub_mcp.skills.reading import read_skill, refused
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.rules import Diagnostic, breach
from skillhub_mcp.skills.snapshot import Refused, Snapshot, make_snapshot

MAX_SKILL_FILE_BYTES = 16 * 1024 * 1024

# A file written again within its clock's tick keeps its mtime: within these spans "unchanged" is not believed.
_FINE_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_000_000_000
_HALF_WRITTEN_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one SKILL.md came to when it was last read: its stamp, and a skill or the reasons for none."""

    root: str
    stamp: FileStamp
    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...]


Memory = Mapping[str, Remembered]

_NOTHING: Memory = {}


@dataclass(frozen=True, slots=True)
class Scan:
    """One look at the roots: the snapshot, what to remember of it, and how it differs from what was remembered.

    `opened` counts the files that were read, `changed` says whether any skill is new, other or gone.
    """

    snapshot: Snapshot
    memory: Memory
    opened: int
    changed: bool


def scan(
    roots: tuple[SkillRoot, ...],
    *,
    memory: Memory,
    lately: Memory = _NOTHING,
    strict: bool = False,
    reread: bool = False,
) -> Scan:
    """Look at every SKILL.md below `roots`, opening only those that `memory` does not know as they are.

    With `reread`, opens those too. What was read `lately`, a moment ago, is taken from there; the scan still says how
    all differs from `memory`. Bad files never raise: they end in the snapshot's report.
    """
    walk = walk_roots(roots)
    remembered: dict[str, Remembered] = {}
    opened = 0
    changed = False
    for found in walk.found:
        known, fresh = memory.get(found.directory), lately.get(found.directory)
        if fresh is not None and _as_remembered(found, fresh):
            now = fresh
        elif known is not None and not reread and _as_remembered(found, known):
            now = known
        else:
            opened += 1
            now = _settled(fresh or known, _read(found))
        changed = changed or known is None or _differ(known, now)
        remembered[found.directory] = now
    own = {root.path for root in roots}
    gone = any(entry.root in own and path not in remembered for path, entry in memory.items())
    snapshot = recall(roots, memory=remembered, strict=strict, problems=walk.problems)
    return Scan(snapshot=snapshot, memory=remembered, opened=opened, changed=changed or gone)


def recall(
    roots: tuple[SkillRoot, ...],
    *,
    memory: Memory,
    strict: bool = False,
    problems: Sequence[WalkProblem] = (),
) -> Snapshot:
    """Return the snapshot of what `memory` holds under `roots`, without looking at any file."""
    own = {root.path for root in roots}
    skills: list[Skill] = []
    unusable: list[Refused] = []
    entries = {path: entry for path, entry in memory.items() if entry.root in own}
    for directory, entry in entries.items():
        if entry.skill is None or refused(entry.diagnostics, strict=strict):
            unusable.append(Refused(directory, entry.diagnostics))
        else:
            skills.append(entry.skill)
    return make_snapshot(
        skills,
        root_order=[root.path for root in roots],
        found=len(entries),
        refused=unusable,
        problems=problems,
    )


def read_document(skill: Skill) -> SkillDocument:
    """Read `skill`'s SKILL.md as it is now. Raises SkillUnreadable when it is gone or no longer usable."""
    path = os.path.join(skill.directory, SKILL_FILE)
    try:
        content = read_whole(skill.directory, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=path, reason=error.message) from error
    document = parse(content)
    if document.values is None:
        raise SkillUnreadable(skill.name, path=path, reason=document.diagnostics[-1].message)
    return SkillDocument(skill, document.body)


def _settled(before: Remembered | None, after: Remembered) -> Remembered:
    """Keep to what was read before while a file that was good is perhaps only half written; a later look decides."""
    just_written = after.stamp.read_at_ns - after.stamp.mtime_ns < _HALF_WRITTEN_NS
    if before is not None and before.skill is not None and after.skill is None and just_written:
        return before
    return after


def _differ(before: Remembered, after: Remembered) -> bool:
    return (before.root, before.stamp.content_hash, before.diagnostics) != (
        after.root,
        after.stamp.content_hash,
        after.diagnostics,
    )


def _as_remembered(found: FoundSkillFile, known: Remembered) -> bool:
    stamp = known.stamp
    if (stamp.mtime_ns, stamp.size, known.root) != (found.mtime_ns, found.size, found.root):
        return False
    tick = _FINE_TICK_NS if found.mtime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return stamp.read_at_ns - stamp.mtime_ns > tick


def _read(found: FoundSkillFile) -> Remembered:
    stamp = FileStamp(found.mtime_ns, found.size, content_hash="", read_at_ns=time.time_ns())
    if found.size > MAX_SKILL_FILE_BYTES:
        too_large = breach("file-too-large", f"the file has {found.size:,} bytes")
        return Remembered(found.root, stamp, None, (too_large,))
    try:
        content = read_whole(found.directory, SKILL_FILE, skill=found.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        return Remembered(found.root, stamp, None, (breach("file-unreadable", error.message),))
    stamp = replace(stamp, content_hash=hashlib.sha256(content).hexdigest())
    reading = read_skill(content, directory=found.directory, root=found.root, directory_name=found.name, stamp=stamp)
    return Remembered(found.root, stamp, reading.skill, reading.diagnostics)
