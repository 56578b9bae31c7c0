"""What the sources of installed skills have now, compared with the lock.

A repository is fetched only if its ref has another commit, once for all of its skills.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, partial
from typing import TypeVar

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import SkillHubError, SkillNotFound, SourceUnreadable
from skillhub_mcp.library.candidates import Candidate, candidates
from skillhub_mcp.library.install import Incoming, refuse_unusable
from skillhub_mcp.library.sources.git import GitRepository
from skillhub_mcp.library.sources.git_tree import GitTree, RemoteRef, remote_ref
from skillhub_mcp.library.sources.opening import OpenOptions, open_source
from skillhub_mcp.library.sources.source import SkillSource, SourceKind, place_of, source_of
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import digests_in
from skillhub_mcp.locks.file_digests import digest_of, executables_of, hash_of
from skillhub_mcp.locks.lock_file import LockedSkill
from skillhub_mcp.redaction import redacted
from skillhub_mcp.skills.names import fold_name

_T = TypeVar("_T")


class SourceStanding(str, Enum):
    """How an installed skill stands to its source."""

    CURRENT = "current"
    OUTDATED = "outdated"
    # At a tag or a commit: that is what was asked for.
    PINNED = "pinned"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Compared:
    """How one skill compares with its source, whose present `commit` is empty if it has none.

    `incoming` is what an update would install: a newer version, or our digest for a skill that only npx skills has
    locked. `went_back` means that the source's commit is an ancestor of the lock's.
    """

    locked: LockedSkill
    source: str
    standing: SourceStanding
    commit: str = ""
    incoming: Incoming | None = None
    error: SkillHubError | None = None
    went_back: bool = False


class Upstreams:
    """The sources of a lock, each asked and fetched at most once. `close` ends what was fetched."""

    def __init__(self, options: OpenOptions, root: str, *, unpin: bool = False) -> None:
        self._options = options
        self._root = root
        self._unpin = unpin
        self._trees: dict[str, Tree] = {}
        self._refs: dict[str, RemoteRef] = {}
        self._errors: dict[str, SkillHubError] = {}
        self._is_ancestor = cache(GitRepository.is_ancestor)

    def close(self) -> None:
        """Close every tree."""
        for tree in self._trees.values():
            tree.close()

    def compare(self, skills: Iterable[LockedSkill]) -> Iterator[Compared]:
        """Yield how each skill compares; an error of one stops no other."""
        for locked in skills:
            shown = redacted(locked.source)
            try:
                source = source_of(locked, insecure=self._options.insecure)
                shown = str(source)
                yield self._compared(locked, source)
            except SkillNotFound:
                yield Compared(locked, shown, SourceStanding.GONE)
            except SkillHubError as error:
                yield Compared(locked, shown, SourceStanding.UNKNOWN, error=error)

    def _once(self, known: dict[str, _T], source: SkillSource, ask: Callable[[], _T]) -> _T:
        key = str(source)
        if key in self._errors:
            raise self._errors[key]
        if key not in known:
            try:
                known[key] = ask()
            except SkillHubError as error:
                self._errors[key] = error
                raise
        return known[key]

    def _compared(self, locked: LockedSkill, source: SkillSource) -> Compared:
        shown, ours = str(source), locked.ours
        if is_its_own_source(locked, self._root, self._options.working_directory):
            return Compared(locked, shown, SourceStanding.CURRENT)
        if source.kind is SourceKind.GIT:
            ref = self._once(self._refs, source, partial(remote_ref, source, self._options.git))
            if ref.is_pinned and not self._unpin:
                return Compared(locked, shown, SourceStanding.PINNED, ref.commit)
            if ref.is_pinned:
                source = replace(source, ref="")
                ref = self._once(self._refs, source, partial(remote_ref, source, self._options.git))
            if ours is not None and ref.commit == ours.commit and source.ref == locked.ref:
                return Compared(locked, shown, SourceStanding.CURRENT, ref.commit)
        tree = self._once(self._trees, source, partial(open_source, source, self._options))
        found = find_again(tree, locked)
        if found is None:
            return Compared(locked, shown, SourceStanding.GONE, tree.commit)
        refuse_unusable(found, tree)
        before = place_of(locked)
        # npx skills does not always say where in its source a skill lies.
        is_moved = found.path != before and (ours is not None or locked.skill_path != "")
        unpinned = source.ref != locked.ref
        is_current = not is_moved and not unpinned and _is_as_locked(tree, found, locked)
        if is_current and ours is not None:
            return Compared(locked, shown, SourceStanding.CURRENT, tree.commit)
        moved_from = before if is_moved else None
        incoming = replace(incoming_of(found, tree, source, locked.name), updates=True, moved_from=moved_from)
        standing = SourceStanding.CURRENT if is_current else SourceStanding.OUTDATED
        commit = "" if ours is None or self._unpin else ours.commit
        went_back = (
            isinstance(tree, GitTree)
            and commit not in ("", tree.commit)
            and self._is_ancestor(tree.repository, tree.commit, commit)
        )
        return Compared(locked, shown, standing, tree.commit, incoming, went_back=went_back)


def is_its_own_source(locked: LockedSkill, root: str, lock_directory: str) -> bool:
    """Whether a skill was locked where it was made: its source is the very directory of `root` that it lies in."""
    try:
        if source_of(locked).kind is not SourceKind.DIRECTORY:
            return False
    except SourceUnreadable:
        return False
    source = os.path.join(lock_directory, expand_home(locked.source), place_of(locked))
    return os.path.realpath(source) == os.path.realpath(os.path.join(root, locked.name))


def incoming_of(found: Candidate, tree: Tree, source: SkillSource, name: str) -> Incoming:
    """Return a skill of a tree as what is to be installed under a name."""
    source = replace(source, skills=())
    return Incoming(name, tree, found.path, source, title=found.name, description=found.description)


def find_again(tree: Tree, locked: LockedSkill) -> Candidate | None:
    """Return where a skill of a lock is in a tree: where it was, or else the one of its name; None if it is gone."""
    place = place_of(locked)
    here = candidates(tree, place, name=locked.name).skills
    if found := next((one for one in here if one.path == place), None):
        return found
    name = next(iter(dict(locked.ours.renamed if locked.ours is not None else ())), locked.name)
    named = [one for one in candidates(tree, name=locked.name).skills if fold_name(one.name) == fold_name(name)]
    return named[0] if len(named) == 1 else None


def _is_as_locked(tree: Tree, found: Candidate, locked: LockedSkill) -> bool:
    ours = locked.ours
    if found.problem:
        return False
    if ours is None:
        # Only npx skills has locked it.
        places = {file.path: file.source_path for file in found.files}
        hashed = hash_of(places, lambda path: tree.read(places[path])) if locked.computed_hash else None
        return hashed is not None and hashed == locked.computed_hash
    digests = digests_in(tree, found.files)
    if digest_of(digests) != ours.from_source:
        return False
    # Of locked edits, the lock has the bits of the edits.
    return bool(ours.origin) or executables_of(digests) == tuple(sorted(ours.executable))
