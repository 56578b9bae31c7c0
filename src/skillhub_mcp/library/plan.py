"""What an installation would do to a root: who has a name, whose edits stay, what looks like another. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from skillhub_mcp.auditing.characters import skeleton
from skillhub_mcp.errors import SkillConflict
from skillhub_mcp.locks.content_digest import FileDigest

Files = Mapping[str, FileDigest]

_SHOWN_FILES = 5
# Below this, names are near to each other by chance.
_SHORTEST = 6
_NO_FILES: Files = {}
_BEGINS_AN_ENDING = "-_.0123456789"
_VERSION = re.compile(r"[-_.]?v?[0-9]+(?:[-_.][0-9]+)*")


class Verb(str, Enum):
    """What becomes of a name in the root."""

    ADD = "add"
    UPDATE = "update"
    REPLACE = "replace"
    # The same files are there already, and no lock names them.
    LOCK = "lock"
    NOTHING = "nothing"


class Settlement(str, Enum):
    """Whose version of a file is taken that both sides changed."""

    ASK = "ask"
    THEIRS = "theirs"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """What is under a name in the root: the files of its directory, those that were installed, and where from.

    `files` have links and what else is no regular file, too: an edit like any other, since no source gives such.
    `source` is where its lock has it from, `None` where no lock names it. `files` is None where there is no directory,
    and `installed` where nothing says what was installed.
    """

    name: str
    files: Files | None = None
    installed: Files | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """What becomes of files that are not as they were installed; paths, sorted.

    `kept` stay as they are here, `dropped` stay away, and `lost` are edits here that the source's version replaces.
    """

    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that come, go and are others, by path."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Skills beside a new one: where others of its name are, that win it or lose it, and names that look like it."""

    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """What is done under one name, and what becomes of what is edited there."""

    verb: Verb
    merge: Merge = field(default_factory=Merge)


def plan_step(
    there: InstalledSkill, files: Files, source: str, *, replace: bool = False, settled: Settlement = Settlement.ASK
) -> PlannedStep:
    """Return what installing `files` from `source` under a name does. Raises SkillConflict.

    A skill that the lock has from the same source is updated; another is replaced only where that was said.
    """
    if there.files is None:
        return PlannedStep(Verb.ADD)
    if there.source == source and not replace:
        merge = merged(there.name, there.installed, there.files, files, settled=settled)
        is_current = there.installed is not None and same(there.installed, files)
        return PlannedStep(Verb.NOTHING if is_current else Verb.UPDATE, merge)
    if there.source is None and same(there.files, files):
        return PlannedStep(Verb.LOCK)
    if replace:
        return PlannedStep(Verb.REPLACE)
    known = f"is installed from {there.source}" if there.source else "is there, and no lock says where it is from"
    raise SkillConflict(
        there.name, known, hint="--replace puts that one into the trash, and --name NEW installs beside it"
    )


def merged(
    name: str, installed: Files | None, here: Files, there: Files, *, settled: Settlement = Settlement.ASK
) -> Merge:
    """Return what becomes of edited files, when a skill is updated from `installed` to `there`, and has `here` now.

    Where nothing says what was installed, every file that differs is one that both sides changed. Raises SkillConflict
    for those, unless it is settled whose are taken.
    """
    before = _NO_FILES if installed is None else installed
    kept: list[str] = []
    dropped: list[str] = []
    both: list[str] = []
    for path in sorted({*before, *here, *there}):
        was, own, new = before.get(path), here.get(path), there.get(path)
        if own in (new, was):
            continue
        if new == was:
            (dropped if own is None else kept).append(path)
        else:
            both.append(path)
    if settled is Settlement.OURS:
        kept += [path for path in both if path in here]
        dropped += [path for path in both if path not in here]
        both = []
    coming = there.keys() - set(dropped)
    if clashes := _in_the_way(kept, coming):
        # What is a file on one side is a directory on the other.
        if settled is Settlement.OURS:
            dropped += _in_the_way(coming, set(kept))
        else:
            kept = [path for path in kept if path not in clashes]
            both = sorted({*both, *clashes})
    if both and settled is Settlement.ASK:
        count = "a file" if len(both) == 1 else f"{len(both):,} files"
        shown = ", ".join(map(repr, both[:_SHOWN_FILES])) + (" …" if len(both) > _SHOWN_FILES else "")
        raise SkillConflict(
            name,
            f"has {count} edited here and changed in the source: {shown}",
            files=both,
            hint="--theirs takes the source's, and --ours keeps yours; what is dropped lies in the trash",
        )
    return Merge(tuple(sorted(kept)), tuple(sorted(dropped)), tuple(both))


def _in_the_way(paths: Iterable[str], others: Collection[str]) -> tuple[str, ...]:
    """Return those of `paths` that are a directory of one of `others`, or lie in one that is a file there."""
    directories = {above for path in others for above in _above(path)}
    return tuple(path for path in paths if path in directories or any(above in others for above in _above(path)))


def _above(path: str) -> Iterator[str]:
    """Yield the directories that a path lies in, from its skill on."""
    names = path.split("/")
    return ("/".join(names[:depth]) for depth in range(1, len(names)))


def same(first: Files, second: Files) -> bool:
    """Whether both are the same files, with the same bytes and `x` bits."""
    return first.keys() == second.keys() and all(first[path] == second[path] for path in first)


def edits(installed: Files, here: Files) -> tuple[str, ...]:
    """Return the paths of the files that are not as they were installed, sorted."""
    return tuple(path for path in sorted({*installed, *here}) if installed.get(path) != here.get(path))


def changes(before: Files, after: Files) -> FileChanges:
    """Return how the files of a skill differ."""
    return FileChanges(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(path for path in sorted(before.keys() & after.keys()) if before[path] != after[path]),
    )


def neighbours(name: str, roots: Sequence[Iterable[str]], place: int, paths: Sequence[str]) -> Neighbours:
    """Return the skills beside one that comes into the root at `place`, by the names in each root, in their order.

    `paths` are the roots' own; a skill of the same name in the root itself is no neighbour but a conflict.
    """
    before: list[str] = []
    behind: list[str] = []
    alike: dict[str, None] = {}
    for number, names in enumerate(roots):
        for other in names:
            if other == name:
                (before if number < place else behind).extend([paths[number]] if number != place else [])
            elif is_alike(name, other):
                alike[other] = None
    return Neighbours(tuple(before), tuple(behind), tuple(sorted(alike)))


def is_alike(first: str, second: str) -> bool:
    """Whether one name can be taken for another: it looks the same, is a letter away, or has only an ending more."""
    if skeleton(first) == skeleton(second):
        return True
    short, long = sorted((first, second), key=len)
    if long.startswith(short) and _VERSION.fullmatch(long, len(short)):
        return True
    if len(short) < _SHORTEST:
        return False
    return _is_one_letter_away(short, long) or (long.startswith(short) and long[len(short)] in _BEGINS_AN_ENDING)


def _is_one_letter_away(short: str, long: str) -> bool:
    if len(long) - len(short) > 1:
        return False
    at = next((number for number, letter in enumerate(short) if letter != long[number]), len(short))
    if len(long) > len(short):
        return short[at:] == long[at + 1 :]
    swapped = short[at + 1 : at + 2] + short[at : at + 1] + short[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or swapped == long[at:]
