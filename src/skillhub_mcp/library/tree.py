"""What a source holds at one moment, before a byte of it is written, and how much is fetched and unpacked at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum

PIECE_BYTES = 64 * 1024
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most of each, in bytes and counts. Of 12,079 real skills the largest has 30 MiB and 1,965 files."""

    # What one source may send.
    fetched_bytes: int = 128 * _MIB
    # One skill, unpacked: its bytes, its files, and the names in the path of a file.
    skill_bytes: int = 64 * _MIB
    skill_files: int = 4_096
    depth: int = 16
    # How many times its packed size something may have, once it has more than `ratio_from` bytes.
    ratio: int = 200
    ratio_from: int = _MIB
    # A whole archive or directory: all that an archive unpacks to, and entries, directories among them.
    source_bytes: int = 1024 * _MIB
    source_entries: int = 200_000
    # What a repository lists of its entries: their paths above all.
    listed_bytes: int = 64 * _MIB


BOUNDS = Bounds()


def in_mib(size: int) -> str:
    """Return a size in bytes as a person reads it in a message: whole MiB where it is that, else bytes."""
    return f"{size // _MIB:,} MiB" if size and size % _MIB == 0 else f"{size:,} bytes"


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


def path_key(path: str) -> bytes:
    """Return the bytes of a path, by which entries are ordered."""
    return path.encode("utf-8", "surrogateescape")


def in_order(entries: Iterable[TreeEntry]) -> tuple[TreeEntry, ...]:
    """Return the entries in the order of their paths' bytes."""
    return tuple(sorted(entries, key=lambda entry: path_key(entry.path)))


class Tree:
    """A source at one moment: a directory, an archive, or a commit. `close` ends it and removes what it kept.

    `entries` are all but directories, in the order of the paths' bytes. `commit` is empty for a source without commits.
    `digests` are those that a site has for its artifacts, by path (`""` is the top).
    """

    entries: Sequence[TreeEntry] = ()
    commit: str = ""
    digests: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.until_closed = ExitStack()

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of the file at `path` in pieces. Raises SourceUnreachable and ArchiveRefused."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove what was kept for reading."""
        self.until_closed.close()
