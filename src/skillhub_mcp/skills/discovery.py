"""Where below a root are SKILL.md files? A walk over directory entries; no file is opened.

The rules (DECISIONS 9): a found skill ends the descent; hidden directories and node_modules are skipped; links
to directories are followed, cycles end, and one real directory is found once however many ways lead to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Walk:
    """One walk over all roots: what was found, and where looking failed."""

    found: list[FoundSkillFile] = field(default_factory=list)
    problems: list[WalkProblem] = field(default_factory=list)


def walk_roots(roots: tuple[SkillRoot, ...]) -> Walk:
    """Find every SKILL.md below `roots`, in a stable order. A root that is missing is a problem, not an error."""
    walk = Walk()
    seen: set[str] = set()
    for root in roots:
        walk.found.extend(_walk(root.path, root.path, os.path.basename(root.path), 0, seen, walk.problems))
    walk.found.sort(key=lambda found: found.directory)
    return walk


def _walk(
    directory: str, root: str, name: str, depth: int, seen: set[str], problems: list[WalkProblem]
) -> Iterator[FoundSkillFile]:
    if directory in seen:
        return
    seen.add(directory)
    subdirectories: list[tuple[str, str]] = []
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
                    path = _real_directory(entry)
                    if path is not None:
                        subdirectories.append((path, entry.name))
    except OSError as error:
        problems.append(WalkProblem(directory, error.strerror or type(error).__name__))
        return
    for path, subdirectory_name in subdirectories:
        if not _is_text(path):
            problems.append(WalkProblem(path, "has a name that is not UTF-8"))
            continue
        yield from _walk(path, root, subdirectory_name, depth + 1, seen, problems)


def _real_directory(entry: os.DirEntry[str]) -> str | None:
    """Return the canonical path of a directory or of a link to one; None for anything else.

    Below a canonical directory only a link can make a path that is not canonical, so only links are resolved.
    """
    if entry.is_dir(follow_symlinks=False):
        return entry.path
    return os.path.realpath(entry.path) if entry.is_symlink() and entry.is_dir() else None


def _stat_skill_file(
    entry: os.DirEntry[str], directory: str, root: str, name: str, problems: list[WalkProblem]
) -> FoundSkillFile | None:
    try:
        # A link from SKILL.md is followed here; the confined read refuses one that leaves the skill.
        status = entry.stat()
    except OSError as error:
        problems.append(WalkProblem(entry.path, error.strerror or type(error).__name__))
        return None
    if not stat.S_ISREG(status.st_mode):
        problems.append(WalkProblem(entry.path, "is not a regular file"))
        return None
    return FoundSkillFile(directory, root, name, status.st_mtime_ns, status.st_size)


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
