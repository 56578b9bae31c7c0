"""The roots that an index has rows of, and which of them may be forgotten. Pure, but for a look at each path."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from rich.filesize import decimal

from skillhub_mcp._util.wording import plural
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.index.state_file import NO_EMBEDDING, IndexState, row_of
from skillhub_mcp.skills.names import near_names
from skillhub_mcp.skills.roots import is_at_or_below

_OPTION = "--forget"


@dataclass(frozen=True, slots=True)
class IndexedRoot:
    """A root that the indexes of a database have rows of: how many skills, and the bytes of their SKILL.md files.

    `vectors` are counted over all of the database's indexes. `read_at` is when a SKILL.md of it was last read, in
    seconds since the epoch, 0 if none was. It is `used` if the present configuration searches it, and `there` if its
    directory is not empty, as that of a disk which is not mounted is.
    """

    path: str
    skills: int
    size: int
    vectors: int
    read_at: float
    used: bool
    there: bool

    @property
    def is_forgettable(self) -> bool:
        """Whether its rows may be dropped: a root that exists and is used here would be indexed again at once."""
        return not (self.used and self.there)

    @property
    def facts(self) -> str:
        """How much the index has of it, such as `12 skills of 34 kB, 12 vectors, last read 2026-10-01`."""
        vectors = f", {plural(self.vectors, 'vector')}" if self.vectors else ""
        read = f", last read {self._day}" if self._day else ""
        return f"{plural(self.skills, 'skill')} of {decimal(self.size)}{vectors}{read}"

    def as_json(self) -> dict[str, object]:
        """Return the facts as JSON values."""
        known = {name: getattr(self, name) for name in ("path", "there", "skills", "vectors")}
        return known | {"bytes": self.size, "read_at": self._day or None}

    @property
    def _day(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self.read_at)) if self.read_at else ""


def indexed_roots(states: Iterable[IndexState], used: Collection[str]) -> tuple[IndexedRoot, ...]:
    """Return the roots that the indexes of one database have, by path."""
    found: dict[str, IndexedRoot] = {}
    for state in states:
        for path, own in state.roots.items():
            stamps = [entry.stamp for entry in own.files.values() if row_of(entry) is not None]
            one = IndexedRoot(
                path,
                len(stamps),
                sum(stamp.size for stamp in stamps),
                0 if state.embedder == NO_EMBEDDING else max(0, len(stamps) - own.unembedded),
                max((stamp.read_at_ns for stamp in stamps), default=0) / 1e9,
                used=path in used,
                there=_is_there(path),
            )
            # The same skills may be in the index of another embedder: the newer look counts.
            other = found.get(path, one)
            vectors = one.vectors if other is one else one.vectors + other.vectors
            found[path] = replace(max(one, other, key=lambda each: each.read_at), vectors=vectors)
    return tuple(found[path] for path in sorted(found))


def roots_to_forget(typed: Sequence[str], roots: Sequence[IndexedRoot]) -> tuple[IndexedRoot, ...]:
    """Return the roots that are `typed`: by their path, or by that of a directory above them, as a project's.

    Raises InvalidArgument for a root in use, and for a path without roots.
    """
    chosen: dict[str, IndexedRoot] = {}
    for given in typed:
        path = os.path.abspath(expand_home(given))
        below = [one for one in roots if is_at_or_below(one.path, path)]
        unused = [one for one in below if one.is_forgettable]
        if below and (not unused or any(one.path == path and not one.is_forgettable for one in below)):
            named = next(one.path for one in below if not one.is_forgettable)
            raise InvalidArgument(
                _OPTION,
                f"is not for {named}: it is a root of this configuration, and would be indexed again at once",
                hint="take it out of SKILLS_DIR, or `skillhub roots remove` it, first",
            )
        if not below:
            near = near_names(path, [one.path for one in roots if one.is_forgettable])
            hint = f"did you mean {' or '.join(near)}?" if near else "`skillhub index --forget` lists the roots"
            raise InvalidArgument(_OPTION, f"{path}: the index has no root of that name", hint=hint)
        chosen.update((one.path, one) for one in unused)
    return tuple(chosen.values())


def _is_there(path: str) -> bool:
    try:
        return bool(os.listdir(path))
    except OSError:
        return False
