"""One version of the index, as a search reads it: which skills have a term and what that is worth, and their vectors.

It reads segments (`segment`), which lie beside the table: LanceDB is not loaded.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import Occurrences, hash_term, unpack_counts
from skillhub_mcp.index.impacts import ALL_FIELDS, impact
from skillhub_mcp.index.keys import PathKeys, RowKeys
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.nearness_scale import NearnessScale, nearness_scale
from skillhub_mcp.index.segment import Segment, are_numbers, read_keys, worth

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector
    from skillhub_mcp.index.lance import LanceIndex
    from skillhub_mcp.index.statistics import Statistics


_PATHS = PathKeys()
_IDLE_SECONDS = 1.0
# As many as there are callers whose skills are remembered: a byte for each skill.
_KEPT_MEMBERS = 32
_BLOCK_SKILLS = 8_192


class SkillIndex:
    """One complete version of an index, for queries. Safe to use from several threads.

    Skills have numbers from 0 on. `directories` are theirs by number, as `keys` say; where it is "", there is no skill
    any more, and no answer has that number. `dimension` is the length of the vectors, or None where there are none to
    search, and `lacks_vectors` says whether some skill has none. `statistics` are those of all skills, and `speller`
    knows their words. `segments` are what it reads. Impacts were computed with `mean_lengths`, which the statistics may
    be a little ahead of. What an earlier version, `before`, knows of a segment that both read is taken over.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        statistics: Statistics,
        *,
        version: int,
        table_id: str,
        open_table: Callable[[], LanceIndex],
        keys: RowKeys = _PATHS,
        with_vectors: bool = True,
        before: SkillIndex | None = None,
    ) -> None:
        import numpy as np

        # What the files say of keys is read again by who asks for them: of a large library it is all in `directories`.
        self.segments = tuple(replace(one, skills=replace(one.skills, keys=())) for one in segments)
        self.keys = keys
        self.version = version
        self.table_id = table_id
        self.statistics = statistics
        self.speller = statistics.speller
        self.mean_lengths = segments[0].mean_lengths
        self._open_table = open_table
        self.directories: Sequence[str] = _directories(segments, keys, before)
        self._alive = np.fromiter(map(bool, self.directories), dtype=bool, count=len(self.directories))
        self._parts: list[_Part] = []
        begin = 0
        # Of the segments without their keys: a part of one with them would keep these.
        for segment in self.segments:
            alive = self._alive[begin : begin + len(segment.skills.lengths)]
            self._parts.append(_Part(segment, begin, None if alive.all() else alive))
            begin += len(alive)
        self._lengths = np.concatenate([segment.skills.lengths for segment in segments])
        self._embedded = np.concatenate([segment.skills.embedded for segment in segments]) & self._alive
        dimensions = {skills.vectors.shape[1] for one in segments if (skills := one.skills).vectors is not None}
        self.dimension = int(max(dimensions)) if with_vectors and dimensions else None
        self.lacks_vectors = self.dimension is None or bool((self._alive & ~self._embedded).any())
        self._members: deque[tuple[frozenset[str], NDArray[Any]]] = deque(maxlen=_KEPT_MEMBERS)
        # When it was last asked, and whether it holds what was read for that.
        self._asked_at, self._holds_pages = time.monotonic(), True

    @cached_property
    def table(self) -> LanceIndex:
        """The same version in LanceDB, which is loaded for it. Raises IndexDamaged."""
        return self._open_table()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {directory: number for number, directory in enumerate(self.directories) if directory}

    def rest(self) -> None:
        """Give back the memory of what was read of the files, if nothing was asked for a second.

        The system keeps them while it has room: then asking again costs as much as before, and reads nothing.
        """
        if self._holds_pages and time.monotonic() - self._asked_at > _IDLE_SECONDS:
            self._holds_pages = False
            for segment in self.segments:
                segment.stored.release()

    def number(self, directory: str) -> int | None:
        """Return the number of the skill in a directory, or None where the index has none there."""
        return self._numbers.get(directory)

    def directories_of(self, segment: Segment, *, gone: Sequence[int]) -> list[str] | None:
        """Return the directories of the skills of a segment, where this index reads it too, and has all but the `gone`.

        None where they are to be worked out.
        """
        own = self._parts[0]
        if self.segments[0].mark != segment.mark or own.missing() - set(gone):
            return None
        return list(self.directories[: own.end])

    def row_keys(self) -> list[str]:
        """Return the keys of the rows by number, "" where there is no skill any more. Reads them anew."""
        found = [key for segment in self.segments for key in read_keys(segment)]
        return [key if alive else "" for key, alive in zip(found, self._alive.tolist(), strict=True)]

    def has_vector(self, directory: str) -> bool:
        """Whether the skill in a directory has a vector; not so where the index has no skill there."""
        number = self.number(directory)
        return number is not None and bool(self._embedded[number])

    def members(self, among: frozenset[str]) -> NDArray[Any]:
        """Return of each number whether its directory is in `among`: shape (skills,), not to be written to.

        The last answers are kept, as `among` is mostly the same from one query to the next. It is compared by identity:
        comparing by value takes as long as working it out.
        """
        import numpy as np

        for known, found in tuple(self._members):
            if known is among:
                return found
        found = self._alive.copy()
        for begin in range(0, len(found), _BLOCK_SKILLS):
            # Nobody else goes on while one array is made: of a large library that takes as long as a search.
            some = self.directories[begin : begin + _BLOCK_SKILLS]
            found[begin : begin + len(some)] &= np.fromiter(map(among.__contains__, some), bool, count=len(some))
        found.flags.writeable = False
        self._members.append((among, found))
        return found

    def prepare(self, every: Iterable[frozenset[str]]) -> None:
        """Work out what searches ask for again and again: `members` of each, and what a cosine means."""
        for among in every:
            self.members(among)
        _ = self.nearness_scale

    def postings(self, term: str, *, fields: frozenset[str] = ALL_FIELDS) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of the skills that have an analysed term, ascending, and its impact on each.

        Shapes (n,): int32 and float32. With other `fields` those alone are looked at, which takes longer. Raises
        IndexDamaged.
        """
        import numpy as np

        self._asked_at, self._holds_pages = time.monotonic(), True
        wanted = hash_term(term)
        owners, impacts = zip(*(part.postings(wanted, fields, self.mean_lengths) for part in self._parts), strict=True)
        if len(owners) == 1:
            return owners[0], impacts[0]
        return np.concatenate(owners), np.concatenate(impacts)

    def occurrences(self, terms: Sequence[str], numbers: Sequence[int] | NDArray[Any]) -> Occurrences:
        """Return how often each of those skills has each of the terms, by field; `rows` are places in `numbers`.

        Raises IndexDamaged.
        """
        import numpy as np

        wanted = np.array(numbers, dtype=np.int64)
        indices, rows, counts = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype="<u4")]
        hashes = [hash_term(term) for term in terms]
        for part in self._parts:
            ours = part.places(wanted)
            own_numbers = (wanted[ours] - part.begin).astype(np.int32)
            for index, each in enumerate(map(part.find, hashes) if len(ours) else ()):
                owners = part.skills.owners[each]
                if not len(owners):
                    continue
                places = owners.searchsorted(own_numbers)
                # Of a damaged file, whose owners do not ascend, this may find none; never one that is not there.
                found = owners[np.minimum(places, len(owners) - 1)] == own_numbers
                rows.append(ours[found])
                indices.append(np.full(len(rows[-1]), index))
                counts.append(part.skills.counts[each][places[found]])
        return Occurrences(np.concatenate(indices), np.concatenate(rows), unpack_counts(np.concatenate(counts)))

    def lengths(self, numbers: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """Return the lengths of those skills' fields in terms: shape (n, fields)."""
        import numpy as np

        found: NDArray[Any] = self._lengths[np.array(numbers, dtype=np.intp)]
        return found

    def cosines(self, vector: Vector, numbers: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """Return the cosine of each of those skills' vectors to `vector`: shape (n,), float32, nan where it has none.

        All vectors have a length of 1.
        """
        import numpy as np

        wanted = np.array(numbers, dtype=np.int64)
        cosines = np.full(len(wanted), np.nan, dtype=np.float32)
        if self.dimension != len(vector):
            return cosines
        asked = np.array(vector, dtype=np.float32)
        for part in self._parts:
            ours = part.places(wanted)
            ours = ours[self._embedded[wanted[ours]]]
            if part.skills.vectors is not None and len(ours):
                cosines[ours] = part.skills.vectors[wanted[ours] - part.begin] @ asked
        return cosines

    def nearest(self, vector: Vector, limit: int, among: frozenset[str]) -> NDArray[Any]:
        """Return the numbers of up to `limit` skills of `among` whose vectors are nearest to `vector`, best first."""
        import numpy as np

        self._asked_at, self._holds_pages = time.monotonic(), True
        none = np.zeros(0, dtype=np.intp)
        if self.dimension != len(vector) or limit < 1:
            return none
        numbers = (self.members(among) & self._embedded).nonzero()[0]
        asked = np.array(vector, dtype=np.float32)
        # Of all rows: copying most of them takes longer than a cosine of each.
        cosines = np.concatenate(
            [
                np.zeros(part.end - part.begin, np.float32)
                if part.skills.vectors is None
                else part.skills.vectors @ asked
                for part in self._parts
            ]
        )[numbers]
        if limit < len(numbers):
            best = cosines >= np.partition(cosines, -limit)[-limit]
            numbers, cosines = numbers[best], cosines[best]
        found: NDArray[Any] = numbers[(-cosines).argsort(kind="stable")[:limit]]
        return found

    @cached_property
    def nearness_scale(self) -> NearnessScale | None:
        """What a cosine means with the model that made the vectors; None where there are too few of them."""
        largest = max(self._parts, key=lambda part: part.end - part.begin)
        if self.dimension is None or largest.skills.vectors is None:
            return None
        found = nearness_scale(largest.skills.vectors, self._embedded[largest.begin : largest.end])
        # The sample lies all over the file, of which some systems map two megabytes for each row that is read.
        largest.stored.release()
        return found


def _directories(segments: Sequence[Segment], keys: RowKeys, before: SkillIndex | None) -> list[str]:
    """Return the directories of the skills of all segments by number, "" where there is no skill any more."""
    base, *additions = segments
    known = None
    if before is not None and before.keys == keys:
        # Of a large library this takes longer than the rest of a change.
        known = before.directories_of(base, gone=[number for one in additions for number in one.gone.tolist()])
    found = keys.directories(base.skills.keys) if known is None else known
    for one in additions:
        for number in one.gone.tolist():
            found[number] = ""
        found += keys.directories(one.skills.keys)
    return found


class _Part:
    """A segment whose skills have the numbers from `begin` on; `alive` says which there still are, None for all."""

    def __init__(self, segment: Segment, begin: int, alive: NDArray[Any] | None) -> None:
        self.skills = segment.skills
        self.stored = segment.stored
        self.begin = begin
        self.end = begin + len(segment.skills.lengths)
        self._count = len(segment.skills.lengths)
        self._impacts = segment.impacts
        self._alive = alive

    def missing(self) -> set[int]:
        """Return the numbers of the skills that there are no more."""
        return set() if self._alive is None else set((~self._alive).nonzero()[0].tolist())

    def find(self, wanted: int) -> slice:
        """Return where the postings of a term's hash are."""
        import numpy as np

        hashes, starts = self.skills.hashes, self.skills.starts
        # As the type of the hashes: any other has them converted, all of them.
        at = int(hashes.searchsorted(np.uint32(wanted)))
        if at == len(hashes) or int(hashes[at]) != wanted:
            return slice(0, 0)
        return slice(int(starts[at]), int(starts[at + 1]))

    def postings(
        self, wanted: int, fields: frozenset[str], mean_lengths: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of the skills that have a term, and its impact on each. Raises IndexDamaged."""
        import numpy as np

        each = self.find(wanted)
        own = self.skills.owners[each]
        if not are_numbers(own, self._count):
            raise IndexDamaged("its postings name skills that there are not")
        if fields == ALL_FIELDS:
            impacts = worth(self._impacts[each])
        else:
            impacts = impact(
                unpack_counts(self.skills.counts[each]), self.skills.lengths[own], mean_lengths, fields=fields
            )
            having = impacts > 0.0
            own, impacts = own[having], impacts[having]
        if self._alive is not None:
            alive = self._alive[own]
            own, impacts = own[alive], impacts[alive]
        return (own + np.int32(self.begin) if self.begin else own), impacts

    def places(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return which of the index's `numbers` are of this segment, and of skills that there still are."""
        own = (numbers >= self.begin) & (numbers < self.end)
        found: NDArray[Any] = own.nonzero()[0]
        return found if self._alive is None else found[self._alive[numbers[found] - self.begin]]
