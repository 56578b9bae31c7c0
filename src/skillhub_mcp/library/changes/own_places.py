"""Where the hub keeps its own things in a root, and making these places, never through a link that somebody left there.

A root may come with a repository: what is in its `.skillhub` may be anybody's.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import LibraryUnwritable, SkillConflict
from skillhub_mcp.library.changes.refusals import unwritable
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.own_directory import OWN_DIRECTORY, journal_path

_ID = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}")
# What Windows calls a junction, which is no link by its mode.
_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0xA0000003)
# What is installed and removed here is for this machine; a lock is what a repository shares.
_IGNORED = b"*\n"


@dataclass(frozen=True, slots=True)
class OwnPlaces:
    """The paths below one root, whose own path is canonical."""

    root: str

    @property
    def top(self) -> str:
        return os.path.join(self.root, OWN_DIRECTORY)

    @property
    def journal(self) -> str:
        return journal_path(self.root)

    @property
    def lock(self) -> str:
        """The file that commands lock."""
        return os.path.join(self.top, "lock")

    @property
    def staging(self) -> str:
        return os.path.join(self.top, "staging")

    @property
    def trash(self) -> str:
        return os.path.join(self.top, "trash")

    @property
    def receipts(self) -> str:
        return os.path.join(self.top, "receipts")

    def skill(self, name: str) -> str:
        """Return where the skill of that name lies. Raises ValueError for a name that leads elsewhere."""
        if not is_plain_name(name):
            raise ValueError(f"{name!r} is not the name of a directory in the root")
        return os.path.join(self.root, name)

    def receipt(self, name: str) -> str:
        """Return where the receipt of a skill lies. Raises ValueError for a name that leads elsewhere."""
        self.skill(name)
        return os.path.join(self.receipts, f"{name}.json")

    def staged(self, change: str, *names: str) -> str:
        """Return a path below what a change has staged. Raises ValueError for what is no change of ours."""
        return os.path.join(self.staging, _checked(change), *names)

    def trashed(self, change: str, *names: str) -> str:
        """Return a path below what a change has put into the trash. Raises ValueError for what is no change of ours."""
        return os.path.join(self.trash, _checked(change), *names)

    def make(self) -> None:
        """Make the root and the places that are missing. Raises LibraryUnwritable and SkillConflict."""
        place = self.root
        if os.path.lexists(place) and not os.path.isdir(place):
            raise _not_ours(place, "directory")
        try:
            os.makedirs(self.root, exist_ok=True)
            if os.path.lexists(os.path.join(self.root, SKILL_FILE)):
                raise SkillConflict(
                    os.path.basename(self.root),
                    f"is itself a skill ({self.root}), and no skill is put into another",
                    hint="choose another directory with SKILLS_DIR, --project or --user",
                )
            for place in (self.top, self.staging, self.trash, self.receipts):
                # Another command may make it at the same time.
                with contextlib.suppress(FileExistsError):
                    os.mkdir(place)
                refuse_other(place)
            for place in (self.lock, self.journal):
                if os.path.lexists(place) and not stat.S_ISREG(os.lstat(place).st_mode):
                    raise _not_ours(place, "file")
            place = os.path.join(self.top, ".gitignore")
            with contextlib.suppress(FileExistsError), open(place, "xb") as file:
                file.write(_IGNORED)
            place = self.lock
            os.close(os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666))
        except OSError as error:
            raise unwritable(place, error) from error


def places_of(root: str) -> OwnPlaces:
    """Return the places in a root, which may be given by a link to it. Raises LibraryUnwritable for a broken link."""
    given = expand_home(root)
    if os.path.islink(given) and not os.path.exists(given):
        raise LibraryUnwritable(
            given,
            f"it is a link to {os.readlink(given)!r}, which is not there",
            hint="mount or make what it leads to, or choose another directory with SKILLS_DIR, --project or --user",
        )
    return OwnPlaces(os.path.realpath(given))


def is_directory(path: str) -> bool:
    """Whether a directory lies at `path` itself, and no link to one."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION


def refuse_other(path: str) -> None:
    """Raise LibraryUnwritable for anything at `path` that is no directory itself."""
    if os.path.lexists(path) and not is_directory(path):
        raise _not_ours(path, "directory")


def is_plain_name(name: str) -> bool:
    """Whether a name is that of a directory right below a root, and not hidden."""
    # On Windows a colon begins a path on another drive, or names a stream of a file.
    forbidden = {"/", "\\", "\0", ":"} if os.name == "nt" else {"/", "\\", "\0"}
    return bool(name) and not name.startswith(".") and not forbidden & set(name)


def is_change(name: str) -> bool:
    """Whether a name is one that `new_change` makes."""
    return _ID.fullmatch(name) is not None


def new_change() -> str:
    """Return the name of a change: its time in UTC, so that names sort by it, and a random part."""
    import secrets
    from datetime import datetime, timezone

    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}"


def _checked(change: str) -> str:
    if not is_change(change):
        raise ValueError(f"{change!r} is not the name of a change")
    return change


def _not_ours(path: str, wanted: str) -> LibraryUnwritable:
    return LibraryUnwritable(
        path, f"it is not a {wanted}", hint="look at it, then remove it: SkillHub makes its own there"
    )
