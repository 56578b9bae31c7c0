"""The hub's own directory in a root: lock, staging and trash, created without following links.

Each change has a directory `TIME-RANDOM-removed` or `TIME-RANDOM-replaced` in the trash, with the skills in `skills/`
and the lock as it was before.

A root may come with a repository, so anything in its `.skillhub` may be hostile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from dataclasses import dataclass
from datetime import datetime, timezone

from skillhub_mcp._util.tempdir import remove_tree
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import LibraryUnwritable, SkillConflict
from skillhub_mcp.locks.lock_file import LOCK_NAME
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.roots import OWN_DIRECTORY

# What Windows calls a junction, which is no link by its mode.
_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0xA0000003)
# Staging and trash are for this machine; the lock file is what a repository shares.
_IGNORED = b"*\n"

_ELSEWHERE = "choose another directory with SKILLS_DIR, --project or --user"
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free space on its disk, then run the command again"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), f"grant access, or {_ELSEWHERE}"),
    errno.EXDEV: "a mount point in a skills directory cannot be moved: unmount it, or move it away yourself",
    errno.EBUSY: "close what uses it or unmount it, then run the command again",
}
_ABOUT_ONE_PATH = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.ENOTDIR})


class OwnPlaces:
    """The paths below one root, whose own path is canonical."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.top = os.path.join(root, OWN_DIRECTORY)
        self.lock, self.staging, self.trash = (os.path.join(self.top, name) for name in ("lock", "staging", "trash"))

    def skill(self, name: str) -> str:
        """Return the directory of a skill. Raises ValueError for a name that leads elsewhere."""
        if not is_plain_name(name):
            raise ValueError(f"{name!r} is not the name of a directory in the root")
        return os.path.join(self.root, name)

    def staged(self, name: str) -> str:
        """Return where a skill is staged. Raises ValueError for a name that leads elsewhere."""
        return os.path.join(self.staging, os.path.basename(self.skill(name)))

    def make(self) -> None:
        """Create the root and the missing places. Raises LibraryUnwritable and SkillConflict."""
        place = self.root
        if os.path.lexists(place) and not os.path.isdir(place):
            raise _not_ours(place, "directory")
        try:
            os.makedirs(self.root, exist_ok=True)
            if os.path.lexists(os.path.join(self.root, SKILL_FILE)):
                reason = f"is itself a skill ({self.root}), and no skill is put into another"
                raise SkillConflict(os.path.basename(self.root), reason, hint=_ELSEWHERE)
            for place in (self.top, self.staging, self.trash):
                # Another command may create it at the same time.
                with contextlib.suppress(FileExistsError):
                    os.mkdir(place)
                if not is_directory(place):
                    raise _not_ours(place, "directory")
            place = self.lock
            if os.path.lexists(place) and not stat.S_ISREG(os.lstat(place).st_mode):
                raise _not_ours(place, "file")
            os.close(os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666))
            place = os.path.join(self.top, ".gitignore")
            with contextlib.suppress(FileExistsError), open(place, "xb") as file:
                file.write(_IGNORED)
        except OSError as error:
            raise unwritable(place, error) from error


def places_of(root: str) -> OwnPlaces:
    """Return the places in a root, which may be given by a link to it. Raises LibraryUnwritable for a broken link."""
    given = expand_home(root)
    if os.path.islink(given) and not os.path.exists(given):
        hint = f"mount or make what it leads to, or {_ELSEWHERE}"
        raise LibraryUnwritable(given, f"it is a link to {os.readlink(given)!r}, which is not there", hint=hint)
    return OwnPlaces(os.path.realpath(given))


def is_directory(path: str) -> bool:
    """Whether a directory lies at `path` itself, and no link to one."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION


def is_plain_name(name: str) -> bool:
    """Whether a name is that of a directory right below a root, and not hidden."""
    forbidden = "/\\\0:" if os.name == "nt" else "/\\\0"
    return bool(name) and not name.startswith(".") and not set(forbidden) & set(name)


def unwritable(path: str, error: OSError) -> LibraryUnwritable:
    """Return the refusal for an error about `path`; where access was denied, about the path that the error names."""
    named = error.filename if error.errno in _ABOUT_ONE_PATH and isinstance(error.filename, str) else path
    reason = error.strerror or type(error).__name__
    return LibraryUnwritable(named, reason, hint=_HINTS.get(error.errno or 0, "fix that, then run the command again"))


def _not_ours(path: str, wanted: str) -> LibraryUnwritable:
    hint = "look at it, then remove it: SkillHub makes its own there"
    return LibraryUnwritable(path, f"it is not a {wanted}", hint=hint)


MAX_ENTRIES = 10
_ENTRY = re.compile("[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}-(?:removed|replaced)")


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """What one change put into the trash: its directory, and the names of the skills that are still in it, sorted."""

    directory: str
    skills: tuple[str, ...] = ()

    @property
    def removed(self) -> bool:
        """Whether the skills were removed, and not replaced."""
        return self.directory.endswith("-removed")

    def skill(self, name: str) -> str:
        """Return where a skill of the entry lies."""
        return os.path.join(self.directory, "skills", name)

    @property
    def lock_before(self) -> str:
        """The path of the lock as it was before."""
        return os.path.join(self.directory, LOCK_NAME)


def new_entry(places: OwnPlaces, lock_before: bytes | None, *, removed: bool) -> TrashEntry:
    """Create an empty entry. Raises OSError."""
    what = "removed" if removed else "replaced"
    name = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}-{what}"
    entry = TrashEntry(os.path.join(places.trash, name))
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


def prune(places: OwnPlaces) -> None:
    """Delete the oldest entries, and empty ones. The last removal stays. Raises OSError."""
    found = entries(places)
    removal = next((entry for entry in found if entry.removed and entry.skills), None)
    for count, entry in enumerate(found, 1):
        if entry != removal and (not entry.skills or count > MAX_ENTRIES):
            # Out of the trash first: half of an entry must not come back.
            leaving = os.path.join(places.staging, os.path.basename(entry.directory))
            os.replace(entry.directory, leaving)
            remove_tree(leaving)


def _skills(entry: TrashEntry) -> tuple[str, ...]:
    there = os.path.join(entry.directory, "skills")
    # A link would take another directory's skills for removed ones.
    return tuple(sorted(filter(is_plain_name, os.listdir(there)))) if is_directory(there) else ()
