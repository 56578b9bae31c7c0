"""What a skill is, held against the lock of its library. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from skillhub_mcp.locks.content_digest import FileDigest, digest_of, irregular_of, regular_of
from skillhub_mcp.locks.lock_file import LockedByHub, LockedSkill


class LockState(str, Enum):
    """Whether the files are those that were locked; unlocked, that no lock has a digest of the skill."""

    UNCHANGED = "unchanged"
    EDITED = "edited"
    UNLOCKED = "unlocked"


_LINK = "-> "
_REGULAR = "file"


@dataclass(frozen=True, slots=True)
class Irregular:
    """A path that is no regular file, or was none: what it was when it was locked and what it is, as a lock says it;
    `file` for a regular one, and empty for nothing.
    """

    locked: str = ""
    now: str = ""

    def sentence(self, path: str) -> str:
        """Return what it is with where it leads, for who may know that."""
        before = f" (it was {'a file' if self.locked == _REGULAR else self.locked})" if self.locked and self.now else ""
        what = self.now or self.locked
        return f"{_word(what)} {path}{f' {what}' if what.startswith(_LINK) else ''}{before}"

    def reason(self, path: str) -> str:
        """Return why a skill is withheld for it, without where it leads."""
        what = _word(self.now or self.locked)
        if not self.now:
            return f"its {what} {path!r} is gone"
        return f"its {what} {path!r} {'is not what was locked' if self.locked else 'was added'}"


def _word(what: str) -> str:
    return "link" if what.startswith(_LINK) else what


@dataclass(frozen=True, slots=True)
class Differences:
    """The paths of the files of a skill that are not as they were locked; all empty where it is unchanged.

    A lock has one digest for all regular files. Unless something else says what each was, `unknown` is set if they
    differ, and their paths are empty. `irregular` has the paths that are no regular file, or were none. `line_ends` is
    that the files differ by line ends only, as git makes it: that is no difference.
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
        """The path that an error names; empty where there is none."""
        return next(iter((*self.changed, *self.missing, *self.added, *self.modes)), "")

    def shown(self, path: str) -> str:
        """Return one of the paths as a person is told it, with what it is where that is no regular file."""
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
    """Return what differs between the files of a skill and its entry in the lock, which has a digest of ours.

    `before` are the regular files as they were when they fitted the lock: they name the file that differs. Without
    `modes`, as on a system that has none, no executable bit is compared. `same_but_line_ends` is asked if the digest is
    another. Raises ValueError for an entry without such a digest.
    """
    if locked.ours is None:
        raise ValueError(f"{locked.name!r} was locked by another program")
    was, now = dict(locked.ours.irregular), irregular_of(files)
    found = _of_regular(locked.ours, regular_of(files) if now else files, before, modes, same_but_line_ends)
    if was == now:
        return found
    irregular = {
        path: Irregular(
            was.get(path, _REGULAR if path in found.missing else ""),
            now.get(path, _REGULAR if path in found.added else ""),
        )
        for path in sorted({*was, *now})
        if was.get(path) != now.get(path)
    }
    # What takes the place of a file, or gives way to one, is one difference.
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
    executable = frozenset(ours.executable)
    turned = tuple(sorted(path for path, one in files.items() if one.executable != (path in executable)))
    turned = turned if modes else ()
    if digest_of(files) == ours.digest:
        return Differences(modes=turned)
    if same_but_line_ends():
        return Differences(modes=turned, line_ends=True)
    if before is None or digest_of(before) != ours.digest:
        return Differences(unknown=True)
    return Differences(
        changed=tuple(
            sorted(path for path, one in before.items() if path in files and files[path].sha256 != one.sha256)
        ),
        added=tuple(sorted(files.keys() - before.keys())),
        missing=tuple(sorted(before.keys() - files.keys())),
        modes=tuple(path for path in turned if path in before),
    )
