"""A commit of a repository as a tree: fetched and archived, never checked out."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.archives import BoundedTarInfo
from skillhub_mcp.library.bounds import BOUNDS
from skillhub_mcp.library.sources.git import GitOptions, GitRepository
from skillhub_mcp.library.sources.git_refs import RemoteRef, asked_for, parse_refs, settle
from skillhub_mcp.library.sources.source import SkillSource
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.names import near_names

_SHA1_DIGITS = 40
_MAX_TARGET_CHARACTERS = 4_096
_PIECE = 64 * 1024
_EXECUTABLE = 0o111


class GitTree:
    """A commit of a repository. Implements `Tree`; `close` removes the temporary repository."""

    def __init__(self, repository: GitRepository, source: SkillSource, ref: RemoteRef) -> None:
        self.repository = repository
        self.source = source
        self.ref = ref
        self.commit = ref.commit
        self._file = tempfile.TemporaryFile(dir=repository.directory)  # noqa: SIM115 - closed with the tree
        try:
            # Each file has a header, and is padded to whole blocks.
            most = BOUNDS.source_bytes + 4 * tarfile.BLOCKSIZE * BOUNDS.source_entries
            repository.archive(ref.commit, self._file, most_bytes=most)
            self._tar = tarfile.TarFile(
                fileobj=self._file, tarinfo=BoundedTarInfo, encoding="utf-8", errors="surrogateescape"
            )
            self._members = dict[str, tarfile.TarInfo]()
            self.entries: Sequence[TreeEntry] = in_order(self._read_entries())
        except BaseException:
            self._file.close()
            raise

    def tree_id(self, path: str) -> str:
        """Return the id of the directory at `path`; empty if there is none."""
        name = f"{self.commit}:{path}" if path else f"{self.commit}^{{tree}}"
        found, outcome = self.repository.try_run("rev-parse", "--verify", "--quiet", name)
        return found.decode().strip() if outcome.exit_code == 0 else ""

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

    def _read_entries(self) -> Iterator[TreeEntry]:
        empty: set[str] = set()
        for count, member in enumerate(self._tar):
            if count >= BOUNDS.source_entries:
                reason = f"it has more than {BOUNDS.source_entries:,} entries"
                raise ArchiveRefused(self.repository.shown, reason)
            path = member.name
            empty.discard(path.rpartition("/")[0])
            self._members[path] = member
            if member.isdir():
                empty.add(path)
            elif not member.issym():
                yield TreeEntry(path, TreeEntryKind.FILE, member.size, bool(member.mode & _EXECUTABLE))
            elif len(member.linkname) > _MAX_TARGET_CHARACTERS:
                yield TreeEntry(path, TreeEntryKind.OTHER)
            else:
                yield TreeEntry(path, TreeEntryKind.LINK, target=member.linkname)
        # Git has no empty directories: it writes one for a submodule.
        yield from (TreeEntry(path, TreeEntryKind.SUBMODULE) for path in empty)


def open_git(source: SkillSource, options: GitOptions | None = None) -> GitTree:
    """Fetch what a source means of its repository, and return it as a tree, which must be closed.

    Raises SourceUnreachable, with near refs or paths, ArchiveRefused for too many files, and CommandUnavailable without
    git.
    """
    repository = GitRepository(source.location, str(source), options or GitOptions())
    try:
        return _opened(source, repository)
    except BaseException:
        repository.close()
        raise


def _opened(source: SkillSource, repository: GitRepository) -> GitTree:
    meant, ref = _settled(source, repository)
    repository.initialise("sha1" if len(ref.object_id) == _SHA1_DIGITS else "sha256")
    repository.fetch(ref.name or ref.commit)
    ids, outcome = repository.try_run("rev-parse", "FETCH_HEAD", "FETCH_HEAD^{commit}")
    if outcome.exit_code != 0:
        raise SourceUnreachable(repository.shown, "names no commit", hint="name a branch, a tag or a commit")
    object_id, commit = ids.decode().split()
    if not ref.name and commit != ref.commit:
        raise SourceUnreachable(str(source), f"gave the commit {commit}")
    tree = GitTree(repository, meant, RemoteRef(ref.name, commit, object_id))
    if meant.path and not any(entry.path.startswith(f"{meant.path}/") for entry in tree.entries):
        tree.close()
        raise _no_path(meant, tree.entries)
    return tree


def remote_ref(source: SkillSource, options: GitOptions | None = None) -> RemoteRef:
    """Return the ref that a source means, with its present commit. Nothing is fetched.

    Raises SourceUnreachable, and CommandUnavailable without git.
    """
    repository = GitRepository(source.location, str(source), options or GitOptions())
    try:
        return _settled(source, repository)[1]
    finally:
        repository.close()


def _settled(source: SkillSource, repository: GitRepository) -> tuple[SkillSource, RemoteRef]:
    asked = asked_for(source)
    return settle(source, parse_refs(repository.list_refs(asked)) if asked else {})


def _no_path(source: SkillSource, entries: Sequence[TreeEntry]) -> SourceUnreachable:
    paths = (entry.path.split("/")[:-1] for entry in entries)
    directories = sorted({"/".join(names[:end]) for names in paths for end in range(1, len(names) + 1)})
    last = source.path.rpartition("/")[2]
    same_name = [path for path in directories if path.rpartition("/")[2] == last]
    near = same_name[:3] or near_names(source.path, directories)
    hint = None if near else "`skillhub add --list` of the source without it lists what is there"
    return SourceUnreachable(str(source), f"has no directory {source.path!r}", near=near, hint=hint)
