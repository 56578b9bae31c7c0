"""One version of the index, as a search reads it: which skills have a term and what that is worth, and their vectors.

It reads segments (`segment`), which lie beside the table: LanceDB is not loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.features import Occurrences, hash_term, unpack_counts
from skillhub_mcp.index.impacts import ALL_FIELDS, impact
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.nearness_scale import NearnessScale, nearness_scale
from skillhub_mcp.index.segment import Segment, are_numbers, worth

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector
    from skillhub_mcp.index.lance import LanceIndex
    from skillhub_mcp.index.statistics import Statistics


class SkillIndex:
    """One complete version of an index, for queries. Safe to use from several threads.

    Skills have numbers from 0 on. `directories` are theirs by number; where it is "", there is no skill any more, and
    no answer has that number. `dimension` is the length of the vectors, or None where there are none to search, and
    `lacks_vectors` says whether some skill has none. `statistics` are those of all skills, and `speller` knows their
    words. Impacts were computed with `mean_lengths`, which the statistics may be a little ahead of.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        statistics: Statistics,
        *,
        version: int,
        table_id: str,
        open_table: Callable[[], LanceIndex],
        with_vectors: bool = True,
    ) -> None:
        import numpy as np

        self.version = version
        self.table_id = table_id
        self.statistics = statistics
        self.speller = Speller(statistics.words)
        self.mean_lengths = segments[0].mean_lengths
        self._open_table = open_table
        directories: list[str] = []
        parts: list[_Part] = []
        alive: list[NDArray[Any]] = []
        embedded: list[NDArray[Any]] = []
        for segment in segments:
            skills = segment.skills
            if parts and len(segment.gone):
                earlier = np.ones(len(directories), dtype=bool)
                earlier[segment.gone] = False
                parts[-1] = _Part(segments[0], 0, earlier)
                alive = [earlier]
                for number in segment.gone.tolist():
                    directories[number] = ""
            parts.append(_Part(segment, len(directories), None))
            alive.append(np.ones(len(skills.directories), dtype=bool))
            embedded.append(skills.embedded)
            directories += skills.directories
        self.directories: Sequence[str] = directories
        self._parts = parts
        self._lengths = np.concatenate([segment.skills.lengths for segment in segments])
        self._alive = np.concatenate(alive)
        self._embedded = np.concatenate(embedded) & self._alive
        dimensions = {part.vectors.shape[1] for part in parts if part.vectors is not None}
        self.dimension = int(max(dimensions)) if with_vectors and dimensions else None
        self.lacks_vectors = self.dimension is None or bool((self._alive & ~self._embedded).any())
        self._last_members: tuple[frozenset[str], NDArray[Any]] | None = None

    @cached_property
    def table(self) -> LanceIndex:
        """The same version in LanceDB, which is loaded for it. Raises IndexDamaged."""
        return self._open_table()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {directory: number for number, directory in enumerate(self.directories) if directory}

    def number(self, directory: str) -> int | None:
        """Return the number of the skill in a directory, or None where the index has none there."""
        return self._numbers.get(directory)

    def members(self, among: frozenset[str]) -> NDArray[Any]:
        """Return of each number whether its directory is in `among`: shape (skills,), not to be written to.

        The last answer is cached, as `among` is mostly the same from one query to the next. It is compared by identity:
        comparing by value takes as long as working it out.
        """
        import numpy as np

        known = self._last_members
        if known is None or known[0] is not among:
            members = (directory in among for directory in self.directories)
            found = np.fromiter(members, dtype=bool, count=len(self.directories))
            found &= self._alive
            found.flags.writeable = False
            known = self._last_members = (among, found)
        return known[1]

    def postings(self, term: str, *, fields: frozenset[str] = ALL_FIELDS) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of the skills that have an analysed term, ascending, and its impact on each.

        Shapes (n,): int32 and float32. With other `fields` those alone are looked at, which takes longer. Raises
        IndexDamaged.
        """
        import numpy as np

        wanted = hash_term(term)
        owners, impacts = [], []
        for part in self._parts:
            each = part.postings(wanted)
            own = part.segment.skills.owners[each]
            if not are_numbers(own, len(part.segment.skills.directories)):
                raise IndexDamaged("its postings name skills that there are not")
            if fields == ALL_FIELDS:
                worths = worth(part.segment.impacts[each])
            else:
                counts = unpack_counts(part.segment.skills.counts[each])
                worths = impact(counts, part.segment.skills.lengths[own], self.mean_lengths, fields=fields)
            kept = None
            if fields != ALL_FIELDS:
                kept = worths > 0.0
            if part.alive is not None:
                kept = part.alive[own] if kept is None else kept & part.alive[own]
            if kept is not None:
                own, worths = own[kept], worths[kept]
            owners.append(own + np.int32(part.begin) if part.begin else own)
            impacts.append(worths)
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
        for part in self._parts:
            ours = part.places(wanted)
            own_numbers = (wanted[ours] - part.begin).astype(np.int32)
            for index, term in enumerate(terms):
                each = part.postings(hash_term(term))
                owners = part.segment.skills.owners[each]
                if not len(owners) or not len(ours):
                    continue
                places = owners.searchsorted(own_numbers)
                # Of a damaged file, whose owners do not ascend, this may find none; never one that is not there.
                found = owners[np.minimum(places, len(owners) - 1)] == own_numbers
                rows.append(ours[found])
                indices.append(np.full(len(rows[-1]), index))
                counts.append(part.segment.skills.counts[each][places[found]])
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
            if part.vectors is not None and len(ours):
                cosines[ours] = part.vectors[wanted[ours] - part.begin] @ asked
        return cosines

    def nearest(self, vector: Vector, limit: int, among: frozenset[str]) -> NDArray[Any]:
        """Return the numbers of up to `limit` skills of `among` whose vectors are nearest to `vector`, best first."""
        import numpy as np

        none = np.zeros(0, dtype=np.intp)
        if self.dimension != len(vector) or limit < 1:
            return none
        numbers = (self.members(among) & self._embedded).nonzero()[0]
        asked = np.array(vector, dtype=np.float32)
        # Of all rows: copying most of them takes longer than a cosine of each.
        cosines = np.concatenate(
            [
                np.zeros(len(part.segment.skills.directories), np.float32)
                if part.vectors is None
                else part.vectors @ asked
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
        largest = max(self._parts, key=lambda part: len(part.segment.skills.directories))
        if self.dimension is None or largest.vectors is None:
            return None
        end = largest.begin + len(largest.segment.skills.directories)
        return nearness_scale(largest.vectors, self._embedded[largest.begin : end])


@dataclass(frozen=True, slots=True)
class _Part:
    """A segment whose skills have the numbers from `begin` on; `alive` says which there still are, None for all."""

    segment: Segment
    begin: int
    alive: NDArray[Any] | None

    @property
    def vectors(self) -> NDArray[Any] | None:
        return self.segment.skills.vectors

    def postings(self, wanted: int) -> slice:
        """Return where the postings of a term's hash are."""
        import numpy as np

        skills = self.segment.skills
        # As the type of the hashes: any other has them converted, all of them.
        at = int(skills.hashes.searchsorted(np.uint32(wanted)))
        if at == len(skills.hashes) or int(skills.hashes[at]) != wanted:
            return slice(0, 0)
        return slice(int(skills.starts[at]), int(skills.starts[at + 1]))

    def places(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return which of the index's `numbers` are of this segment, and of skills that there still are."""
        own = (numbers >= self.begin) & (numbers < self.begin + len(self.segment.skills.directories))
        found: NDArray[Any] = own.nonzero()[0]
        return found if self.alive is None else found[self.alive[numbers[found] - self.begin]]
