"""The scan, the only way for skills to enter the hub: walk the roots, read changed files, make a snapshot.

The results of earlier scans are cached by path, mtime, ctime and size, so that an unchanged SKILL.md is not opened
again. Only the frontmatter decides on a skill, however much of the file is read. This module is independent of the
index.
"""

from __future__ import annotations

import hashlib
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from itertools import chain, compress, count
from operator import attrgetter, is_, is_not
from typing import NamedTuple

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.overlay import changed_copy, changes_between, values_at_least
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.discovery import (
    COARSE_TICK_NS,
    FoundSkillFile,
    Ignored,
    KnownSkillFile,
    Walk,
    WalkProblem,
    walk_changes,
    walk_roots,
)
from skillhub_mcp.skills.files import read_start, read_whole
from skillhub_mcp.skills.frontmatter import header_end, is_text
from skillhub_mcp.skills.half_written import is_just_written
from skillhub_mcp.skills.model import NO_SHAPE, FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.roots import SkillRoot, is_at_or_below
from skillhub_mcp.skills.rules import Diagnostic, violation
from skillhub_mcp.skills.snapshot import Refused, ScanReport, Snapshot, UnavailableRoot, change_snapshot, make_snapshot
from skillhub_mcp.skills.whereabouts import skill_path

MAX_SKILL_FILE_BYTES = 16 * 1024 * 1024
_FIRST_BYTES = 2_048

# Of file systems with a fine clock; see `COARSE_TICK_NS`.
_FINE_TICK_NS = 20_000_000
_LAST_SKILL = 1


class CachedSkillFile(NamedTuple):
    """The result of reading one SKILL.md: its stamp, and a skill or the diagnostics that say why there is none.

    `name` is the name that its directory or the link to it had; empty if that is not known.
    """

    root: str
    stamp: FileStamp
    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...]
    shape: HeaderShape = NO_SHAPE
    name: str = ""


ScanCache = Mapping[str, CachedSkillFile]

_ROOT = attrgetter("root")
_FILES_PER_REPORT = 100
_NOTHING: ScanCache = {}
# A snapshot is made anew where more than one of so many skills changed.
_FEW_SHARE = 32


class ReadDepth(Enum):
    """How much of a SKILL.md is read: up to the end of the frontmatter, or all, if the body is to be indexed.

    `FileStamp.content_hash` covers those bytes.
    """

    HEADER = "header"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one scan: the snapshot, the cache for the next scan, and the differences to the given cache.

    `opened` counts the files that were read; `changed` says whether any skill was added, changed or removed.
    `admission` decided which are served. `undecided` are directories whose SKILL.md was perhaps half written, and whose
    skill is as it was before: a look a second later decides.
    """

    snapshot: Snapshot
    memory: ScanCache
    opened: int
    changed: bool
    admission: Admission = LENIENT
    undecided: tuple[str, ...] = ()


def scan(
    roots: tuple[SkillRoot, ...],
    *,
    memory: ScanCache,
    recent: ScanCache = _NOTHING,
    admission: Admission = LENIENT,
    reread: bool = False,
    depth: ReadDepth = ReadDepth.WHOLE,
    only: Sequence[str] | None = None,
    keep_absent: bool = False,
    before: Scan | None = None,
    walked: Walk | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Scan:
    """Scan every SKILL.md below `roots`, opening only files that are new or have changed since `memory`.

    `reread` opens unchanged files, too. Files in `recent`, a cache of a moment ago, are taken from there; `changed` is
    still relative to `memory`. `only` limits the scan to paths that are known to have changed. Bad files never raise:
    the snapshot's report lists them. With `keep_absent` the skills in `memory` of a root that is suddenly missing or
    empty, as with a share that is not mounted, stay; the report tells the root. Of the scan `before`, what did not
    change is taken over, in the time that the change takes. `walked` is a walk of a moment ago over these roots, which
    knew what is in `memory`: there is no second one. `on_progress` receives now and then how many of how many files are
    done.
    """
    began = time.perf_counter()
    known_here = entries_of(memory, {root.path for root in roots})
    if walked is not None:
        walk = walked
    elif only is None:
        walk = walk_roots(roots, _NOTHING if reread else _without_others(known_here, recent))
    else:
        walk = walk_changes(roots, only, known_here)
    total = len(walk.as_known) + len(walk.found)
    # Of a large library looking each path up again takes as long as reading what is known of it.
    all_as_known = len(walk.as_known) == len(known_here) and not walk.found
    seen = {} if all_as_known else {directory: known_here[directory] for directory in walk.as_known}
    look = _Look(memory, recent, reread=reread, depth=depth)
    for number, found in enumerate(walk.found, len(seen)):
        if on_progress is not None and number % _FILES_PER_REPORT == 0:
            on_progress(number, total)
        now = look.at(found)
        if now is not None:
            seen[found.directory] = now
    if on_progress is not None:
        on_progress(total, total)
    if walk.as_known and not all_as_known:
        # In one order always, so that what changed from one scan to the next is found without looking each path up.
        seen = {directory: seen[directory] for directory in sorted(seen)}
    remembered: ScanCache = known_here if all_as_known else seen
    looked_for: AbstractSet[str] = known_here.keys()
    if walk.covered is not None:
        looked_for = _below(known_here, walk.covered)
        remembered = changed_copy(known_here, {**dict.fromkeys(looked_for), **seen})
    unavailable = _unavailable(walk, known_here) if keep_absent else ()
    for root in unavailable:
        kept = {path: entry for path, entry in known_here.items() if entry.root == root.path}
        remembered = changed_copy(remembered, kept)
    removed = remembered is not known_here and not remembered.keys() >= looked_for
    is_same = not (look.opened or removed or recent) and len(remembered) == len(memory)
    # The same entries under the same paths: of a large library a second table of them, with its paths, is 20 MB.
    remembered = memory if is_same else remembered
    problems, ignored = _problems_and_ignored(walk, before)
    snapshot = scan_from_cache(
        walk.roots,
        memory=remembered,
        admission=admission,
        problems=_told(problems, unavailable),
        ignored=ignored,
        began=began,
        unavailable=unavailable,
        before=before,
    )
    return Scan(snapshot, remembered, look.opened, look.changed or removed, admission, tuple(look.undecided))


class SnapshotReader:
    """The snapshots of some roots for a caller without an index: headers only, and each again only if it changed.

    Nothing is read before the first use. Not thread-safe.
    """

    def __init__(self, roots: tuple[SkillRoot, ...], admission: Admission = LENIENT) -> None:
        self.roots = roots
        self._admission = admission
        self._memory: ScanCache = {}
        self._snapshot: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the last read."""
        return self._snapshot or self.read()

    def read(self, *, reread: bool = False, only: Sequence[str] | None = None) -> Snapshot:
        """Return the present snapshot; `reread` and `only` are those of `scan`."""
        scanned = scan(
            self.roots,
            memory=self._memory,
            admission=self._admission,
            reread=reread,
            depth=ReadDepth.HEADER,
            only=None if self._snapshot is None else only,
        )
        self._memory, self._snapshot = scanned.memory, scanned.snapshot
        return scanned.snapshot


class _Look:
    """Looks at files, one by one, and opens those that are not as they were; see `scan` for the parameters.

    `opened`, `changed` and `undecided` are as in `Scan`, of the files so far.
    """

    def __init__(self, memory: ScanCache, recent: ScanCache, *, reread: bool, depth: ReadDepth) -> None:
        self._memory = memory
        self._recent = recent
        self._reread = reread
        self._depth = depth
        self.opened = 0
        self.changed = False
        self.undecided: list[str] = []

    def at(self, found: FoundSkillFile) -> CachedSkillFile | None:
        """Return what a file says, or None where it was removed since it was found."""
        known, fresh = self._memory.get(found.directory), self._recent.get(found.directory) if self._recent else None
        if fresh is not None and is_unchanged(found, fresh):
            now = fresh
        elif known is not None and not self._reread and is_unchanged(found, known):
            now = known
        else:
            self.opened += 1
            read = _read(found, self._depth)
            if read is None:
                return None
            now = _last_good(fresh or known, read, self.undecided)
        self.changed = self.changed or known is None or (now is not known and _differ(known, now))
        return now


def finds_as_known(walk: Walk, known: Mapping[str, KnownSkillFile]) -> bool:
    """Whether a walk, which knew them, found the files that are `known`, as they were read, and no other."""
    if len(walk.as_known) + len(walk.found) != len(known):
        return False
    return all(found.directory in known and is_unchanged(found, known[found.directory]) for found in walk.found)


def is_unchanged(found: FoundSkillFile, known: KnownSkillFile) -> bool:
    """Whether a SKILL.md is as it was when it was read, by its stamp, and goes by the same name."""
    _, root, name, mtime_ns, size, ctime_ns, _ = found
    stamp = known.stamp
    if stamp.mtime_ns != mtime_ns or stamp.ctime_ns != ctime_ns or stamp.size != size:
        return False
    tick = _FINE_TICK_NS if mtime_ns % 1_000_000_000 else COARSE_TICK_NS
    return known.root == root and known.name in ("", name) and stamp.read_at_ns - mtime_ns > tick


def is_outdated(skill: Skill) -> bool:
    """Whether the SKILL.md of a skill is not as it was when it was read, or not there."""
    try:
        status = os.stat(skill_path(skill))
    except OSError:
        return True
    stamp = skill.stamp
    return (status.st_mtime_ns, status.st_size, status.st_ctime_ns) != (stamp.mtime_ns, stamp.size, stamp.ctime_ns)


def changed_entries(before: ScanCache, after: ScanCache) -> dict[str, CachedSkillFile | None]:
    """Return the entries of `after` that are other objects `before`, by directory; None for those that are gone.

    What did not change is the same object from one scan to the next.
    """
    told = changes_between(before, after)
    if told is not None:
        return told
    if len(before) <= len(after) and all(map(is_, before, after)):
        # All that was there is, in its place, and what is new comes behind it.
        paths, entries = list(after), list(after.values())
        replaced = compress(count(), map(is_not, before.values(), entries))
        return {paths[at]: entries[at] for at in chain(replaced, range(len(before), len(after)))}
    known = before.get
    changed: dict[str, CachedSkillFile | None] = {path: own for path, own in after.items() if known(path) is not own}
    if len(before) + len(changed) > len(after):
        changed.update(dict.fromkeys(before.keys() - after.keys()))
    return changed


def scan_from_cache(
    roots: tuple[SkillRoot, ...],
    *,
    memory: ScanCache,
    admission: Admission = LENIENT,
    problems: Sequence[WalkProblem] = (),
    ignored: Ignored | None = None,
    began: float | None = None,
    unavailable: Sequence[UnavailableRoot] = (),
    before: Scan | None = None,
) -> Snapshot:
    """Return the snapshot of the cached files under `roots`, without accessing any file; see `scan` for `before`."""
    began = time.perf_counter() if began is None else began
    own = {root.path for root in roots}

    def report(found: int, refused: Iterable[Refused]) -> ScanReport:
        return scan_report(roots, found, refused, problems, ignored or Ignored(), began=began, unavailable=unavailable)

    if before is not None and before.admission is admission and before.snapshot.report.roots == roots:
        changed = changed_entries(before.memory, memory)
        if len(changed) * _FEW_SHARE < len(memory):
            earlier = ((path, before.memory.get(path)) for path in changed)
            *_, lost = judged(earlier, own, admission)
            skills, refused, found = judged(changed.items(), own, admission)
            others = (one for one in before.snapshot.report.refused if one.directory not in changed)
            now = report(before.snapshot.report.found - lost + found, (*others, *refused))
            return change_snapshot(before.snapshot, changed, skills, now)
    skills, refused, found = judged(memory.items(), own, admission)
    return make_snapshot(skills, report(found, refused))


def scan_report(
    roots: tuple[SkillRoot, ...],
    found: int,
    refused: Iterable[Refused],
    problems: Sequence[WalkProblem],
    ignored: Ignored,
    *,
    began: float,
    unavailable: Sequence[UnavailableRoot] = (),
) -> ScanReport:
    """Return the report of a scan that `began` at a time of `time.perf_counter`; of shadowed skills it says nothing."""
    return ScanReport(
        roots=roots,
        found=found,
        refused=tuple(sorted(refused, key=lambda one: one.directory)),
        shadowed=(),
        problems=tuple(problems),
        ignored=ignored,
        seconds=time.perf_counter() - began,
        unavailable=tuple(unavailable),
    )


def judged(
    entries: Iterable[tuple[str, CachedSkillFile | None]], roots: Collection[str], admission: Admission
) -> tuple[list[Skill], list[Refused], int]:
    """Return the skills and the refusals among the entries below the roots at these paths, and how many these are."""
    skills: list[Skill] = []
    refused: list[Refused] = []
    found = 0
    for directory, entry in entries:
        if entry is None or entry.root not in roots:
            continue
        found += 1
        violations = admission.violations(entry.skill, entry.diagnostics, entry.shape)
        if entry.skill is None or (violations and admission.refuses(violations)):
            name = "" if entry.skill is None else entry.skill.name
            refused.append(Refused(directory, violations, entry.root, admission.reason(violations), name))
        else:
            skills.append(entry.skill)
    return skills, refused, found


def _without_others(memory: ScanCache, recent: ScanCache) -> ScanCache:
    """Return the entries of `memory` in whose place `recent` has no other."""
    return {path: entry for path, entry in memory.items() if recent.get(path, entry) is entry} if recent else memory


def _problems_and_ignored(walk: Walk, before: Scan | None) -> tuple[Sequence[WalkProblem], Ignored]:
    """Return what a walk reports, and what the scan `before` does of that which a limited walk did not look at."""
    if walk.covered is None or before is None:
        return walk.problems, walk.ignored
    report, covered = before.snapshot.report, walk.covered
    elsewhere = (one for one in report.problems if not any(is_at_or_below(one.path, path) for path in covered))
    # Paths without a skill are counted again when everything is walked.
    return tuple(dict.fromkeys((*elsewhere, *walk.problems))), report.ignored


def _unavailable(walk: Walk, known: ScanCache) -> tuple[UnavailableRoot, ...]:
    """Return the roots that had skills and hold nothing now.

    A person who removes the last skill leaves an empty directory behind; one who removes several at once says so.
    """
    found = []
    for absent in walk.absent:
        remembered = sum(1 for entry in known.values() if entry.root == absent.path)
        if remembered > (_LAST_SKILL if absent.is_empty else 0):
            found.append(UnavailableRoot(absent.path, absent.reason, remembered))
    return tuple(found)


def _told(problems: Sequence[WalkProblem], unavailable: Sequence[UnavailableRoot]) -> list[WalkProblem]:
    told = {
        root.path: WalkProblem(
            root.path,
            f"{root.reason}, and had {root.remembered:,} skill{'' if root.remembered == 1 else 's'}, which stay known "
            "and cannot be loaded",
            "mount or restore it, or run `skillhub index --forget-missing` if they are gone for good",
        )
        for root in unavailable
    }
    return [*told.values(), *(problem for problem in problems if problem.path not in told)]


def _last_good(before: CachedSkillFile | None, after: CachedSkillFile, undecided: list[str]) -> CachedSkillFile:
    """Return `before` if it was usable and the file is perhaps only half written now, and add it to `undecided`."""
    just_written = is_just_written(after.stamp.mtime_ns, after.stamp.read_at_ns)
    if before is not None and before.skill is not None and after.skill is None and just_written:
        undecided.append(before.skill.directory)
        return before
    return after


def _differ(before: CachedSkillFile, after: CachedSkillFile) -> bool:
    return (before.root, before.stamp.content_hash, before.diagnostics) != (
        after.root,
        after.stamp.content_hash,
        after.diagnostics,
    )


def entries_of(memory: ScanCache, roots: set[str]) -> ScanCache:
    """Return the entries of those roots, as nearly always all there are."""
    if set(map(_ROOT, values_at_least(memory))) <= roots:
        return memory
    return {path: entry for path, entry in memory.items() if entry.root in roots}


def _below(known: ScanCache, directories: Sequence[str]) -> set[str]:
    """Return the known directories that are at or below some of `directories`."""
    found = {directory for directory in directories if directory in known}
    others = [os.path.join(directory, "") for directory in directories if directory not in found]
    paths = sorted(known) if others else []
    for above in others:
        # Nothing is below a skill, and what is below another directory comes in a row.
        for at in range(bisect_left(paths, above), len(paths)):
            if not paths[at].startswith(above):
                break
            found.add(paths[at])
    return found


def _read(found: FoundSkillFile, depth: ReadDepth) -> CachedSkillFile | None:
    """Return what a file says, or None where it was removed since it was found."""
    read_at = time.time_ns()
    whole = depth is ReadDepth.WHOLE
    if found.size > MAX_SKILL_FILE_BYTES:
        return _unread(found, read_at, violation("file-too-large", f"the file has {found.size:,} bytes"))
    try:
        if whole:
            content = read_whole(found.directory, found.file, skill=found.name, max_bytes=MAX_SKILL_FILE_BYTES)
        else:
            content = read_start(
                found.directory, found.file, skill=found.name, first_bytes=_FIRST_BYTES, enough=header_end
            )
    except SkillHubError as error:
        if not os.path.lexists(os.path.join(found.directory, found.file)):
            return None
        return _unread(found, read_at, violation("file-unreadable", error.message))
    digest = hashlib.sha256(content).hexdigest()
    stamp = FileStamp(found.mtime_ns, found.size, digest if whole else f"header:{digest}", read_at, found.ctime_ns)
    header = content[: header_end(content, whole=True)] if whole else content
    if whole and not is_text(content):
        # The header alone may be ASCII; the instructions cannot be read.
        header = content
    parsed = parse_skill(
        header,
        directory=found.directory,
        root=found.root,
        directory_name=found.name,
        stamp=stamp,
        file_name=found.file,
    )
    skill, name = parsed.skill, found.name
    if skill is not None and skill.name == name:
        # Mostly so: one text in memory, not two.
        name = skill.name
    return CachedSkillFile(found.root, stamp, skill, parsed.diagnostics, parsed.shape, name)


def _unread(found: FoundSkillFile, read_at: int, reason: Diagnostic) -> CachedSkillFile:
    stamp = FileStamp(found.mtime_ns, found.size, "", read_at, found.ctime_ns)
    return CachedSkillFile(found.root, stamp, None, (reason,))
