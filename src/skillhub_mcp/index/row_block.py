"""Rows of one table version in memory, as one block: what ranking reads of each candidate. Pure.

Rows are only added, and a row's place never changes. All (place, term) pairs ascend, so that the terms of a query are
looked up for all candidates by one `searchsorted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS, HEADER

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_PLACE_BITS = 32


@dataclass(frozen=True)
class RowBlock:
    """Rows by place: their `ids` in LanceDB, `keys`, field `lengths` (rows, fields), and `vectors` (rows, dimension).

    A missing vector is nan. `pairs` are place << 32 | hash of each term of each row, ascending, and `counts` the packed
    counts.
    """

    ids: NDArray[Any]
    keys: tuple[str, ...]
    lengths: NDArray[Any]
    pairs: NDArray[Any]
    counts: NDArray[Any]
    vectors: NDArray[Any]

    def places(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return the place of each id, -1 for one that is not here."""
        import numpy as np

        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        order, sorted_ids = self._by_id
        at = np.minimum(sorted_ids.searchsorted(ids), len(order) - 1)
        return np.where(sorted_ids[at] == ids, order[at], -1)

    def place_of(self, key: str) -> int:
        """Return the place of the row with a key, -1 if it is not here."""
        return self._by_key.get(key, -1)

    def find(self, places: NDArray[Any], hashes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return which of the rows at `places` has which term, ascending by term: three arrays of one length.

        These are the positions in `hashes`, those in `places`, and the packed counts.
        """
        import numpy as np

        if not len(self.pairs):
            return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, "<u4")
        wanted = hashes.astype(np.uint64)[:, None] | places.astype(np.uint64)[None, :] << np.uint64(_PLACE_BITS)
        at = np.minimum(self.pairs.searchsorted(wanted), len(self.pairs) - 1)
        terms, rows = (self.pairs[at] == wanted).nonzero()
        return terms, rows, self.counts[at[terms, rows]]

    def with_rows(self, other: RowBlock) -> RowBlock:
        """Return the block with the rows of another after its own."""
        import numpy as np

        shift = np.uint64(len(self.ids)) << np.uint64(_PLACE_BITS)
        return RowBlock(
            ids=np.concatenate([self.ids, other.ids]),
            keys=self.keys + other.keys,
            lengths=np.concatenate([self.lengths, other.lengths]),
            pairs=np.concatenate([self.pairs, other.pairs + shift]),
            counts=np.concatenate([self.counts, other.counts]),
            vectors=np.concatenate([self.vectors, other.vectors]),
        )

    @cached_property
    def _by_id(self) -> tuple[NDArray[Any], NDArray[Any]]:
        order = self.ids.argsort()
        return order, self.ids[order]

    @cached_property
    def _by_key(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.keys)}


def row_block(ids: NDArray[Any], keys: Sequence[str], features: Sequence[bytes], vectors: NDArray[Any]) -> RowBlock:
    """Return rows as a block. `features` are encoded as in `index.features`. Raises ValueError for damaged ones."""
    import numpy as np

    numbers = np.frombuffer(b"".join(features), dtype="<u4")
    sizes = np.fromiter(map(len, features), dtype=np.int64, count=len(features)) // numbers.itemsize
    if (sizes < HEADER).any():
        raise ValueError("a row's features are damaged")
    begins = np.cumsum(sizes) - sizes
    terms = numbers[begins + len(FIELDS)].astype(np.int64)
    if (HEADER + 2 * terms != sizes).any():
        raise ValueError("a row's features are damaged")
    owners = np.repeat(np.arange(len(sizes)), terms)
    at = np.arange(int(terms.sum())) - np.repeat(np.cumsum(terms) - terms, terms) + begins[owners] + HEADER
    return RowBlock(
        ids=np.asarray(ids),
        keys=tuple(keys),
        lengths=numbers[begins[:, None] + np.arange(len(FIELDS))],
        pairs=owners.astype(np.uint64) << np.uint64(_PLACE_BITS) | numbers[at],
        counts=numbers[at + terms[owners]],
        vectors=vectors,
    )


def empty_block(dimension: int | None) -> RowBlock:
    """Return a block without rows, for vectors of that length."""
    import numpy as np

    return row_block(np.zeros(0, np.uint64), (), (), np.zeros((0, dimension or 0), np.float32))
