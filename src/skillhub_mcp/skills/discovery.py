"""Find SKILL.md files below the roots: a walk over directory entries that opens no file and ends at a skill."""

from __future__ import annotations

import os
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from skillhub_mcp.environment import expand_home, shell_path
from skillhub_mcp.skills.model import SKILL_FILE, Problem, Skill, is_skill_file
from skillhub_mcp.skills.names import is_utf_8
from skillhub_mcp.skills.roots import SkillRoot, Source, is_at_or_below, located

MAX_DEPTH = 6
MAX_NAMED_PER_REASON = 100
# How many directories below the depth are listed, to name the skills that are too deep.
MAX_TOO_DEEP = 200
_SKIPPED = frozenset({"node_modules", "__pycache__"})


A_ROOT = "A skills directory"
_READABLE = "make it readable, or remove it from the roots"


class FoundSkillFile(NamedTuple):
    """A SKILL.md, in any letter case (`file`), and its stat values. `name` is the directory's name, or the link's."""

    directory: str
    root: str
    name: str
    mtime_ns: int
    size: int
    ctime_ns: int
    file: str = SKILL_FILE


class SkipReason(str, Enum):
    """Why a walk skipped a path that is not at fault."""

    HIDDEN = "hidden directory"
    SKIPPED = "directory of a package manager or an interpreter"
    TOO_DEEP = f"directory more than {MAX_DEPTH} levels below the root"
    NO_SKILL = "directory without a SKILL.md"
    NO_DIRECTORY = "not a directory"


@dataclass(frozen=True, slots=True)
class Ignored:
    """The skipped paths: the count for each reason, and the first hundred paths for each."""

    counts: Mapping[SkipReason, int] = field(default_factory=dict)
    paths: Mapping[SkipReason, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of a walk. `cut` are the paths of roots with too many directories."""

    found: tuple[FoundSkillFile, ...]
    problems: tuple[Problem, ...]
    ignored: Ignored
    roots: tuple[SkillRoot, ...]
    cut: frozenset[str] = frozenset()


def walk_roots(roots: tuple[SkillRoot, ...]) -> Walk:
    """Find every SKILL.md below `roots`, in a stable order. A missing root is reported as a problem, not raised."""
    walker = _Walker(roots)
    for root in walker.roots:
        walker.walk(root)
    return walker.result()


def is_skipped_directory(name: str) -> bool:
    """Whether a walk does not descend into a directory of that name."""
    return name.startswith(".") or name in _SKIPPED


class _Walker:
    def __init__(self, roots: tuple[SkillRoot, ...]) -> None:
        self.roots = tuple(map(located, roots))
        self._root = self.roots[0] if self.roots else SkillRoot("", "")
        self._found: dict[str, FoundSkillFile] = {}  # by canonical directory
        self._problems: dict[Problem, None] = {}  # in order, each once
        self._seen: dict[str, int] = {}
        self._counts: Counter[SkipReason] = Counter()
        self._paths: dict[SkipReason, list[str]] = {}
        self._left: int | None = None
        self._cut: set[str] = set()
        self._too_deep = 0

    def walk(self, root: SkillRoot) -> None:
        unusable = _unusable_root(root)
        if unusable is not None:
            self._problems[unusable] = None
            return
        if root.optional and not os.path.lexists(root.path):
            return
        self._root = root
        if self._is_refused(root.real, root.path):
            return
        self._left = root.max_directories
        self._walk(root.real, os.path.basename(root.path), 0)
        if self._left is not None and self._left < 0:
            self._cut.add(root.path)
            reason = f"has more than {root.max_directories:,} directories; the rest was not searched"
            self._report(root.path, reason, "put the skills into a directory of their own")

    def result(self) -> Walk:
        return Walk(
            found=tuple(sorted(self._found.values(), key=lambda file: file.directory)),
            problems=tuple(self._problems),
            ignored=Ignored(dict(self._counts), {reason: tuple(paths) for reason, paths in self._paths.items()}),
            roots=self.roots,
            cut=frozenset(self._cut),
        )

    def _walk(self, directory: str, name: str, depth: int) -> None:
        found = self._found.get(directory)
        if found is not None and name == os.path.basename(directory):
            # A link under another name came first: it must not take the skill's own name from it.
            self._found[directory] = found._replace(name=name)
            return
        # A second path to a directory is walked only if it is shorter: then the walk may reach deeper than before.
        if self._seen.get(directory, MAX_DEPTH + 1) <= depth:
            return
        self._seen[directory] = depth
        if not is_utf_8(directory):
            self._report(directory, "has a name that is not UTF-8")
            return
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                return
        # Links last: the name of a skill must not depend on the order of the directory entries.
        for _, below, path in sorted(self._list(directory, name, depth)):
            # The name of a link may not be UTF-8.
            self._walk(path, below if is_utf_8(below) else os.path.basename(path), depth + 1)

    def _list(self, directory: str, name: str, depth: int) -> list[tuple[bool, str, str]]:
        """Add the skill of a directory, or else return its subdirectories as `_to_walk` does."""
        try:
            with os.scandir(directory) as listed:
                entries = list(listed)
            skill_file = _skill_file(entries)
            # Even an unusable SKILL.md makes the directory a skill: no other skill is searched for below it.
            if skill_file is not None:
                self._add(skill_file, directory, name)
                return []
            below = [one for entry in entries if (one := self._to_walk(entry, depth)) is not None]
        except OSError as error:
            # One below a root that is not there any more was removed since it was listed, which is no problem.
            if not (depth and isinstance(error, FileNotFoundError)):
                self._report(directory, error)
            return []
        if depth and not below:
            self._skip(SkipReason.NO_SKILL, directory)
        return below

    def _to_walk(self, entry: os.DirEntry[str], depth: int) -> tuple[bool, str, str] | None:
        """Return whether a directory is a link, its name and its canonical path; report an entry that is skipped."""
        if is_skipped_directory(entry.name):
            reason = SkipReason.HIDDEN if entry.name.startswith(".") else SkipReason.SKIPPED
            self._skip(reason if entry.is_dir(follow_symlinks=False) else SkipReason.NO_DIRECTORY, entry.path)
            return None
        try:
            path = _real_directory(entry)
        except OSError as error:
            # For example a link to itself, which must not hide its siblings.
            self._report(entry.path, error)
            return None
        if path is None:
            self._skip(SkipReason.NO_DIRECTORY, entry.path)
        elif not self._is_refused(path, entry.path):
            if depth < MAX_DEPTH:
                return path != entry.path, entry.name, path
            self._report_too_deep(path, entry.path)
        return None

    def _report_too_deep(self, directory: str, path: str) -> None:
        deeper = list(self._skills_at_or_below(directory))
        for skill in deeper:
            fix = "move it up, or name a directory nearer to it in SKILLS_DIR"
            self._report(skill, f"is a skill more than {MAX_DEPTH} levels below its root", fix)
        if not deeper:
            self._skip(SkipReason.TOO_DEEP, path)

    def _skills_at_or_below(self, path: str) -> Iterator[str]:
        for directory, names, files in os.walk(path):
            self._too_deep += 1
            if self._too_deep > MAX_TOO_DEEP:
                return
            names[:] = sorted(name for name in names if not is_skipped_directory(name))
            if any(map(is_skill_file, files)):
                names.clear()
                yield directory

    def _is_refused(self, directory: str, path: str) -> bool:
        """Whether a link to that canonical directory is not followed; report it unless another root has it."""
        root = self._root
        if not root.leads_out(directory):
            return False
        if any(is_at_or_below(directory, other.real) for other in self.roots if not other.within):
            return True
        if any(is_at_or_below(os.path.realpath(place), directory) for place in (expand_home("~"), root.within)):
            fix = "link to the directory of the skills instead"
            self._report(path, "is a link to a directory that holds the home or the project, and is not followed", fix)
        elif root.trust.is_awaited:
            fix = f"run `skillhub trust {shlex.quote(root.within)}` if you trust what is there"
            self._report(path, "is a link out of the project and is not followed", fix)
        else:
            return False
        return True

    def _skip(self, reason: SkipReason, path: str) -> None:
        self._counts[reason] += 1
        paths = self._paths.setdefault(reason, [])
        if len(paths) < MAX_NAMED_PER_REASON:
            paths.append(_writable(self._root.as_configured(path)))

    def _report(self, path: str, reason: str | OSError, fix: str = _READABLE) -> None:
        shown = self._root.as_configured(path)
        self._problems[_problem(shown, reason, fix, is_root=shown == self._root.path)] = None

    def _add(self, entry: os.DirEntry[str], directory: str, name: str) -> None:
        try:
            # A symlinked SKILL.md is followed here; the confined read refuses one that leads out of the skill.
            status = entry.stat()
        except OSError as error:
            # One that was removed since it was listed is no problem; a link that leads nowhere is.
            if not isinstance(error, FileNotFoundError) or os.path.lexists(entry.path):
                self._report(entry.path, error)
            return
        if not stat.S_ISREG(status.st_mode):
            self._report(entry.path, "is not a regular file", "put a file there, or remove it")
            return
        shown = self._root.as_configured(directory)
        found = FoundSkillFile(
            shown, self._root.path, name, status.st_mtime_ns, status.st_size, status.st_ctime_ns, entry.name
        )
        self._found.setdefault(directory, found)


def skill_file_in(directory: str) -> str | None:
    """Return the name of the SKILL.md in a directory, which may have other letter case; None if there is none."""
    if os.path.lexists(os.path.join(directory, SKILL_FILE)):
        return SKILL_FILE
    try:
        with os.scandir(directory) as listed:
            entry = _skill_file(list(listed))
    except OSError:
        return None
    return None if entry is None else entry.name


# Returns the directory with the files of a skill, as they were when that skill was seen. Raises SkillHubError.
FilesOf = Callable[[Skill], str]


def skill_path(skill: Skill) -> str:
    """Return the path of the skill's SKILL.md, in the letter case that it has."""
    odd = any(found.rule == "file-name" for found in skill.diagnostics)
    return os.path.join(skill.directory, (skill_file_in(skill.directory) if odd else None) or SKILL_FILE)


def own_directory(skill: Skill) -> str:
    """Return the directory that the skill was found in."""
    return skill.directory


def _skill_file(entries: Sequence[os.DirEntry[str]]) -> os.DirEntry[str] | None:
    """Return the entry that is the SKILL.md; one in other letter case only if it is a file and the first by name."""
    other: os.DirEntry[str] | None = None
    for entry in entries:
        if entry.name == SKILL_FILE:
            return entry
        is_earlier = len(entry.name) == len(SKILL_FILE) and (other is None or entry.name < other.name)
        if is_earlier and is_skill_file(entry.name) and entry.is_file():
            other = entry
    return other


def _real_directory(entry: os.DirEntry[str]) -> str | None:
    """Return the canonical path of a directory or of a link to one; None for anything else. Raises OSError."""
    if entry.is_dir(follow_symlinks=False):
        return entry.path
    return os.path.realpath(entry.path) if entry.is_symlink() and entry.is_dir() else None


def _unusable_root(root: SkillRoot) -> Problem | None:
    """Return why a root that should be there cannot be walked, or None."""
    other = "correct SKILLS_DIR" if root.source is Source.HUB else "remove the link that names it"
    if root.recorded:
        other = f"run `skillhub roots remove {shell_path(root.path)}`"
    try:
        is_directory = stat.S_ISDIR(os.stat(root.path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        if root.optional and not os.path.lexists(expand_home(root.given)):
            return None
        return _problem(root.path, "does not exist", f"create it, or {other}")
    except OSError as error:
        return _problem(root.path, error)
    if is_directory:
        return None
    return _problem(root.path, "is a file, not a directory", f"put a directory there, or {other}")


def _problem(path: str, reason: str | OSError, fix: str = _READABLE, *, is_root: bool = True) -> Problem:
    if isinstance(reason, OSError):
        reason = f"cannot be read ({reason.strerror or type(reason).__name__})"
    remote = A_ROOT if is_root else f"The directory {os.path.basename(path)!r}"
    return Problem(_writable(path), reason, fix, remote=_writable(remote))


def _writable(path: str) -> str:
    # Reports are sent as UTF-8, which cannot represent undecodable names.
    return path.encode("utf-8", "backslashreplace").decode("utf-8")
