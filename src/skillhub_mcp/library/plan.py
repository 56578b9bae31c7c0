"""What an installation would do to a root: who has a name, whose files stay, which names look alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp.auditing.characters import skeleton
from skillhub_mcp.errors import SkillConflict
from skillhub_mcp.locks.file_digests import FileDigest, digest_of

Files = Mapping[str, FileDigest]

_SHOWN_FILES = 5
# Below this, names are near to each other by chance.
_SHORTEST = 6
_BEGINS_AN_ENDING = "-_.0123456789"
_VERSION = re.compile(r"[-_.]?v?[0-9]+(?:[-_.][0-9]+)*")


class Verb(str, Enum):
    """What is done with a name in the root."""

    ADD = "add"
    UPDATE = "update"
    REPLACE = "replace"
    # The edited files stay, and the lock names what the source has now.
    KEEP = "keep"
    # The same files are there already, and no lock names them.
    LOCK = "lock"
    NOTHING = "nothing"


class Settlement(str, Enum):
    """Whose files are taken if a skill was edited here and changed in its source."""

    ASK = "ask"
    THEIRS = "theirs"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """What is under a name in the root: its files, None without a directory, and what its lock says.

    `given` is the digest of the files that the `source` gave; `edited` is whether the files differ from these.
    """

    name: str
    files: Files | None = None
    source: str | None = None
    given: str = ""
    edited: bool = True


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that come, go and are others, by path."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def plan_step(
    there: InstalledSkill,
    files: Files,
    source: str,
    *,
    given: str = "",
    replace: bool = False,
    settled: Settlement = Settlement.ASK,
) -> Verb:
    """Return what installing `files`, whose source gave `given`, does. Raises SkillConflict."""
    if there.files is None:
        return Verb.ADD
    if there.source == source and not replace:
        return _update(there, files, given or digest_of(files), settled)
    if there.source is None and there.files == files:
        return Verb.LOCK
    if replace:
        return Verb.REPLACE
    known = f"is installed from {there.source}" if there.source else "is there, and no lock says where it is from"
    hint = "--replace puts that one into the trash, and --name NEW installs beside it"
    raise SkillConflict(there.name, known, hint=hint)


def _update(there: InstalledSkill, files: Files, given: str, settled: Settlement) -> Verb:
    here = there.files or {}
    if here == files:
        return Verb.UPDATE if there.edited else Verb.NOTHING
    if not there.edited or settled is Settlement.THEIRS:
        return Verb.UPDATE
    if there.given == given:
        return Verb.NOTHING
    if settled is Settlement.OURS:
        return Verb.KEEP
    differing = different(here, files)
    count = "1 file differs" if len(differing) == 1 else f"{len(differing):,} files differ"
    shown = ", ".join(map(repr, differing[:_SHOWN_FILES])) + (" …" if len(differing) > _SHOWN_FILES else "")
    reason = f"was edited here, and its source has changed: {count} ({shown})"
    hint = "--theirs takes the source's files and puts yours into the trash; --ours keeps yours"
    raise SkillConflict(there.name, reason, files=differing, hint=hint)


def different(first: Files, second: Files) -> tuple[str, ...]:
    """Return the paths of the files that are not the same in both, sorted."""
    return tuple(path for path in sorted({*first, *second}) if first.get(path) != second.get(path))


def changes(before: Files, after: Files) -> FileChanges:
    """Return how the files of a skill differ."""
    return FileChanges(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(path for path in sorted(before.keys() & after.keys()) if before[path] != after[path]),
    )


def is_alike(first: str, second: str) -> bool:
    """Whether one name can be taken for another: it looks the same, is a letter away, or has only an ending more."""
    if skeleton(first) == skeleton(second):
        return True
    short, long = sorted((first, second), key=len)
    if long.startswith(short) and _VERSION.fullmatch(long, len(short)):
        return True
    if len(short) < _SHORTEST:
        return False
    if long.startswith(short) and long[len(short)] in _BEGINS_AN_ENDING:
        return True
    from rapidfuzz.distance import OSA  # imported here, as few commands need it

    return OSA.distance(short, long, score_cutoff=1) <= 1
