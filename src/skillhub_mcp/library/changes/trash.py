"""The trash of a root: what was removed and replaced, by the change that did it, and how much of it is kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.foreign_json import BadJson, read_json
from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.own_places import OwnPlaces, is_change, is_directory, is_plain_name
from skillhub_mcp.library.changes.steps import BEFORE, ENTRY, LOCK, RECEIPTS, SKILLS
from skillhub_mcp.locks.plain_files import read_plain

MAX_ENTRIES = 10
MAX_BYTES = 256 * 1024 * 1024
_VERSION = 1


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """What one change put into the trash: the names of the skills that lie there still, sorted.

    `removed` says whether they were removed, and not replaced.
    """

    change: str
    skills: tuple[str, ...]
    removed: bool


def entry_values(*, removed: bool) -> Mapping[str, object]:
    """Return what is written beside the skills of an entry, as JSON values."""
    return {"version": _VERSION, "removed": removed}


def entries(places: OwnPlaces) -> tuple[TrashEntry, ...]:
    """Return what is in the trash, the newest first. Raises OSError."""
    try:
        names = os.listdir(places.trash)
    except FileNotFoundError:
        return ()
    changes = (name for name in sorted(filter(is_change, names), reverse=True) if is_directory(places.trashed(name)))
    return tuple(_entry(places, change) for change in changes)


def last_removal(places: OwnPlaces) -> TrashEntry | None:
    """Return the newest entry of skills that were removed, or None. Raises OSError."""
    return next((entry for entry in entries(places) if entry.removed and entry.skills), None)


def lock_before(places: OwnPlaces, entry: TrashEntry) -> str | None:
    """Return the text that the lock had before the change, or None if there was none. Raises OSError."""
    return _text(places.trashed(entry.change, BEFORE, LOCK))


def receipt_before(places: OwnPlaces, entry: TrashEntry, name: str) -> str | None:
    """Return the text of a skill's receipt before the change, or None if it had none. Raises OSError."""
    return _text(places.trashed(entry.change, BEFORE, RECEIPTS, f"{name}.json"))


def prune(places: OwnPlaces, disk: Disk, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
    """Delete the oldest entries beyond the bounds, and those that are empty. Raises OSError.

    What was put there last, and the last removal, are kept however large they are.
    """
    found = entries(places)
    kept = {entry.change for entry in (*[one for one in found if one.skills][:1], last_removal(places)) if entry}
    size = 0
    for count, entry in enumerate(found, 1):
        place = places.trashed(entry.change)
        size += _size(place)
        if entry.change not in kept and (not entry.skills or count > max_entries or size > max_bytes):
            # Out of the trash first: half of an entry must not come back.
            leaving = places.staged(entry.change)
            disk.move(place, leaving)
            disk.remove_tree(leaving)


def _entry(places: OwnPlaces, change: str) -> TrashEntry:
    there = places.trashed(change, SKILLS)
    # Through a link somebody else's skills would be taken for what was removed here.
    skills = sorted(filter(is_plain_name, os.listdir(there))) if is_directory(there) else []
    try:
        written: Any = read_json(_text(places.trashed(change, ENTRY)) or "null")
    except (BadJson, OSError, UnicodeDecodeError):
        written = None
    removed = isinstance(written, dict) and written.get("version") == _VERSION and written.get("removed") is True
    return TrashEntry(change, tuple(skills), removed)


def _text(path: str) -> str | None:
    content = read_plain(path)
    return None if content is None else content.decode("utf-8", "replace")


def _size(directory: str) -> int:
    """Return the bytes of the files below a directory, and a little for each, so that many empty ones count too."""
    size = 0
    waiting = [directory]
    while waiting:
        # What cannot be listed, as where its path is too long for the system, counts for nothing.
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as found:
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_size + 1
    return size
