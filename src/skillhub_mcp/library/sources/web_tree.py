"""What a site gave, as a tree: one artifact, or the skills of an index side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.tree import Tree, TreeEntry, in_order

_MOST_OPEN = 16


@dataclass(frozen=True, slots=True)
class Fetched:
    """An archive or a SKILL.md that was fetched: what is in it, how it is opened, and the digest of its bytes."""

    entries: Sequence[TreeEntry]
    open: Callable[[], Tree]
    digest: str


class WebTree:
    """The skills of an index, each below its name, or one artifact by itself, named `""`. `remove` removes the files.

    `tree_id` is the digest of an artifact. It is opened when a file of it is read, and only some stay open: an index
    may list thousands.
    """

    def __init__(self, fetched: Mapping[str, Fetched], remove: Callable[[], None]) -> None:
        self._fetched = dict(fetched)
        self._remove = remove
        self._opened: dict[str, Tree] = {}
        self.commit = ""
        self.entries: Sequence[TreeEntry] = in_order(
            replace(entry, path=f"{name}/{entry.path}") if name else entry
            for name, one in self._fetched.items()
            for entry in one.entries
        )

    def tree_id(self, path: str) -> str:
        """Return the digest of the artifact at `path`; empty for a path within or above one."""
        return self._fetched[path].digest if path in self._fetched else ""

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file. Raises SourceUnreachable for a missing one, and ArchiveRefused."""
        name, _, below = ("", "", path) if "" in self._fetched else path.partition("/")
        if name not in self._fetched:
            raise SourceUnreachable(path, "is not in the source")
        if name not in self._opened:
            if len(self._opened) == _MOST_OPEN:
                self._opened.pop(next(iter(self._opened))).close()
            self._opened[name] = self._fetched[name].open()
        return self._opened[name].read(below)

    def close(self) -> None:
        """Close what is open, and remove what was fetched."""
        while self._opened:
            self._opened.popitem()[1].close()
        self._remove()
