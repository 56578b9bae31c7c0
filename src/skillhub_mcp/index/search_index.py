"""The index of one view, as a search reads it: a table version restricted to the view's roots, opened when needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.index.lance import is_in
from skillhub_mcp.index.state_file import LibraryKeys, TableVersionId
from skillhub_mcp.index.statistics import Statistics
from skillhub_mcp.index.table import RowBlock, TableVersion, empty_block

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector

# Rows in memory: about 4 KB each, and as much again for a vector of 1,000 numbers.
_MOST_ROWS = 4_096
# Of fewer skills there are too few pairs to say which is usual.
FEWEST_SKILLS = 8
# A pair as near as the nearest hundredth of all has one subject. Unlike the nearest neighbour of each skill, that does
# not depend on how many skills there are, nor on copies.
_NEAR_SHARE = 0.99
_SMALLEST_SPAN = 1e-3


@dataclass(frozen=True, slots=True)
class NearnessScale:
    """The usual cosine of two skills that have nothing in common (`far`), and of two with one subject (`near`)."""

    far: float
    near: float

    def share(self, cosines: NDArray[Any], *, least: float = 0.0) -> NDArray[Any]:
        """Return how near each cosine is: 0 at `far`, one half at `near`, 1 as far beyond it or farther; 0 for nan.

        What is farther than `far` has a share below 0, down to `least`.
        """
        import numpy as np

        shares = (cosines - self.far) / (2.0 * max(self.near - self.far, _SMALLEST_SPAN))
        clipped: NDArray[Any] = np.nan_to_num(np.clip(shares, least, 1.0)).astype(np.float32)
        return clipped


class SearchIndex:
    """One version of the index. Safe to use from several threads; what reads the table raises IndexDamaged.

    `keys` are those of the view's roots. `unembedded` says how many rows have no vector, None if vectors may not be
    asked for. `open_table` is called when it is first needed, and returns the statistics of these roots too.
    """

    def __init__(
        self,
        published: TableVersionId,
        keys: LibraryKeys,
        open_table: Callable[[], tuple[TableVersion, Statistics]],
        *,
        unembedded: int | None,
    ) -> None:
        self.published = published
        self.keys = keys
        self._open_table = open_table
        self._unembedded = unembedded
        self._block: RowBlock | None = None

    @cached_property
    def table(self) -> TableVersion:
        """The version of the table, which is opened for it."""
        return self._opened[0]

    @cached_property
    def statistics(self) -> Statistics:
        """The statistics of the skills of the view's roots."""
        return self._opened[1]

    @cached_property
    def _opened(self) -> tuple[TableVersion, Statistics]:
        return self._open_table()

    @cached_property
    def nearness_scale(self) -> NearnessScale | None:
        """What a cosine means with the model that made the vectors; None for too few of them."""
        return nearness_scale(self.table.sample(self._roots))

    @property
    def dimension(self) -> int | None:
        """The length of the vectors; None if there are none to search."""
        return None if self._unembedded is None else self.table.dimension

    @property
    def lacks_vectors(self) -> bool:
        """Whether some skill has no vector."""
        return self.dimension is None or bool(self._unembedded)

    def find(
        self,
        terms: Sequence[str],
        *,
        most: int,
        vector: Vector | None = None,
        nearest: int = 0,
        among: Collection[str] | None = None,
        named: Sequence[str] = (),
    ) -> tuple[RowBlock, list[NDArray[Any]]]:
        """Return a block with the rows that were found, and their places: by terms, by vector, and by key.

        The best are first. With `among`, a collection of keys, only these rows; `named` are further keys.
        """
        where = self._roots if among is None else f"{self._roots} AND {is_in('path', sorted(among))}"
        found = self.table.find(terms, most=most, vector=vector, nearest=nearest, named=named, where=where)
        block = self._with_ids(found)
        places = map(block.places, found)
        return block, [own[own >= 0] for own in places]

    def _with_ids(self, ids: Sequence[NDArray[Any]]) -> RowBlock:
        import numpy as np

        wanted = np.unique(np.concatenate(ids))
        block = self._block or empty_block(self.table.dimension)
        missing = wanted[block.places(wanted) < 0]
        if not len(missing):
            return block
        if len(block.keys) + len(missing) > _MOST_ROWS:
            block, missing = empty_block(self.table.dimension), wanted
        # What another thread has added meanwhile is read again when it is asked for again.
        self._block = block = block.with_rows(self.table.rows(missing))
        return block

    @cached_property
    def _roots(self) -> str:
        return is_in("root", sorted(self.keys.labels.values()))


def nearness_scale(vectors: NDArray[Any]) -> NearnessScale | None:
    """Return the scale of the model that made a sample of vectors (skills, dimension), each of length 1.

    None for fewer than `FEWEST_SKILLS`.
    """
    import numpy as np

    if len(vectors) < FEWEST_SKILLS:
        return None
    # Not by BLAS: it takes a millisecond, and the thread that helped it keeps a processor busy for a tenth of a second.
    cosines = np.einsum("id,jd->ij", vectors, vectors)[np.triu_indices(len(vectors), k=1)]
    # `np.quantile` would import numpy's masked arrays, which take ten times as long as this.
    places = np.multiply((0.5, _NEAR_SHARE), len(cosines) - 1)
    far, near = np.interp(places, np.arange(len(cosines)), np.sort(cosines))
    return NearnessScale(float(far), float(near))
