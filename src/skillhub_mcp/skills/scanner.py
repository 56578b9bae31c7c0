"""The scan: walk the roots, read changed files (by path, mtime, ctime and size), make a snapshot."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillhub_mcp._util.wording import plural
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.discovery import (
    A_ROOT,
    FoundSkillFile,
    Ignored,
    Walk,
    skill_file_in,
    skill_path,
    walk_roots,
)
from skillhub_mcp.skills.files.content import read_start, read_whole
from skillhub_mcp.skills.frontmatter import decode, header_end
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, NO_SHAPE, FileStamp, HeaderShape, Problem, Skill
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.roots import OWN_DIRECTORY, SkillRoot, Source
from skillhub_mcp.skills.rules import Diagnostic, violation
from skillhub_mcp.skills.snapshot import Refused, ScanReport, Snapshot, UnavailableRoot

_FIRST_BYTES = 2_048

# A file written twice within one tick of the file system's clock keeps its mtime: a younger one proves nothing.
_FINE_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_000_000_000
_LAST_SKILL = 1


@dataclass(frozen=True, slots=True)
class CachedSkillFile:
    """The result of reading one SKILL.md. `name` is the name of its directory, or of the link to it."""

    root: str
    stamp: FileStamp
    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...]
    shape: HeaderShape = NO_SHAPE
    name: str = ""


ScanCache = Mapping[str, CachedSkillFile]

_FILES_PER_REPORT = 100


@dataclass(frozen=True, slots=True)
class Scan:
    """A snapshot, the cache for the next scan, and how many files were opened."""

    snapshot: Snapshot
    memory: ScanCache
    opened: int
    admission: Admission = LENIENT


def scan(
    roots: tuple[SkillRoot, ...],
    *,
    memory: ScanCache | None = None,
    admission: Admission = LENIENT,
    reread: bool = False,
    whole: bool = True,
    only: Sequence[str] | None = None,
    keep_absent: bool = False,
    before: Scan | None = None,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Scan:
    """Scan the SKILL.md files that changed since the scan `before`, or since `memory`, or only those at `only`.

    Bad files never raise. With `whole` all of a file is read and hashed, as its body is indexed, else the frontmatter.
    """
    began = time.perf_counter()
    own = {root.path for root in roots}
    if memory is None:
        memory = {} if before is None else before.memory
    known = {path: entry for path, entry in memory.items() if entry.root in own}
    part = None if only is None or before is None else _walk_known(before.snapshot.report, roots, known, only)
    walk = walk_roots(roots) if part is None else part
    seen: dict[str, CachedSkillFile] = {}
    opened = 0
    for number, found in enumerate(walk.found):
        if number % _FILES_PER_REPORT == 0:
            on_progress(number, len(walk.found))
        before_it = memory.get(found.directory)
        if before_it is not None and not reread and _is_unchanged(found, before_it):
            seen[found.directory] = before_it
            continue
        opened += 1
        if (now := _read(found, whole=whole)) is not None:
            seen[found.directory] = now
    on_progress(len(walk.found), len(walk.found))
    unavailable: Sequence[UnavailableRoot] = ()
    if part is not None and before is not None:
        unavailable = before.snapshot.report.unavailable
    elif keep_absent:
        unavailable = _unavailable(walk.roots, known)
    away = {root.path for root in unavailable}
    looked_at = known.keys() if part is None else {found.directory for found in part.found}
    kept = {path: entry for path, entry in known.items() if path not in looked_at or entry.root in away}
    # In one order always.
    after = dict(sorted({**kept, **seen}.items()))
    snapshot = scan_from_cache(
        walk.roots,
        memory=after,
        admission=admission,
        problems=_with_unavailable(walk.problems, unavailable),
        ignored=walk.ignored,
        began=began,
        unavailable=unavailable,
    )
    return Scan(snapshot, after, opened, admission)


def read_snapshot(roots: tuple[SkillRoot, ...], admission: Admission = LENIENT) -> Snapshot:
    """Return the skills below some roots, reading headers only, for a caller without a hub."""
    return scan(roots, admission=admission, whole=False).snapshot


def _is_unchanged(found: FoundSkillFile, known: CachedSkillFile) -> bool:
    """Whether a SKILL.md is as it was when it was read, by its stamp, and has the same name and root."""
    stamp = known.stamp
    if (stamp.mtime_ns, stamp.ctime_ns, stamp.size) != (found.mtime_ns, found.ctime_ns, found.size):
        return False
    tick = _FINE_TICK_NS if found.mtime_ns % 1_000_000_000 else _COARSE_TICK_NS
    is_settled = stamp.read_at_ns - found.mtime_ns > tick
    return is_settled and known.root == found.root and known.name in ("", found.name)


def is_outdated(skill: Skill) -> bool:
    """Whether the SKILL.md of a skill is not as it was when it was read, or not there."""
    try:
        status = os.stat(skill_path(skill))
    except OSError:
        return True
    stamp = skill.stamp
    return (status.st_mtime_ns, status.st_size, status.st_ctime_ns) != (stamp.mtime_ns, stamp.size, stamp.ctime_ns)


def scan_from_cache(
    roots: tuple[SkillRoot, ...],
    *,
    memory: ScanCache,
    admission: Admission = LENIENT,
    problems: Sequence[Problem] = (),
    ignored: Ignored | None = None,
    began: float | None = None,
    unavailable: Sequence[UnavailableRoot] = (),
) -> Snapshot:
    """Return the snapshot of the cached files under `roots`, without accessing any file."""
    began = time.perf_counter() if began is None else began
    own = {root.path: root for root in roots}
    skills: list[Skill] = []
    refused: list[Refused] = []
    found = 0
    for directory, entry in memory.items():
        root = own.get(entry.root)
        if root is None or (root.trust.is_awaited and root.leads_out(root.resolved(directory))):
            continue
        found += 1
        violations = admission.violations(entry.skill, entry.diagnostics, entry.shape)
        if entry.skill is None or (violations and admission.refuses(violations)):
            name = "" if entry.skill is None else entry.skill.name
            refused.append(Refused(directory, violations, entry.root, admission.reason(violations), name))
        else:
            skill, source = entry.skill, root.source.value
            is_as_read = (skill.trust, skill.source) == (root.trust, source)
            skills.append(skill if is_as_read else replace(skill, trust=root.trust, source=source))
    report = ScanReport(
        roots=roots,
        found=found,
        refused=tuple(sorted(refused, key=lambda one: one.directory)),
        problems=tuple(problems),
        ignored=ignored or Ignored(),
        seconds=time.perf_counter() - began,
        unavailable=tuple(unavailable),
    )
    return Snapshot(tuple(sorted(skills, key=lambda skill: skill.directory)), report)


def _walk_known(
    before: ScanReport, roots: tuple[SkillRoot, ...], known: ScanCache, paths: Sequence[str]
) -> Walk | None:
    """Return a walk over only the known skills that the paths lie in; None if a skill may have come or gone."""
    if [(root.path, root.trust) for root in before.roots] != [(root.path, root.trust) for root in roots]:
        return None
    found: dict[str, FoundSkillFile] = {}
    for path in paths:
        place = Path(os.path.abspath(path))
        directory = next((above for above in map(str, (place, *place.parents)) if above in known), None)
        file = None if directory is None else skill_file_in(directory)
        if directory is None or file is None or os.path.islink(directory):
            return None
        try:
            status = os.stat(os.path.join(directory, file))
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        root, name = known[directory].root, known[directory].name
        found[directory] = FoundSkillFile(
            directory, root, name, status.st_mtime_ns, status.st_size, status.st_ctime_ns, file
        )
    return Walk(tuple(found.values()), before.problems, before.ignored, before.roots)


def _unavailable(roots: Sequence[SkillRoot], known: ScanCache) -> tuple[UnavailableRoot, ...]:
    """Return the hub's roots that had skills and hold nothing now, unless only the last skill was removed."""
    found = []
    counts = Counter(entry.root for entry in known.values())
    for root in roots:
        remembered = counts[root.path]
        if root.source is not Source.HUB or not remembered:
            continue
        try:
            # The hub's own directory is left in a root that the hub itself has emptied.
            names = [name for name in os.listdir(root.real) if not name.startswith(".") or name == OWN_DIRECTORY]
            reason = "is empty"
            is_away = not names and remembered > _LAST_SKILL
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            reason = "is missing" if missing else f"cannot be read ({error.strerror or type(error).__name__})"
            is_away = True
        if is_away:
            found.append(UnavailableRoot(root.path, reason, remembered))
    return tuple(found)


def _with_unavailable(problems: Sequence[Problem], unavailable: Sequence[UnavailableRoot]) -> list[Problem]:
    known = {
        root.path: Problem(
            root.path,
            f"{root.reason}, and had {plural(root.remembered, 'skill')}, which stay known and cannot be loaded",
            "mount or restore it, or run `skillhub index --forget` with its path if they are gone for good",
            remote=A_ROOT,
        )
        for root in unavailable
    }
    return [*known.values(), *(problem for problem in problems if problem.subject not in known)]


def _read(found: FoundSkillFile, *, whole: bool) -> CachedSkillFile | None:
    """Return what a file says, or None where it was removed since it was found."""
    read_at = time.time_ns()
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
    if whole and decode(content)[0] is None:
        # The header alone may be ASCII; the instructions cannot be read.
        header = content
    parsed = parse_skill(
        header, directory=found.directory, root=found.root, directory_name=found.name, stamp=stamp, file_name=found.file
    )
    return CachedSkillFile(found.root, stamp, parsed.skill, parsed.diagnostics, parsed.shape, found.name)


def _unread(found: FoundSkillFile, read_at: int, reason: Diagnostic) -> CachedSkillFile:
    stamp = FileStamp(found.mtime_ns, found.size, "", read_at, found.ctime_ns)
    return CachedSkillFile(found.root, stamp, None, (reason,))
