"""Where below a root are SKILL.md files? A walk over directory entries; no file is opened.

The rules (DECISIONS 9): a found skill ends the descent; hidden directories and node_modules are skipped; links
to directories are followed, cycles end, and one real directory is found once however many ways lead to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.roots import SkillRoot

MAX_DEPTH = 6
_SKIPPED = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class FoundSkillFile:
    """A SKILL.md and its stat values. `directory` is canonical; `name` is its directory's name as linked."""

    directory: str
    root: str
    name: str
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class WalkProblem:
    """A place that could not be looked into, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk over all roots: what was found, by directory, and where looking failed."""

    found: tuple[FoundSkillFile, ...]
    problems: tuple[WalkProblem, ...]


def walk_roots(roots: tuple[SkillRoot, ...]) -> Walk:
    """Find every SKILL.md below `roots`, in a stable order. A root that is missing is a problem, not an error."""
    found: dict[str, FoundSkillFile] = {}
    problems: dict[WalkProblem, None] = {}  # in order, each once
    seen: dict[str, int] = {}
    for root in roots:
        for file in _walk(root.path, root.path, os.path.basename(root.path), 0, seen, problems):
            found.setdefault(file.directory, file)
    return Walk(found=tuple(found[directory] for directory in sorted(found)), problems=tuple(problems))


def _walk(
    directory: str, root: str, name: str, depth: int, seen: dict[str, int], problems: dict[WalkProblem, None]
) -> Iterator[FoundSkillFile]:
    # A second way to a directory counts only where it is shorter: then it may lead deeper than the first one did.
    if seen.get(directory, MAX_DEPTH + 1) <= depth:
        return
    seen[directory] = depth
    if not _is_text(directory):
        problems[_problem(directory, "has a name that is not UTF-8")] = None
        return
    subdirectories: list[tuple[bool, str, str]] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name == SKILL_FILE:
                    found = _stat_skill_file(entry, directory, root, name, problems)
                    if found is not None:
                        yield found
                    # Even an unusable SKILL.md makes this directory a skill's own: nothing below it is another.
                    return
                if depth < MAX_DEPTH and not entry.name.startswith(".") and entry.name not in _SKIPPED:
                    path = _real_directory(entry, problems)
                    if path is not None:
                        subdirectories.append((path != entry.path, entry.name, path))
    except OSError as error:
        problems[_problem(directory, error)] = None
        return
    # Sorted, and links last: which name a skill is found by must not hang on the order the disk gives.
    for _, subdirectory_name, path in sorted(subdirectories):
        # A link's own name may be one that cannot be written down.
        name = subdirectory_name if _is_text(subdirectory_name) else os.path.basename(path)
        yield from _walk(path, root, name, depth + 1, seen, problems)


def _real_directory(entry: os.DirEntry[str], problems: dict[WalkProblem, None]) -> str | None:
    """Return the canonical path of a directory or of a link to one; None for anything else.

    Below a canonical directory only a link can make a path that is not canonical, so only links are resolved.
    """
    try:
        if entry.is_dir(follow_symlinks=False):
            return entry.path
        return os.path.realpath(entry.path) if entry.is_symlink() and entry.is_dir() else None
    except OSError as error:
        # Such as a link to itself: it must not hide its neighbours.
        problems[_problem(entry.path, error)] = None
        return None


def _stat_skill_file(
    entry: os.DirEntry[str], directory: str, root: str, name: str, problems: dict[WalkProblem, None]
) -> FoundSkillFile | None:
    try:
        # A link from SKILL.md is followed here; the confined read refuses one that leaves the skill.
        status = entry.stat()
    except OSError as error:
        problems[_problem(entry.path, error)] = None
        return None
    if not stat.S_ISREG(status.st_mode):
        problems[_problem(entry.path, "is not a regular file")] = None
        return None
    return FoundSkillFile(directory, root, name, status.st_mtime_ns, status.st_size)


def _problem(path: str, reason: str | OSError) -> WalkProblem:
    if isinstance(reason, OSError):
        reason = reason.strerror or type(reason).__name__
    # Reports travel as UTF-8, which has no place for the bytes of an undecodable name.
    return WalkProblem(path.encode("utf-8", "backslashreplace").decode("utf-8"), reason)


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
