"""A snapshot of skills each of which is made when somebody asks for it: of a large library hardly any is.

It says what `make_snapshot` says of the same skills. Whoever goes through all of them has all made at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import overload

from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import odd_names
from skillhub_mcp.skills.snapshot import ScanReport, Snapshot, make_snapshot, trusted


@dataclass(frozen=True, slots=True)
class UnreadSkills:
    """Skills by number, of which names and directories are known; no two have one directory.

    `make` makes those of some numbers, in their order. `unchoosable` are the numbers of those that models may not
    choose.
    """

    names: Sequence[str]
    directories: Sequence[str]
    unchoosable: Collection[int]
    make: Callable[[Sequence[int]], Iterable[Skill]]


def late_snapshot(skills: UnreadSkills, report: ScanReport) -> Snapshot:
    """Resolve name conflicts and return the snapshot. Of shadowed skills the `report` says nothing yet.

    Only skills whose name another has, too, or which have another alias, are made for it.
    """
    late = _LateSkills(skills, report)
    names, directories = skills.names, skills.directories
    numbers = dict(zip(names, count()))
    settled = _settled(late, numbers, report)
    for name, group in settled.contested.items():
        numbers[name] = late.number(group[0])
    served = numbers.values()
    snapshot = replace(
        settled,
        skills=_Ordered(late, served, key=names.__getitem__),
        everything=_Ordered(late, range(len(names)), key=directories.__getitem__),
        _by_name=_Keyed(late, numbers),
        _by_directory=_Keyed(late, late.numbers),
    )
    # In the place of the cached value: nobody goes through all skills for it.
    vars(snapshot)["choosable"] = frozenset(
        directories[number] for number in served if number not in skills.unchoosable
    )
    return snapshot


def _settled(late: _LateSkills, last: Mapping[str, int], report: ScanReport) -> Snapshot:
    """Return the snapshot of the skills alone that say something of others: those of one name, and with an alias.

    `last` has the number of the last skill of each name.
    """
    names = late.skills.names
    odd = set(odd_names(last))
    if len(last) < len(names):
        odd.update(name for number, name in enumerate(names) if last[name] != number)
    numbers = [number for number, name in enumerate(names) if name in odd] if odd else []
    return make_snapshot(late.some(numbers), report)


class _LateSkills:
    """The skills, each made once."""

    def __init__(self, skills: UnreadSkills, report: ScanReport) -> None:
        self.skills = skills
        self._roots = report.roots
        self._made: dict[int, Skill] = {}
        self._lock = threading.Lock()

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each by its directory."""
        return dict(zip(self.skills.directories, count()))

    def number(self, skill: Skill) -> int:
        """Return the number of a skill."""
        return self.numbers[skill.directory]

    def some(self, numbers: Sequence[int]) -> list[Skill]:
        """Return the skills with these numbers, in their order."""
        with self._lock:
            new = [number for number in numbers if number not in self._made]
            self._made.update(zip(new, trusted(self.skills.make(new), self._roots), strict=True))
            return [self._made[number] for number in numbers]

    def one(self, number: int) -> Skill:
        """Return the skill with that number."""
        known = self._made.get(number)
        return self.some([number])[0] if known is None else known


class _Ordered(Sequence[Skill]):
    """The skills of some numbers, sorted by what `key` says of these."""

    def __init__(self, late: _LateSkills, numbers: Collection[int], *, key: Callable[[int], str]) -> None:
        self._late, self._unsorted, self._key = late, numbers, key

    @cached_property
    def _numbers(self) -> list[int]:
        return sorted(self._unsorted, key=self._key)

    @overload
    def __getitem__(self, at: int) -> Skill: ...
    @overload
    def __getitem__(self, at: slice) -> list[Skill]: ...
    def __getitem__(self, at: int | slice) -> Skill | list[Skill]:
        """Return the skill at that place, or those of a slice."""
        if isinstance(at, slice):
            return self._late.some(self._numbers[at])
        return self._late.one(self._numbers[at])

    def __len__(self) -> int:
        return len(self._unsorted)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._late.some(self._numbers))


class _Keyed(Mapping[str, Skill]):
    """Skills by name or directory, by the numbers that these have."""

    def __init__(self, late: _LateSkills, numbers: Mapping[str, int]) -> None:
        self._late, self._numbers = late, numbers

    def __getitem__(self, key: str) -> Skill:
        return self._late.one(self._numbers[key])

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
