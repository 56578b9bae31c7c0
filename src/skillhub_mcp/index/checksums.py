"""Checksums of a table's files: LanceDB has none, and reads a flipped byte as another value.

Its files are written once. Each is read for its checksum when the version that it belongs to is written, and not again
before somebody asks whether any has changed. A file that is gone is not reported: cleaning removes files, and reading
the version that needs one fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.file_modes import private_mode
from skillhub_mcp.index.mapped_arrays import open_derived

_FORMAT = 1
_CHUNK_BYTES = 1 << 20
_DIGEST_BYTES = 16
# What LanceDB replaces, and what is read only to write.
_CHANGING = frozenset({"latest_version_hint.json"})
_NOT_READ = frozenset({"_transactions"})

# By path below the database: size, mtime in nanoseconds, digest.
_Noted = tuple[int, int, str]


def note_checksums(database: str, path: str, places: Iterable[str]) -> None:
    """Save at `path` the checksums of the files at or below `places`, which lie in `database`.

    Files that are noted already are not read again: what has changed since is damaged, and stays so. Raises OSError.
    """
    before = _load(path)
    noted: dict[str, _Noted] = {}
    for file in _files(places):
        name = os.path.relpath(file, database)
        try:
            status = os.stat(file)
            known = before.get(name)
            if known is None or (_may_be_replaced(name) and known[:2] != (status.st_size, status.st_mtime_ns)):
                known = (status.st_size, status.st_mtime_ns, _digest(file))
        except FileNotFoundError:
            continue
        noted[name] = known
    content = json.dumps({"format": _FORMAT, "files": noted}, separators=(",", ":"))
    mode = private_mode(os.path.dirname(path))
    atomic_write(path, content.encode("utf-8", "surrogateescape"), mode=mode, locked=True, follow=False)


def changed_files(database: str, path: str) -> tuple[str, ...]:
    """Return the files, by path below `database`, whose content is not what was noted at `path`; sorted.

    Without notes there is nothing to tell. A file that cannot be read has changed.
    """
    changed = []
    for name, (size, _, digest) in _load(path).items():
        file = os.path.join(database, name)
        try:
            status = os.stat(file)
            same = stat.S_ISREG(status.st_mode) and status.st_size == size and _digest(file) == digest
        except FileNotFoundError:
            continue
        except OSError:
            same = False
        if not same:
            changed.append(name)
    return tuple(sorted(changed))


def _files(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        if os.path.isfile(place):
            yield place
        for directory, subdirectories, names in os.walk(place):
            subdirectories[:] = [one for one in subdirectories if one not in _NOT_READ]
            yield from (os.path.join(directory, name) for name in names if name not in _CHANGING)


def _is_within(name: str) -> bool:
    """Whether a path that was noted lies in the database: the notes may be anybody's."""
    return not os.path.isabs(name) and os.pardir not in name.split(os.sep)


def _may_be_replaced(name: str) -> bool:
    """Whether a writer may use the name again, as after one that was killed; those of other files are random."""
    return name.endswith((".manifest", ".npz"))


def _digest(file: str) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    with open(file, "rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _load(path: str) -> Mapping[str, _Noted]:
    """Return what is noted at `path`; nothing where there are no notes that can be read."""
    try:
        with open_derived(path) as file:
            written = json.loads(file.read().decode("utf-8", "surrogateescape"))
        if written["format"] != _FORMAT:
            return {}
        return {
            name: (int(size), int(mtime), str(digest))
            for name, (size, mtime, digest) in written["files"].items()
            if _is_within(name)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
