"""What a search asks of an index, wherever the rows are: `held_index` has them in memory, `lance` in LanceDB."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from skillhub_mcp.index.filter import NO_FILTER, Filter

if TYPE_CHECKING:
    from skillhub_mcp.analysis.spelling import Speller
    from skillhub_mcp.embedders.base import Vector
    from skillhub_mcp.index.candidate import Candidate
    from skillhub_mcp.index.features import Terms
    from skillhub_mcp.index.lance import LanceIndex
    from skillhub_mcp.index.statistics import Statistics


class SkillIndex(Protocol):
    """One complete version of an index, for queries. Safe to use from several threads.

    `dimension` is the length of the vectors, or None where there are none to search. `statistics` are those of all
    rows, and `speller` knows their words. Every method may raise IndexDamaged.
    """

    version: int
    table_id: str
    dimension: int | None
    statistics: Statistics
    speller: Speller

    @property
    def lacks_vectors(self) -> bool:
        """Whether some rows have no vector."""

    @property
    def table(self) -> LanceIndex:
        """The same version in LanceDB, which is loaded for it: what the rows are, however they are searched."""

    def match_terms(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        among: frozenset[str],
        vector: Vector | None = None,
        where: Filter = NO_FILTER,
    ) -> list[Candidate]:
        """Return up to `limit` rows of `among` that have any of the analysed `terms`, by plain BM25.

        With a `vector`, each candidate has the cosine of its own vector to it. Every row of `among` passes `where`,
        which may spare reading others.
        """

    def nearest(
        self, vector: Vector, *, limit: int, among: frozenset[str], where: Filter = NO_FILTER
    ) -> list[Candidate]:
        """Return the `limit` rows of `among` nearest to `vector` by cosine."""

    def get_rows(self, directories: Collection[str], vector: Vector | None = None) -> list[Candidate]:
        """Return the rows of those directories, whether or not they match a query."""

    def terms_of(self, candidates: Sequence[Candidate]) -> Terms:
        """Return the terms of rows of this index, for scoring."""
