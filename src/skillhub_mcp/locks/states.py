"""What a skill is, held against the lock of its library. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp.locks.content_digest import FileDigest, digest_of
from skillhub_mcp.locks.lock_file import LockedSkill
from skillhub_mcp.locks.receipts import InstallReceipt


class LockState(str, Enum):
    """Unchanged and edited are about the files here; outdated, that they are unchanged and that the source had others
    when a command asked it; unlocked, that no lock has a digest of the skill.
    """

    UNCHANGED = "unchanged"
    EDITED = "edited"
    OUTDATED = "outdated"
    UNLOCKED = "unlocked"


@dataclass(frozen=True, slots=True)
class Differences:
    """The paths of the files of a skill that are not as they were locked; all empty where it is unchanged.

    Where no receipt says what each file was, `unknown` is set if there is a difference, and the paths are empty.
    """

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    unknown: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.missing or self.modes or self.unknown)

    @property
    def first(self) -> str:
        """The path that an error names; empty where there is none."""
        return next(iter((*self.changed, *self.missing, *self.added, *self.modes)), "")


NO_DIFFERENCES = Differences()


def differences(
    locked: LockedSkill, files: Mapping[str, FileDigest], receipt: InstallReceipt | None, *, modes: bool = True
) -> Differences:
    """Return what differs between the files of a skill and its entry in the lock, which has a digest of ours.

    `receipt` names the files only where it is of what the lock says: the lock decides. Without `modes`, as on a system
    that has none, no executable bit is compared. Raises ValueError for an entry without such a digest.
    """
    if locked.ours is None:
        raise ValueError(f"{locked.name!r} was locked by another program")
    executable = frozenset(locked.ours.executable)
    turned = tuple(sorted(path for path, one in files.items() if one.executable != (path in executable)))
    turned = turned if modes else ()
    if digest_of(files) == locked.ours.digest:
        return Differences(modes=turned)
    if receipt is None or receipt.digest != locked.ours.digest:
        return Differences(unknown=True)
    return Differences(
        changed=tuple(
            sorted(path for path, one in receipt.files.items() if path in files and files[path].sha256 != one.sha256)
        ),
        added=tuple(sorted(files.keys() - receipt.files.keys())),
        missing=tuple(sorted(receipt.files.keys() - files.keys())),
        modes=tuple(path for path in turned if path in receipt.files),
    )
