"""The trash of a root: one directory `TIME-RANDOM-removed` or `TIME-RANDOM-replaced` for each change.

It has the skills in `skills/`, and the lock as it was before.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timezone

from skillhub_mcp.execution.removal import remove_directory
from skillhub_mcp.library.places import OwnPlaces, is_directory, is_plain_name
from skillhub_mcp.locks.lock_file import LOCK_NAME
from skillhub_mcp.locks.plain_files import read_plain

MAX_ENTRIES = 10
_REMOVED, _REPLACED = "-removed", "-replaced"
_ENTRY = re.compile(rf"[0-9]{{8}}T[0-9]{{12}}Z-[0-9a-f]{{8}}(?:{_REMOVED}|{_REPLACED})")


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """What one change put into the trash: its directory, and the names of the skills that are still in it, sorted."""

    directory: str
    skills: tuple[str, ...] = ()

    @property
    def removed(self) -> bool:
        """Whether the skills were removed, and not replaced."""
        return self.directory.endswith(_REMOVED)

    def skill(self, name: str) -> str:
        """Return where a skill of the entry lies."""
        return os.path.join(self.directory, "skills", name)

    @property
    def lock_before(self) -> str:
        """The path of the lock as it was before the change."""
        return os.path.join(self.directory, LOCK_NAME)


def new_entry(places: OwnPlaces, lock_before: bytes | None, *, removed: bool) -> TrashEntry:
    """Create an empty entry. Raises OSError."""
    name = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}"
    entry = TrashEntry(os.path.join(places.trash, name + (_REMOVED if removed else _REPLACED)))
    os.makedirs(entry.skill(""))
    if lock_before is not None:
        with open(entry.lock_before, "xb") as file:
            file.write(lock_before)
    return entry


def entries(places: OwnPlaces) -> tuple[TrashEntry, ...]:
    """Return what is in the trash, the newest first. Raises OSError."""
    try:
        names = sorted(filter(_ENTRY.fullmatch, os.listdir(places.trash)), reverse=True)
    except FileNotFoundError:
        return ()
    found = (TrashEntry(os.path.join(places.trash, name)) for name in names)
    return tuple(TrashEntry(one.directory, _skills(one)) for one in found if is_directory(one.directory))


def last_with(places: OwnPlaces, name: str) -> TrashEntry | None:
    """Return the newest entry that has a skill, or None. Raises OSError."""
    return next((entry for entry in entries(places) if name in entry.skills), None)


def lock_text_before(entry: TrashEntry) -> str | None:
    """Return the text of the lock before the change, or None if there was none. Raises OSError."""
    content = read_plain(entry.lock_before)
    return None if content is None else content.decode("utf-8", "replace")


def prune(places: OwnPlaces) -> None:
    """Delete the oldest entries, and empty ones. The last removal stays. Raises OSError."""
    found = entries(places)
    removal = next((entry for entry in found if entry.removed and entry.skills), None)
    for count, entry in enumerate(found, 1):
        if entry != removal and (not entry.skills or count > MAX_ENTRIES):
            # Out of the trash first: half of an entry must not come back.
            leaving = os.path.join(places.staging, os.path.basename(entry.directory))
            os.replace(entry.directory, leaving)
            remove_directory(leaving)


def _skills(entry: TrashEntry) -> tuple[str, ...]:
    there = entry.skill("")
    # A link would take another directory's skills for removed ones.
    return tuple(sorted(filter(is_plain_name, os.listdir(there)))) if is_directory(there.rstrip(os.sep)) else ()
