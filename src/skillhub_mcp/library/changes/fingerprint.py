"""What lies in a directory, in two words: the digest that a lock has, and one that tells every difference.

The digest counts regular files and their bytes. A transaction that was killed has to tell the new directory from the
one before even where only an executable bit or a link differs: the fingerprint does.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from skillhub_mcp.locks.content_digest import content_digest

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Seen:
    """What lies at a path: its digest, `sha256:` and 64 hexadecimal digits, and its fingerprint, 64 such digits."""

    digest: str
    fingerprint: str


def see(path: str) -> Seen:
    """Read all of a directory, or of a link to one only where it leads. Raises OSError."""
    files: dict[str, str] = {}
    whole = hashlib.sha256()
    for below, status in sorted(_entries(path)):
        there = os.path.join(path, *below.split("/")) if below else path
        kind = stat.S_IFMT(status.st_mode)
        what = ""
        if stat.S_ISREG(kind):
            what = files[below] = _digest_of(there)
        elif stat.S_ISLNK(kind):
            what = os.readlink(there)
        executable = stat.S_ISREG(kind) and bool(status.st_mode & stat.S_IXUSR)
        line = f"{below}\0{kind:o}\0{executable:d}\0{what}\n"
        whole.update(line.encode("utf-8", "surrogateescape"))
    return Seen(content_digest(files), whole.hexdigest())


def _entries(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every path below `directory` with `/`, itself as an empty one, each with its own status."""
    # What went out of the root may be as deep as its owner made it.
    waiting = [""]
    while waiting:
        below = waiting.pop()
        there = os.path.join(directory, *below.split("/")) if below else directory
        status = os.lstat(there)
        yield below, status
        if stat.S_ISDIR(status.st_mode):
            waiting += [f"{below}/{name}" if below else name for name in os.listdir(there)]


def _digest_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
