"""What is published: the skills that this hub serves, by keys that are the same everywhere, and their files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

from skillhub_mcp.errors import PathNotAllowed, SkillFileNotFound, SkillHubError
from skillhub_mcp.index.keys import free_label, make_key
from skillhub_mcp.index.state_file import IndexState
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.files import list_files, read_whole
from skillhub_mcp.skills.files.paths import path_problem
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import is_at_or_below
from skillhub_mcp.skills.scanner import CachedSkillFile
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.store.tables import StoredFile
from skillhub_mcp.store.targets import digest_of

NOT_AS_LOCKED = "is not as it was locked"
_MOST_FILES = 512
_MOST_FILE_BYTES = 64 * 1024 * 1024
_MOST_BYTES = 256 * 1024 * 1024
_NOT_LISTED = frozenset({".git", "node_modules", "__pycache__"})


class NotPublished(NamedTuple):
    """What is not published and why: a whole skill, or with a `path`, one of its files or directories."""

    skill: str
    path: str
    reason: str


class SkillToStore(NamedTuple):
    """A skill with its published key, the label of its root, and the key of its row in the index."""

    skill: Skill
    key: str
    label: str
    row: str
    entry: CachedSkillFile


@dataclass(frozen=True)
class LibraryToStore:
    """Skills by key, the source of each of their roots by label, and what is left out.

    `table` is the version of the index that has the skills, and `as_locked` that of the policy.
    """

    skills: Sequence[SkillToStore]
    roots: Mapping[str, str]
    left_out: Sequence[NotPublished]
    table: TableVersion
    as_locked: Callable[[Skill], AbstractContextManager[None]]


def library_to_store(snapshot: Snapshot, policy: Policy, state: IndexState, table: TableVersion) -> LibraryToStore:
    """Return what `policy` serves of a snapshot, except what awaits trust. Shadowed skills are published too.

    `state` is that of the index of the snapshot, and `table` its version.
    """
    report = snapshot.report
    labels = {path: root.label for path, root in state.roots.items()}
    hashes = state.hashes
    rows = dict(zip(state.keys.directories(hashes), hashes, strict=True))
    entries = state.memory_of([root.path for root in report.roots])
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
        row, entry = rows.get(skill.directory), entries.get(skill.directory)
        reason = _reason(skill, policy)
        if reason is not None or row is None or entry is None:
            left_out.append(NotPublished(skill.name, "", reason or "is not in the index"))
            continue
        label = labels[skill.root]
        key = _key(skill, label, skills)
        skills[key] = SkillToStore(skill, key, label, row, entry)
    used = {one.label for one in skills.values()}
    return LibraryToStore(
        skills=[skills[key] for key in sorted(skills)],
        roots={label: root.source.value for root in report.roots if (label := labels[root.path]) in used},
        left_out=left_out,
        table=table,
        as_locked=policy.as_locked,
    )


def _reason(skill: Skill, policy: Policy) -> str | None:
    availability = Availability.UNTRUSTED if skill.awaits_trust else policy.availability(skill)
    try:
        if policy.audit is not None and policy.audit.withholds(skill, now=True) is not None:
            availability = Availability.WITHHELD
    except SkillHubError as error:
        return f"cannot be audited: {error.message}"
    if availability is not Availability.ON:
        return f"is {availability.value}"
    return None if policy.is_as_locked(skill) else NOT_AS_LOCKED


def _key(skill: Skill, label: str, taken: Mapping[str, object]) -> str:
    if is_at_or_below(skill.directory, skill.root):
        return make_key(label, skill.root, skill.directory)
    # A link leads out of the root: where to is this machine's own affair.
    return free_label(f"{label}/{os.path.basename(skill.directory)}", taken)


def contents_of(directory: str, *, name: str, dotfiles: bool) -> Iterator[tuple[StoredFile, bytes] | NotPublished]:
    """Yield the files of the skill in `directory` with their bytes, and those that are left out."""
    left = _MOST_BYTES
    listed, _ = list_files(directory, serve_dotfiles=dotfiles, max_files=_MOST_FILES)
    paths = [file.path for file in listed if _NOT_LISTED.isdisjoint(file.path.split("/"))]
    for path in paths:
        try:
            most = min(_MOST_FILE_BYTES, left)
            content = read_whole(directory, path, skill=name, max_bytes=most, serve_dotfiles=dotfiles)
            mode = os.stat(os.path.join(directory, path)).st_mode
        except (PathNotAllowed, SkillFileNotFound) as error:
            yield NotPublished(name, path, error.reason)
        except OSError as error:
            yield NotPublished(name, path, f"cannot be read ({error.strerror})")
        else:
            left -= len(content)
            yield StoredFile(path, digest_of([content]), len(content), bool(mode & stat.S_IXUSR)), content
    for place, directories, names in os.walk(directory):
        directories[:] = [
            one for one in directories if one not in _NOT_LISTED and (dotfiles or not one.startswith("."))
        ]
        for path in (os.path.relpath(os.path.join(place, one), directory) for one in sorted(names)):
            if path not in paths:
                reason = path_problem(path, serve_dotfiles=dotfiles)
                yield NotPublished(name, path, reason or f"is not served, or beyond {_MOST_FILES:,} files")
