"""A commit of a repository as a tree: its entries are known before a file is read, and none is checked out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.execution.program import Program, ProgramEnded
from skillhub_mcp.library.bounds import BOUNDS
from skillhub_mcp.library.sources.git import GitOptions, GitRepository
from skillhub_mcp.library.sources.git_refs import RemoteRef, asked_for, parse_refs, settle
from skillhub_mcp.library.sources.source import SkillSource
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.suggestions import near_names

_SHA1_DIGITS = 40
_MAX_TARGET_BYTES = 4_096
_ENTRY = re.compile(rb"(\d{6}) (\w+) ([0-9a-f]+) +(-|\d+)\t(.*)", re.DOTALL)
_EXECUTABLE = 0o111
_LINK_MODE = b"120000"


@dataclass(frozen=True, slots=True)
class _Listed:
    entries: tuple[TreeEntry, ...]
    # The id of each entry, and of each directory.
    objects: Mapping[str, str]
    trees: Mapping[str, str]


class GitTree:
    """A commit of a repository. Implements `Tree`; `close` removes the temporary repository."""

    def __init__(self, repository: GitRepository, source: SkillSource, ref: RemoteRef, listed: _Listed) -> None:
        self.repository = repository
        self.source = source
        self.ref = ref
        self._listed = listed
        # Git that waits for the next question, and all that run: each answers one file at a time.
        self._idle: Program | None = None
        self._readers: set[Program] = set()
        self._entries = tuple(
            entry if entry.kind is not TreeEntryKind.LINK else self._with_target(entry) for entry in listed.entries
        )

    @property
    def entries(self) -> Sequence[TreeEntry]:
        """Every entry but directories, in the order of the paths' bytes."""
        return self._entries

    @property
    def commit(self) -> str:
        """The commit's id."""
        return self.ref.commit

    def tree_id(self, path: str) -> str:
        """Return the id of the directory at `path`, empty where there is none."""
        return self._listed.trees.get(path, "")

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of the file at `path` in pieces. Raises SourceUnreachable."""
        object_id = self._listed.objects.get(path)
        if object_id is None:
            raise SourceUnreachable(self.repository.shown, f"has no file {path!r}")
        return self._read(object_id)

    def close(self) -> None:
        """End git and remove the repository."""
        for reader in tuple(self._readers):
            reader.end()
        self.repository.close()

    def _read(self, object_id: str) -> Iterator[bytes]:
        reader, self._idle = self._idle or self.repository.ask("cat-file", "--batch"), None
        self._readers.add(reader)
        try:
            reader.ask(f"{object_id}\n".encode())
            rest = self._size(reader.line(), object_id)
            while rest > 0:
                piece = reader.read(rest)
                if not piece:
                    raise self.repository.unreachable(reader.end().messages)
                rest -= len(piece)
                yield piece
            reader.line()
            reader.answered()
            self._idle = reader
        except ProgramEnded as ended:
            raise self.repository.ended(ended) from None
        finally:
            # What is left of an answer would be taken for the next one.
            if self._idle is not reader:
                self._readers.discard(reader)
                reader.end()

    def _size(self, header: bytes, object_id: str) -> int:
        words = header.split()
        if len(words) != 3 or words[0].decode() != object_id or words[1] != b"blob":  # noqa: PLR2004 - id, kind, size
            raise SourceUnreachable(self.repository.shown, f"lacks the object {object_id}")
        return int(words[2])

    def _with_target(self, entry: TreeEntry) -> TreeEntry:
        if entry.size > _MAX_TARGET_BYTES:
            return TreeEntry(entry.path, TreeEntryKind.OTHER, entry.size)
        target = b"".join(self._read(self._listed.objects[entry.path])).decode("utf-8", "surrogateescape")
        return TreeEntry(entry.path, TreeEntryKind.LINK, entry.size, target=target)


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
    objects: dict[str, str] = {}
    trees = {"": top}
    # A name, and a path of many names, may be of any length: few entries fill all memory.
    listing = ("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit)
    for record in repository.records(*listing, most_bytes=BOUNDS.listed_bytes):
        found = _ENTRY.fullmatch(record)
        if found is None:
            raise SourceUnreachable(repository.shown, "lists what no tree has")
        mode, kind, object_id, size, raw = found.groups()
        path = raw.decode("utf-8", "surrogateescape")
        if kind == b"tree":
            trees[path] = object_id.decode()
        else:
            objects[path] = object_id.decode()
            entries.append(_entry(path, mode, kind, 0 if size == b"-" else int(size)))
        # A tree may hold itself many times over, and be listed without an end.
        if len(entries) + len(trees) > BOUNDS.source_entries:
            raise ArchiveRefused(repository.shown, f"it has more than {BOUNDS.source_entries:,} entries")
    return _Listed(in_order(entries), objects, trees)


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
