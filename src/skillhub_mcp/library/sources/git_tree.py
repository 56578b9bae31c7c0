"""A commit of a repository as a tree: listed first, then archived, never checked out."""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.bounds import BOUNDS, in_mib
from skillhub_mcp.library.sources.git import GitOptions, GitRepository
from skillhub_mcp.library.sources.git_refs import RemoteRef, asked_for, parse_refs, settle
from skillhub_mcp.library.sources.source import SkillSource
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.suggestions import near_names

_SHA1_DIGITS = 40
_MAX_TARGET_BYTES = 4_096
_PIECE = 64 * 1024
_ENTRY = re.compile(rb"(\d{6}) (\w+) ([0-9a-f]+) +(-|\d+)\t(.*)", re.DOTALL)
_EXECUTABLE = 0o111
_LINK_MODE = b"120000"


@dataclass(frozen=True, slots=True)
class _Listed:
    entries: tuple[TreeEntry, ...]
    # The id of each directory.
    trees: Mapping[str, str]


class GitTree:
    """A commit of a repository. Implements `Tree`; `close` removes the temporary repository."""

    def __init__(self, repository: GitRepository, source: SkillSource, ref: RemoteRef, listed: _Listed) -> None:
        self.repository = repository
        self.source = source
        self.ref = ref
        self._trees = listed.trees
        self._file = tempfile.TemporaryFile(dir=repository.directory)  # noqa: SIM115 - closed with the tree
        try:
            # Each file has a header, and is padded to whole blocks.
            most = BOUNDS.source_bytes + 4 * tarfile.BLOCKSIZE * BOUNDS.source_entries
            repository.archive(ref.commit, self._file, most_bytes=most)
            self._tar = tarfile.TarFile(fileobj=self._file, encoding="utf-8", errors="surrogateescape")
            self._members = {member.name: member for member in self._tar}
        except BaseException:
            self._file.close()
            raise
        self.entries: Sequence[TreeEntry] = tuple(map(self._with_target, listed.entries))

    @property
    def commit(self) -> str:
        """The commit's id."""
        return self.ref.commit

    def tree_id(self, path: str) -> str:
        """Return the id of the directory at `path`, empty where there is none."""
        return self._trees.get(path, "")

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of the file at `path` in pieces. Raises SourceUnreachable."""
        member = self._members.get(path)
        file = self._tar.extractfile(member) if member is not None and member.isreg() else None
        if file is None:
            raise SourceUnreachable(self.repository.shown, f"has no file {path!r}")
        return iter(partial(file.read, _PIECE), b"")

    def went_back_from(self, commit: str) -> bool:
        """Whether this commit is older than `commit` and an ancestor of it; False if that is not known."""
        return commit != self.commit and self.repository.is_ancestor(self.commit, commit)

    def close(self) -> None:
        """Remove the repository."""
        self._file.close()
        self.repository.close()

    def _with_target(self, entry: TreeEntry) -> TreeEntry:
        if entry.kind is not TreeEntryKind.LINK:
            return entry
        if entry.size > _MAX_TARGET_BYTES:
            return TreeEntry(entry.path, TreeEntryKind.OTHER, entry.size)
        return replace(entry, target=self._members[entry.path].linkname)


def open_git(source: SkillSource, options: GitOptions | None = None) -> GitTree:
    """Fetch what a source means of its repository, and return it as a tree, which must be closed.

    Raises SourceUnreachable, with near refs or paths, ArchiveRefused for what has too many files, and
    CommandUnavailable where there is no git.
    """
    repository = GitRepository(source.location, str(source), options or GitOptions())
    try:
        return _opened(source, repository)
    except BaseException:
        repository.close()
        raise


def remote_ref(source: SkillSource, options: GitOptions | None = None) -> RemoteRef:
    """Return the ref that a source means and the commit that it has now, fetching nothing else.

    Raises SourceUnreachable, and CommandUnavailable where there is no git.
    """
    repository = GitRepository(source.location, str(source), options or GitOptions())
    try:
        return _settled(source, repository)[1]
    finally:
        repository.close()


def _opened(source: SkillSource, repository: GitRepository) -> GitTree:
    settled, ref = _settled(source, repository)
    repository.initialise("sha1" if len(ref.object_id) == _SHA1_DIGITS else "sha256")
    repository.fetch(ref.name or ref.commit)
    object_id, commit = _fetched(repository)
    if not ref.name and commit != ref.commit:
        raise SourceUnreachable(str(source), f"gave the commit {commit}")
    listed = _list(repository, commit)
    if settled.path and settled.path not in listed.trees:
        raise _no_path(settled, listed)
    return GitTree(repository, settled, RemoteRef(ref.name, commit, object_id), listed)


def _settled(source: SkillSource, repository: GitRepository) -> tuple[SkillSource, RemoteRef]:
    asked = asked_for(source)
    return settle(source, parse_refs(repository.list_refs(asked)) if asked else {})


def _fetched(repository: GitRepository) -> tuple[str, str]:
    """Return the ids of what was fetched, a tag of its own or a commit, and of its commit."""
    ids, outcome = repository.try_run("rev-parse", "FETCH_HEAD", "FETCH_HEAD^{commit}")
    if outcome.exit_code != 0:
        raise SourceUnreachable(repository.shown, "names no commit", hint="name a branch, a tag or a commit")
    object_id, commit = ids.decode().split()
    return object_id, commit


def _list(repository: GitRepository, commit: str) -> _Listed:
    top = repository.run("rev-parse", f"{commit}^{{tree}}").decode().strip()
    entries: list[TreeEntry] = []
    trees = {"": top}
    size = 0
    # A path may be of any length, and a tree may hold itself many times over: few objects could fill all memory.
    listing = ("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit)
    with tempfile.TemporaryFile(dir=repository.directory) as file:
        repository.write(file, *listing, most_bytes=BOUNDS.listed_bytes, what="the list of its files")
        for record in _records(file):
            found = _ENTRY.fullmatch(record)
            if found is None:
                raise SourceUnreachable(repository.shown, "lists what no tree has")
            mode, kind, object_id, length, raw = found.groups()
            path = raw.decode("utf-8", "surrogateescape")
            if kind == b"tree":
                trees[path] = object_id.decode()
            else:
                entries.append(_entry(path, mode, kind, 0 if length == b"-" else int(length)))
                size += entries[-1].size
            _refuse_too_much(repository, len(entries) + len(trees), size)
    return _Listed(in_order(entries), trees)


def _records(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of a list, each of which ends with NUL."""
    rest = b""
    for piece in iter(partial(file.read, _PIECE), b""):
        *records, rest = (rest + piece).split(b"\0")
        yield from records


def _refuse_too_much(repository: GitRepository, count: int, size: int) -> None:
    if count > BOUNDS.source_entries:
        raise ArchiveRefused(repository.shown, f"it has more than {BOUNDS.source_entries:,} entries")
    if size > BOUNDS.source_bytes:
        raise ArchiveRefused(repository.shown, f"it has files of more than {in_mib(BOUNDS.source_bytes)}")


def _entry(path: str, mode: bytes, kind: bytes, size: int) -> TreeEntry:
    if kind == b"commit":
        return TreeEntry(path, TreeEntryKind.SUBMODULE)
    if kind != b"blob":
        return TreeEntry(path, TreeEntryKind.OTHER)
    if mode == _LINK_MODE:
        return TreeEntry(path, TreeEntryKind.LINK, size)
    return TreeEntry(path, TreeEntryKind.FILE, size, executable=bool(int(mode, 8) & _EXECUTABLE))


def _no_path(source: SkillSource, listed: _Listed) -> SourceUnreachable:
    last = source.path.rpartition("/")[2]
    same_name = [path for path in listed.trees if path.rpartition("/")[2] == last]
    near = same_name[:3] or near_names(source.path, [path for path in listed.trees if path])
    hint = None if near else "`skillhub add --list` of the source without it lists what is there"
    return SourceUnreachable(str(source), f"has no directory {source.path!r}", near=near, hint=hint)
