"""Where below a root are SKILL.md files? A walk over directory entries; no file is opened.

The rules (DECISIONS 9): a found skill ends the descent; hidden directories and node_modules are skipped; links
to directories are followed, cycles end, and one real directory is found once however many ways lead to it.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.roots import SkillRoot, Source

MAX_DEPTH = 6
MAX_NAMED_PER_REASON = 100
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


class SkipReason(str, Enum):
    """Why a walk passed something by that is no fault of anyone's (seed 003 §3.2)."""

    HIDDEN = "hidden directory"
    SKIPPED = "directory of a package manager or an interpreter"
    TOO_DEEP = f"directory more than {MAX_DEPTH} levels below the root"
    NO_SKILL = "directory without a SKILL.md"
    NO_DIRECTORY = "not a directory"


@dataclass(frozen=True, slots=True)
class Ignored:
    """What a walk passed by: how many for each reason, and the paths of the first hundred for each."""

    counts: Mapping[SkipReason, int] = field(default_factory=dict)
    paths: Mapping[SkipReason, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk over all roots: what was found, by directory, where looking failed, and what was passed by.

    `covered` are the canonical directories that were walked, where the walk was limited to some.
    """

    found: tuple[FoundSkillFile, ...]
    problems: tuple[WalkProblem, ...]
    ignored: Ignored
    covered: tuple[str, ...] | None = None


def walk_roots(roots: tuple[SkillRoot, ...]) -> Walk:
    """Find every SKILL.md below `roots`, in a stable order. A root that is missing is a problem, not an error."""
    walker = _Walker()
    for root in roots:
        walker.walk(root, root.path, os.path.basename(root.path), 0)
    return walker.outcome()


def walk_changes(roots: tuple[SkillRoot, ...], changes: Sequence[str], known: Collection[str]) -> Walk:
    """Find every SKILL.md at or around the paths in `changes` alone; `known` are the skill directories so far.

    What lies elsewhere is not looked at. A path outside every root, or one that a whole walk would skip, is nothing.
    Only where a change may concern a skill that is linked in, the walk is a whole one: such a skill is known by where
    it lies, and no longer by the link that led there.
    """
    # A change may be named by any way that leads to it.
    paths = list(
        dict.fromkeys(path for change in changes for path in (os.path.abspath(change), os.path.realpath(change)))
    )
    if _may_concern_links(roots, paths, known):
        return walk_roots(roots)
    walker = _Walker()
    covered: dict[str, None] = {}
    for root in roots:
        starts = (_start(root, path, known) for path in paths)
        for start, depth in sorted({start for start in starts if start is not None}):
            directory = os.path.realpath(start)
            covered.update({start: None, directory: None})
            if os.path.isdir(directory):
                walker.walk(root, directory, os.path.basename(start), depth)
    return walker.outcome(covered=tuple(covered))


def _may_concern_links(roots: tuple[SkillRoot, ...], paths: Sequence[str], known: Collection[str]) -> bool:
    # Within a skill there are no links to others; whatever else changed may have been one, or have held one.
    loose = [path for path in paths if not (_is_plainly_below(roots, path) and _is_within_one(path, known))]
    if not loose:
        return False
    linked = [directory for directory in known if not _is_plainly_below(roots, directory)]
    return bool(linked) and any(
        _is_plainly_below(roots, path)
        or is_at_or_below(path, directory)
        or is_at_or_below(directory, os.path.dirname(path))
        for path in loose
        for directory in linked
    )


def _is_within_one(path: str, directories: Collection[str]) -> bool:
    while path not in directories:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True


def _is_plainly_below(roots: tuple[SkillRoot, ...], path: str) -> bool:
    below = (_names_below(root, path) for root in roots)
    return any(names is not None and not any(map(_is_skipped, names)) for names in below)


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED


def is_at_or_below(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies in it, by their names alone."""
    return path == directory or path.startswith(os.path.join(directory, ""))


def _names_below(root: SkillRoot, path: str) -> list[str] | None:
    """Return the names that lead from a root to a path, or None for one that lies elsewhere."""
    for above in (root.path, os.path.abspath(os.path.expanduser(root.given))):
        if path == above:
            return []
        below = os.path.join(above, "")
        if path.startswith(below):
            return path.removeprefix(below).split(os.sep)
    return None


def _start(root: SkillRoot, path: str, known: Collection[str]) -> tuple[str, int] | None:
    """Return the directory to walk for one changed path and its depth below the root, or None."""
    names = _names_below(root, path)
    if names is None:
        return None
    start = root.path
    for depth, name in enumerate(names, 1):
        if start in known or os.path.lexists(os.path.join(start, SKILL_FILE)):
            return start, depth - 1
        if _is_skipped(name) or depth > MAX_DEPTH:
            return None
        start = os.path.join(start, name)
        if not os.path.isdir(start):
            # Gone, or a file beside the skills: there is nothing to walk, and what was known below it goes.
            return start, depth
    return start, len(names)


class _Walker:
    def __init__(self) -> None:
        self._found: dict[str, FoundSkillFile] = {}
        self._problems: dict[WalkProblem, None] = {}  # in order, each once
        self._seen: dict[str, int] = {}
        self._counts: Counter[SkipReason] = Counter()
        self._paths: dict[SkipReason, list[str]] = {}
        self._left: int | None = None

    def walk(self, root: SkillRoot, directory: str, name: str, depth: int) -> None:
        if root.source is not Source.HUB and not os.path.lexists(root.path):
            # Most projects and most people have none; a directory that someone set is another matter.
            return
        self._left = root.max_directories
        for file in self._walk(directory, root.path, name, depth):
            self._found.setdefault(file.directory, file)
        if self._left is not None and self._left < 0:
            bound = f"holds more than {root.max_directories:,} directories: the rest was not looked at"
            self._problems[_problem(root.path, bound)] = None

    def outcome(self, covered: tuple[str, ...] | None = None) -> Walk:
        return Walk(
            found=tuple(self._found[directory] for directory in sorted(self._found)),
            problems=tuple(self._problems),
            ignored=Ignored(dict(self._counts), {reason: tuple(paths) for reason, paths in self._paths.items()}),
            covered=covered,
        )

    def _walk(self, directory: str, root: str, name: str, depth: int) -> Iterator[FoundSkillFile]:
        # A second way to a directory counts only where it is shorter: then it may lead deeper than the first one did.
        if self._seen.get(directory, MAX_DEPTH + 1) <= depth:
            return
        self._seen[directory] = depth
        if not _is_text(directory):
            self._problems[_problem(directory, "has a name that is not UTF-8")] = None
            return
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                return
        entry, subdirectories = self._list(directory, depth)
        if entry is not None:
            # Even an unusable SKILL.md makes this directory a skill's own: nothing below it is another.
            found = self._stat_skill_file(entry, directory, root, name)
            if found is not None:
                yield found
            return
        # Sorted, and links last: which name a skill is found by must not hang on the order the disk gives.
        for _, subdirectory_name, path in sorted(subdirectories):
            # A link's own name may be one that cannot be written down.
            name = subdirectory_name if _is_text(subdirectory_name) else os.path.basename(path)
            yield from self._walk(path, root, name, depth + 1)

    def _list(self, directory: str, depth: int) -> tuple[os.DirEntry[str] | None, list[tuple[bool, str, str]]]:
        """Return the entry of a directory's SKILL.md, or else the directories in it that are to be walked."""
        subdirectories: list[tuple[bool, str, str]] = []
        passed: list[tuple[SkipReason, str]] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.name == SKILL_FILE:
                        return entry, []
                    self._sort(entry, depth, subdirectories, passed)
        except OSError as error:
            self._problems[_problem(directory, error)] = None
            return None, []
        for reason, path in passed:
            self._pass_by(reason, path)
        if not subdirectories and depth:
            self._pass_by(SkipReason.NO_SKILL, directory)
        return None, subdirectories

    def _sort(
        self,
        entry: os.DirEntry[str],
        depth: int,
        subdirectories: list[tuple[bool, str, str]],
        passed: list[tuple[SkipReason, str]],
    ) -> None:
        """Put an entry among the directories to walk, or among what is passed by."""
        if entry.name[0] == "." or entry.name in _SKIPPED:
            reason = SkipReason.HIDDEN if entry.name[0] == "." else SkipReason.SKIPPED
            passed.append((reason if entry.is_dir(follow_symlinks=False) else SkipReason.NO_DIRECTORY, entry.path))
            return
        try:
            path = _real_directory(entry)
        except OSError as error:
            # Such as a link to itself: it must not hide its neighbours.
            self._problems[_problem(entry.path, error)] = None
            return
        if path is None:
            passed.append((SkipReason.NO_DIRECTORY, entry.path))
        elif depth >= MAX_DEPTH:
            passed.append((SkipReason.TOO_DEEP, entry.path))
        else:
            subdirectories.append((path != entry.path, entry.name, path))

    def _pass_by(self, reason: SkipReason, path: str) -> None:
        self._counts[reason] += 1
        paths = self._paths.setdefault(reason, [])
        if len(paths) < MAX_NAMED_PER_REASON:
            paths.append(_writable(path))

    def _stat_skill_file(self, entry: os.DirEntry[str], directory: str, root: str, name: str) -> FoundSkillFile | None:
        try:
            # A link from SKILL.md is followed here; the confined read refuses one that leaves the skill.
            status = entry.stat()
        except OSError as error:
            self._problems[_problem(entry.path, error)] = None
            return None
        if not stat.S_ISREG(status.st_mode):
            self._problems[_problem(entry.path, "is not a regular file")] = None
            return None
        return FoundSkillFile(directory, root, name, status.st_mtime_ns, status.st_size)


def _real_directory(entry: os.DirEntry[str]) -> str | None:
    """Return the canonical path of a directory or of a link to one; None for anything else. Raises OSError.

    Below a canonical directory only a link can make a path that is not canonical, so only links are resolved.
    """
    if entry.is_dir(follow_symlinks=False):
        return entry.path
    return os.path.realpath(entry.path) if entry.is_symlink() and entry.is_dir() else None


def _problem(path: str, reason: str | OSError) -> WalkProblem:
    if isinstance(reason, OSError):
        reason = reason.strerror or type(reason).__name__
    return WalkProblem(_writable(path), reason)


def _writable(path: str) -> str:
    # Reports travel as UTF-8, which has no place for the bytes of an undecodable name.
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
