"""What a source holds at one moment, before a byte of it is written: entries with their kinds, sizes and modes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class TreeEntryKind(str, Enum):
    """What an entry is. Directories are not entries."""

    FILE = "file"
    LINK = "link"
    SUBMODULE = "submodule"
    # A device, a pipe, a socket, and what else no skill has.
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a tree, with its path, size in bytes and target as the source says, not checked yet."""

    path: str
    kind: TreeEntryKind
    size: int = 0
    executable: bool = False
    target: str = ""


def in_order(entries: Iterable[TreeEntry]) -> tuple[TreeEntry, ...]:
    """Return the entries in the order of their paths' bytes."""
    return tuple(sorted(entries, key=lambda entry: entry.path.encode("utf-8", "surrogateescape")))


class Tree(Protocol):
    """A source at one moment: a directory, an archive, or a commit. `close` ends it and removes what it kept."""

    @property
    def entries(self) -> Sequence[TreeEntry]:
        """Every entry but directories, in the order of the paths' bytes."""

    @property
    def commit(self) -> str:
        """The commit, as 40 or 64 hexadecimal digits; empty where there is none."""

    def tree_id(self, path: str) -> str:
        """Return the id that the source has for the directory at `path` (`""` is the top); empty where it has none."""

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of the file at `path` in pieces. Raises SourceUnreachable and ArchiveRefused."""

    def close(self) -> None:
        """Remove what was kept for reading."""
