"""How much is fetched, read and unpacked at most. Of 12,079 real skills the largest has 30 MiB and 1,965 files."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most of each, counted while bytes arrive. Sizes are in bytes."""

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
