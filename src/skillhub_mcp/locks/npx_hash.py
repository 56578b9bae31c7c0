"""The `computedHash` of a lock, as `npx skills` computes it: for that program only, never trusted here.

It is SHA-256 over each path and its content, without a border between the two, so two trees can share it. The paths are
in the order of their collation. For ASCII that order is known; of other names it depends on the machine's locale.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator

from skillhub_mcp.skills.digest import MAX_LEVELS

_LEFT_OUT = frozenset({".git", "node_modules"})
_PIECE = 1 << 20
# ICU's order of what is not ignored, a letter's cases side by side.
_ORDER = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_RANK = {character: rank for rank, character in enumerate(_ORDER)}


def npx_order(paths: Iterable[str]) -> tuple[str, ...] | None:
    """Return the paths of files in the order in which they are hashed; None where it is not known for one of them."""
    found = list(paths)
    if not all(character.lower() in _RANK for path in found for character in path if character.isascii()):
        return None
    if not all(path.isascii() for path in found):
        return None
    return tuple(sorted(found, key=_key))


def computed_hash(directory: str) -> str | None:
    """Return SHA-256 in hexadecimal over the files of an installed skill; None where the order is not known.

    Files behind links do not count, nor do those in `.git` and `node_modules`. Raises OSError.
    """

    def read(path: str) -> Iterator[bytes]:
        with open(os.path.join(directory, *path.split("/")), "rb") as file:
            while piece := file.read(_PIECE):
                yield piece

    return hash_of(_files(directory, ""), read)


def hash_of(paths: Iterable[str], read: Callable[[str], Iterable[bytes]]) -> str | None:
    """Return the same for files that `read` yields the bytes of. Raises what it raises."""
    order = npx_order(paths)
    if order is None:
        return None
    whole = hashlib.sha256()
    for path in order:
        whole.update(path.encode())
        for piece in read(path):
            whole.update(piece)
    return whole.hexdigest()


def _key(path: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    # The case of letters decides only between paths that are otherwise the same.
    return tuple(_RANK[character] for character in path.lower()), tuple(character.isupper() for character in path)


def _files(directory: str, below: str) -> Iterator[str]:
    if below.count("/") >= MAX_LEVELS:
        raise OSError(errno.ENAMETOOLONG, f"it is more than {MAX_LEVELS} directories deep", directory)
    with os.scandir(os.path.join(directory, below)) as entries:
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _LEFT_OUT:
                    yield from _files(directory, path)
            elif entry.is_file(follow_symlinks=False):
                yield path
