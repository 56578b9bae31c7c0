"""What a site gave, as a tree: one SKILL.md, an archive, or the skills of an index side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.tree import Tree, TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.skills.model import SKILL_FILE

_MOST_OPEN = 16


@dataclass(frozen=True, slots=True)
class TextTree:
    """A SKILL.md by itself. `digest` is that of its bytes, as `sha256:` and hexadecimal digits."""

    content: bytes
    digest: str
    commit: str = ""

    @property
    def entries(self) -> Sequence[TreeEntry]:
        """Its one file."""
        return (TreeEntry(SKILL_FILE, TreeEntryKind.FILE, size=len(self.content)),)

    def tree_id(self, path: str) -> str:
        """Return the digest for the top, and nothing for what is not there."""
        return "" if path else self.digest

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the SKILL.md. Raises SourceUnreachable for another path."""
        if path != SKILL_FILE:
            raise SourceUnreachable(path, "is not in the source")
        yield self.content

    def close(self) -> None:
        """Do nothing: nothing was kept."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One skill of an index: what is in it, how it is opened, and the digest that the index promised and it has."""

    entries: Sequence[TreeEntry]
    open: Callable[[], Tree]
    digest: str


class SiteTree:
    """The skills of an index, each below its name. `tree_id` is the digest of its artifact.

    An artifact is opened when a file of it is read, and only some stay open: an index may list thousands.
    """

    def __init__(self, artifacts: Mapping[str, Artifact]) -> None:
        self._artifacts = dict(artifacts)
        self._opened: dict[str, Tree] = {}
        entries = [
            replace(entry, path=f"{name}/{entry.path}")
            for name, artifact in self._artifacts.items()
            for entry in artifact.entries
        ]
        self._entries = in_order(entries)

    @property
    def entries(self) -> Sequence[TreeEntry]:
        """The files of all skills, in the order of the paths' bytes."""
        return self._entries

    @property
    def commit(self) -> str:
        """Nothing: a site has no commits."""
        return ""

    def tree_id(self, path: str) -> str:
        """Return the digest of the artifact of the skill `path`; empty for a path within or above one."""
        artifact = self._artifacts.get(path)
        return "" if artifact is None else artifact.digest

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file. Raises SourceUnreachable for one that is not there, and ArchiveRefused."""
        name, _, below = path.partition("/")
        if name not in self._artifacts:
            raise SourceUnreachable(path, "is not in the source")
        if name not in self._opened:
            if len(self._opened) == _MOST_OPEN:
                self._opened.pop(next(iter(self._opened))).close()
            self._opened[name] = self._artifacts[name].open()
        return self._opened[name].read(below)

    def close(self) -> None:
        """Close what is open."""
        while self._opened:
            self._opened.popitem()[1].close()


class FetchedTree:
    """A tree whose files lie in a directory, which `remove` removes. An archive's top has its digest as its id."""

    def __init__(self, tree: Tree, remove: Callable[[], None], *, digest: str = "") -> None:
        self._tree = tree
        self._remove = remove
        self._digest = digest

    @property
    def entries(self) -> Sequence[TreeEntry]:
        """Every entry but directories, in the order of the paths' bytes."""
        return self._tree.entries

    @property
    def commit(self) -> str:
        """Nothing: a site has no commits."""
        return self._tree.commit

    def tree_id(self, path: str) -> str:
        """Return the digest of what was fetched for the top; else what the tree says."""
        return self._digest if self._digest and not path else self._tree.tree_id(path)

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file. Raises what the tree raises."""
        return self._tree.read(path)

    def close(self) -> None:
        """Close the tree, and remove what was fetched."""
        self._tree.close()
        self._remove()
