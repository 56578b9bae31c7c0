"""Compare the files of a skill with its entry in the lock. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from skillhub_mcp.locks.content_digest import FileDigest, digest_of, irregular_of, regular_of
from skillhub_mcp.locks.lock_file import LockedByHub, LockedSkill


class LockState(str, Enum):
    """Whether the files are those that were locked; unlocked, if no lock has a digest of the skill."""

    UNCHANGED = "unchanged"
    EDITED = "edited"
    UNLOCKED = "unlocked"


_LINK = "-> "


@dataclass(frozen=True, slots=True)
class Irregular:
    """A link, FIFO, socket or device, now or when it was locked: as a lock says it, `file`, or empty for nothing."""

    locked: str = ""
    now: str = ""

    def sentence(self, path: str) -> str:
        """Return what it is, with the target of a link."""
        before = f" (it was {'a file' if self.locked == 'file' else self.locked})" if self.locked and self.now else ""
        what = self.now or self.locked
        return f"{_word(what)} {path}{f' {what}' if what.startswith(_LINK) else ''}{before}"

    def reason(self, path: str) -> str:
        """Return why a skill is withheld for it, without the target of a link."""
        what = _word(self.now or self.locked)
        if not self.now:
            return f"its {what} {path!r} is gone"
        return f"its {what} {path!r} {'is not what was locked' if self.locked else 'was added'}"


def _word(what: str) -> str:
    return "link" if what.startswith(_LINK) else what


@dataclass(frozen=True, slots=True)
class Differences:
    """The paths of a skill's files that are not as they were locked.

    A lock has one digest for all regular files: `unknown` is set if they differ and nothing says which. Files that
    differ by `line_ends` only, as git makes it, are no difference.
    """

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    unknown: bool = False
    irregular: Mapping[str, Irregular] = field(default_factory=dict)
    line_ends: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.missing or self.modes or self.unknown)

    @property
    def first(self) -> str:
        """The path that an error names; empty if none is known."""
        return next(iter((*self.changed, *self.missing, *self.added, *self.modes)), "")

    def shown(self, path: str) -> str:
        """Return one of the paths, with what it is if that is not a regular file."""
        found = self.irregular.get(path)
        return path if found is None else found.sentence(path)


NO_DIFFERENCES = Differences()


def differences(
    locked: LockedSkill,
    files: Mapping[str, FileDigest],
    before: Mapping[str, FileDigest] | None = None,
    *,
    modes: bool = True,
    same_but_line_ends: Callable[[], bool] = lambda: False,
) -> Differences:
    """Return what differs between the files of a skill and its entry in the lock.

    `before` are the regular files as they were when they fitted the lock. Without `modes`, executable bits are not
    compared. `same_but_line_ends` is called if the digest differs. Raises ValueError for an entry without a digest.
    """
    if locked.ours is None:
        raise ValueError(f"{locked.name!r} was locked by another program")
    was, now = locked.ours.irregular, irregular_of(files)
    found = _of_regular(locked.ours, regular_of(files), before, modes, same_but_line_ends)
    if was == now:
        return found
    irregular = {
        path: Irregular(
            was.get(path, "file" if path in found.missing else ""), now.get(path, "file" if path in found.added else "")
        )
        for path in sorted({*was, *now})
        if was.get(path) != now.get(path)
    }
    # A link instead of a file, or the reverse, is one difference.
    changed = {path for path, one in irregular.items() if one.locked and one.now}
    return replace(
        found,
        changed=tuple(sorted({*found.changed, *changed})),
        added=tuple(sorted({*found.added, *(now.keys() - was.keys())} - changed)),
        missing=tuple(sorted({*found.missing, *(was.keys() - now.keys())} - changed)),
        irregular=irregular,
    )


def _of_regular(
    ours: LockedByHub,
    files: Mapping[str, FileDigest],
    before: Mapping[str, FileDigest] | None,
    modes: bool,
    same_but_line_ends: Callable[[], bool],
) -> Differences:
    turned = tuple(sorted(path for path, one in files.items() if one.executable != (path in ours.executable)))
    turned = turned if modes else ()
    if digest_of(files) == ours.digest:
        return Differences(modes=turned)
    if same_but_line_ends():
        return Differences(modes=turned, line_ends=True)
    if before is None or digest_of(before) != ours.digest:
        return Differences(unknown=True)
    both = files.keys() & before.keys()
    return Differences(
        changed=tuple(sorted(path for path in both if files[path].sha256 != before[path].sha256)),
        added=tuple(sorted(files.keys() - before.keys())),
        missing=tuple(sorted(before.keys() - files.keys())),
        modes=tuple(path for path in turned if path in before),
    )
