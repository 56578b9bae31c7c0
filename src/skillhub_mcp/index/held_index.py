"""A small library's index in memory: the rows, their terms inverted, and their vectors as one matrix."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.candidate import Candidate
from skillhub_mcp.index.filter import NO_FILTER, Filter
from skillhub_mcp.index.postings import Postings

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector
    from skillhub_mcp.index.features import Terms
    from skillhub_mcp.index.held_rows import HeldRows
    from skillhub_mcp.index.lance import LanceIndex
    from skillhub_mcp.index.statistics import Statistics


class HeldIndex:
    """A `SkillIndex` over rows in memory. `open_table` opens the version of the table that they are a copy of."""

    def __init__(
        self,
        rows: HeldRows,
        statistics: Statistics,
        *,
        version: int,
        table_id: str,
        open_table: Callable[[], LanceIndex],
    ) -> None:
        self.version = version
        self.table_id = table_id
        self.dimension = None if rows.vectors is None else int(rows.vectors.shape[1])
        self.statistics = statistics
        self.speller = Speller(statistics.words)
        self.lacks_vectors = not (self.dimension is not None and rows.embedded.all())
        self._rows = rows
        self._numbers = {directory: number for number, directory in enumerate(rows.directories)}
        self._postings = Postings(rows.features)
        self._open_table = open_table
        self._last_members: tuple[frozenset[str], NDArray[Any]] | None = None

    @cached_property
    def table(self) -> LanceIndex:
        """The same version in LanceDB, which is loaded for it. Raises IndexDamaged."""
        return self._open_table()

    def match_terms(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        among: frozenset[str],
        vector: Vector | None = None,
        where: Filter = NO_FILTER,
    ) -> list[Candidate]:
        """Return up to `limit` rows of `among` that have any of the analysed `terms`, by plain BM25."""
        del where
        if not among or limit < 1:
            return []
        members = self._members(among)
        return self._candidates(
            self._postings.find(terms, limit=limit, among=members, rarity=self.statistics.rarity), vector
        )

    def nearest_rows(
        self, vector: Vector, *, limit: int, among: frozenset[str], where: Filter = NO_FILTER
    ) -> list[Candidate]:
        """Return the `limit` rows of `among` nearest to `vector` by cosine."""
        del where
        if self._rows.vectors is None or self.dimension != len(vector):
            return []
        # Of all rows: copying most of them takes longer than a cosine of each.
        cosines = _cosines(self._rows.vectors, vector)
        numbers = (self._members(among) & self._rows.embedded).nonzero()[0]
        best = numbers[(-cosines[numbers]).argsort(kind="stable")[: max(0, limit)]]
        return [self._candidate(number, float(cosines[number])) for number in best.tolist()]

    def get_rows(self, directories: Collection[str], vector: Vector | None = None) -> list[Candidate]:
        """Return the rows of those directories, whether or not they match a query."""
        return self._candidates([self._numbers[one] for one in directories if one in self._numbers], vector)

    def terms_of(self, candidates: Sequence[Candidate]) -> Terms:
        """Return the terms of rows of this index, for scoring."""
        return self._postings.terms_of([self._numbers[one.directory] for one in candidates])

    def _members(self, among: frozenset[str]) -> NDArray[Any]:
        """Return of each row whether it is in `among`: shape (rows,).

        The last answer is cached, as `among` is mostly the same from one query to the next. It is compared by identity:
        comparing by value takes as long as working it out.
        """
        import numpy as np

        known = self._last_members
        if known is None or known[0] is not among:
            members = (directory in among for directory in self._rows.directories)
            known = self._last_members = (among, np.fromiter(members, dtype=bool, count=len(self._rows.directories)))
        return known[1]

    def _candidates(self, numbers: Sequence[int], vector: Vector | None) -> list[Candidate]:
        if vector is None or self._rows.vectors is None or self.dimension != len(vector):
            return [self._candidate(number, None) for number in numbers]
        embedded = self._rows.embedded
        cosines = _cosines(self._rows.vectors[list(numbers)], vector).tolist()
        return [
            self._candidate(number, cosine if embedded[number] else None)
            for number, cosine in zip(numbers, cosines, strict=True)
        ]

    def _candidate(self, number: int, nearness: float | None) -> Candidate:
        return Candidate(self._rows.directories[number], self._rows.features[number], nearness)


def _cosines(vectors: NDArray[Any], vector: Vector) -> NDArray[Any]:
    """Return the cosine of each of those rows to `vector`, all of length 1; 0 for a row of zeros."""
    import numpy as np

    cosines: NDArray[Any] = vectors @ np.array(vector, dtype=np.float32)
    return cosines
