"""The index of one view, as a search reads it: a table version restricted to the view's roots, opened when needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.index.filter import path_in
from skillhub_mcp.index.keys import LibraryKeys
from skillhub_mcp.index.nearness_scale import NearnessScale
from skillhub_mcp.index.row_block import RowBlock, empty_block
from skillhub_mcp.index.state_file import TableVersionId
from skillhub_mcp.index.statistics import Statistics
from skillhub_mcp.index.table import TableVersion, roots_condition

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector

# Rows in memory: about 4 KB each, and as much again for a vector of 1,000 numbers.
_MOST_ROWS = 4_096


@dataclass(frozen=True, slots=True)
class IndexContents:
    """What a search index says of its rows without reading them.

    `keys` are those of the view's roots. `embedded` says whether vectors may be asked for, and `unembedded` how many
    rows have none.
    """

    keys: LibraryKeys
    labels: frozenset[str]
    embedded: bool = False
    unembedded: int = 0


class SearchIndex:
    """One version of the index. Safe to use from several threads; what reads the table raises IndexDamaged.

    `open_table` and `count` are called once, when they are first needed.
    """

    def __init__(
        self,
        contents: IndexContents,
        *,
        published: TableVersionId,
        open_table: Callable[[], TableVersion],
        count: Callable[[TableVersion], Statistics],
    ) -> None:
        self.published = published
        self.contents = contents
        self._open_table = open_table
        self._count = count
        self._opening = threading.Lock()
        self._opened: tuple[TableVersion, Statistics] | None = None
        self._block: RowBlock | None = None
        self.keys = contents.keys

    @property
    def table(self) -> TableVersion:
        """The version of the table, which is opened for it."""
        return self._open()[0]

    @property
    def statistics(self) -> Statistics:
        """The statistics of the skills of the view's roots."""
        return self._open()[1]

    @cached_property
    def nearness_scale(self) -> NearnessScale | None:
        """What a cosine means with the model that made the vectors; None for too few of them."""
        return self.table.nearness_scale(self._roots)

    @property
    def dimension(self) -> int | None:
        """The length of the vectors; None if there are none to search."""
        return self.table.dimension if self.contents.embedded else None

    @property
    def lacks_vectors(self) -> bool:
        """Whether some skill has no vector."""
        return self.dimension is None or self.contents.unembedded > 0

    def find(
        self,
        terms: Iterable[str],
        *,
        most: int,
        vector: Vector | None = None,
        nearest: int = 0,
        among: Collection[str] | None = None,
    ) -> tuple[RowBlock, NDArray[Any], NDArray[Any]]:
        """Return a block with the rows that were found, and their places: by terms, and by vector, best first.

        With `among`, a collection of keys, only those rows.
        """
        condition = self._roots if among is None else f"{self._roots} AND {path_in(sorted(among))}"
        own = vector if self.contents.embedded else None
        by_terms, by_vector = self.table.find(
            tuple(dict.fromkeys(terms)), most=most, vector=own, nearest=nearest, condition=condition
        )
        block = self._with_ids(by_terms, by_vector)
        return block, _known(block.places(by_terms)), _known(block.places(by_vector))

    def with_rows(self, block: RowBlock, keys: Sequence[str]) -> RowBlock:
        """Return a block that also has the rows with some keys. Places stay valid."""
        if all(block.place_of(key) < 0 for key in keys):
            block = self._keep(block, self.table.rows_with(keys))
        return block

    def _with_ids(self, *ids: NDArray[Any]) -> RowBlock:
        import numpy as np

        wanted = np.unique(np.concatenate(ids))
        block = self._present_block()
        missing = wanted[block.places(wanted) < 0]
        if not len(missing):
            return block
        if len(block.keys) + len(missing) > _MOST_ROWS:
            block, missing = empty_block(self.table.dimension), wanted
        return self._keep(block, self.table.rows(missing))

    def _keep(self, block: RowBlock, rows: RowBlock) -> RowBlock:
        # What another thread has added meanwhile is read again when it is asked for again.
        self._block = block = block.with_rows(rows)
        return block

    def _present_block(self) -> RowBlock:
        return self._block or empty_block(self.table.dimension)

    def _open(self) -> tuple[TableVersion, Statistics]:
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    table = self._open_table()
                    self._opened = table, self._count(table)
        return self._opened

    @cached_property
    def _roots(self) -> str:
        return roots_condition(self.contents.labels)


def _known(places: NDArray[Any]) -> NDArray[Any]:
    return places[places >= 0]
