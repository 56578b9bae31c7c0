"""What is published: the skills that this hub serves, by keys that are the same everywhere, and their files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from skillhub_mcp.errors import PathNotAllowed, SkillFileNotFound, SkillHubError
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.files.paths import path_problem
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import is_at_or_below
from skillhub_mcp.skills.scanner import CachedSkillFile
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.store.records import StoredRoot

NOT_AS_LOCKED = "is not as it was locked"
_REASONS = {
    Availability.OFF: "is switched off",
    Availability.DENIED: "is denied by a rule",
    Availability.FILTERED: "is left out by a filter",
    Availability.UNTRUSTED: "awaits trust",
    Availability.UNDECIDED: "belongs to a project whose rules cannot be read",
    Availability.WITHHELD: "is withheld by the audit",
    Availability.CHANGED: NOT_AS_LOCKED,
}
_MOST_FILES = 512
_MOST_FILE_BYTES = 64 * 1024 * 1024
_MOST_BYTES = 256 * 1024 * 1024
_NEVER = {
    ".git": "is Git's own directory",
    "__pycache__": "is made by Python",
    "node_modules": "is installed, not written",
}


@dataclass(frozen=True, slots=True)
class FileToStore:
    """A file that was read: its path relative to the skill, its bytes, and whether its owner may execute it."""

    path: str
    content: bytes
    executable: bool


@dataclass(frozen=True, slots=True)
class NotPublished:
    """What is not published and why: a whole skill, or with a `path`, one of its files or directories."""

    skill: str
    path: str
    reason: str


@dataclass(frozen=True)
class IndexToStore:
    """One version of the index that has the skills: its table and its embedder.

    `labels` are those of roots by path, `rows` the keys of rows by directory, and `entries` what was read from each
    SKILL.md.
    """

    table: TableVersion
    embedding: str
    labels: Mapping[str, str]
    rows: Mapping[str, str]
    entries: Mapping[str, CachedSkillFile]


@dataclass(frozen=True, slots=True)
class SkillToStore:
    """A skill with its published key, the label of its root, and the key of its row in the index."""

    skill: Skill
    key: str
    label: str
    row: str
    entry: CachedSkillFile


@dataclass(frozen=True)
class LibraryToStore:
    """Skills by key, their roots in order, and what is left out, with its reasons.

    `as_locked` checks a skill's lock around reading its files: see `Policy.as_locked`.
    """

    skills: Sequence[SkillToStore]
    roots: Sequence[StoredRoot]
    index: IndexToStore
    left_out: Sequence[NotPublished]
    as_locked: Callable[[Skill], AbstractContextManager[None]]


def library_to_store(snapshot: Snapshot, policy: Policy, index: IndexToStore) -> LibraryToStore:
    """Return what is published of a snapshot: what `policy` serves, except what awaits trust.

    A shadowed skill is published too: readers have filters of their own.
    """
    report = snapshot.report
    # Paths of this machine stay here: a skill that could not be read is named by its directory.
    left_out = [
        NotPublished(os.path.basename(one.directory), "", f"is refused: {one.reason.rule}, {one.reason.message}")
        for one in report.refused
    ]
    left_out += [NotPublished(os.path.basename(one.path), "", one.reason) for one in report.problems]
    skills: dict[str, SkillToStore] = {}
    # What lies below its root gets its key before what only a link leads to.
    for skill in sorted(
        snapshot.everything, key=lambda one: (not is_at_or_below(one.directory, one.root), one.directory)
    ):
        row, entry = index.rows.get(skill.directory), index.entries.get(skill.directory)
        reason = _reason(skill, policy)
        if reason is not None or row is None or entry is None:
            left_out.append(NotPublished(skill.name, "", reason or "is not in the index"))
            continue
        label = index.labels[skill.root]
        key = _key(skill, label, skills)
        skills[key] = SkillToStore(skill, key, label, row, entry)
    used = {one.label for one in skills.values()}
    roots = [StoredRoot(index.labels[root.path], root.source.value) for root in report.roots]
    return LibraryToStore(
        [skills[key] for key in sorted(skills)],
        [root for root in roots if root.label in used],
        index,
        left_out,
        policy.as_locked,
    )


def _reason(skill: Skill, policy: Policy) -> str | None:
    availability = Availability.UNTRUSTED if skill.awaits_trust else policy.availability(skill)
    if availability is not Availability.ON:
        return _REASONS[availability]
    try:
        if policy.audit is not None and policy.audit.withholds(skill, now=True) is not None:
            return _REASONS[Availability.WITHHELD]
    except SkillHubError as error:
        return f"cannot be audited: {error.message}"
    return None if policy.is_as_locked(skill) else NOT_AS_LOCKED


def _key(skill: Skill, label: str, taken: Mapping[str, object]) -> str:
    if skill.directory == skill.root:
        return label
    if is_at_or_below(skill.directory, skill.root):
        return f"{label}/{os.path.relpath(skill.directory, skill.root).replace(os.sep, '/')}"
    # A link leads out of the root: where to is this machine's own affair.
    key = first = f"{label}/{os.path.basename(skill.directory)}"
    number = 1
    while key in taken:
        number += 1
        key = f"{first}-{number}"
    return key


def contents_of(
    directory: str, *, name: str, dotfiles: bool, most_files: int = _MOST_FILES, most_bytes: int = _MOST_BYTES
) -> Iterator[FileToStore | NotPublished]:
    """Yield the files of the skill in `directory`, and what is left out.

    Links are followed within the skill, not out of it, and not to directories.
    """
    files, left = 0, most_bytes
    for path, reason in _paths(directory, dotfiles):
        if reason is not None:
            yield NotPublished(name, path, reason)
            continue
        if files == most_files:
            yield NotPublished(name, path, f"is beyond {most_files:,} files, and so is what follows")
            return
        try:
            most = min(_MOST_FILE_BYTES, left)
            content = read_whole(directory, path, skill=name, max_bytes=most, serve_dotfiles=dotfiles)
            mode = os.stat(os.path.join(directory, path)).st_mode
        except (PathNotAllowed, SkillFileNotFound) as error:
            yield NotPublished(name, path, error.reason)
        except OSError as error:
            yield NotPublished(name, path, f"cannot be read ({error.strerror})")
        else:
            files, left = files + 1, left - len(content)
            yield FileToStore(path, content, bool(mode & stat.S_IXUSR))


def _paths(directory: str, dotfiles: bool) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each file, with None, and of whatever is left out, with the reason."""
    unread: list[OSError] = []
    for place, directories, names in os.walk(directory, onerror=unread.append):
        below = os.path.relpath(place, directory).replace(os.sep, "/")
        entered = []
        for name in sorted([*directories, *names]):
            path = name if below == "." else f"{below}/{name}"
            is_directory = name in directories and not os.path.islink(os.path.join(place, name))
            reason = _NEVER.get(name) if is_directory else None
            reason = reason or path_problem(path, serve_dotfiles=dotfiles)
            if "\\" in name:
                reason = "has a name that no path can have everywhere"
            if reason is None and is_directory:
                entered.append(name)
            else:
                yield path, reason
        directories[:] = entered
    for error in unread:
        yield os.path.relpath(error.filename, directory).replace(os.sep, "/"), f"cannot be read ({error.strerror})"
