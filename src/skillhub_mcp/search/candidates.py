"""The candidates of a search: the rows that LanceDB found by terms and by vector, with what ranking needs of them.

Full text is asked for the `MOST_CANDIDATES` best rows of the view's roots. What the caller may not see is dropped; if
too few are left and the list was full, it is asked for four times as many. Few visible skills are asked for by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import hash_term, marked, unpack_counts
from skillhub_mcp.search.impacts import ALL_FIELDS, impact

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Vector
    from skillhub_mcp.index.search_index import SearchIndex
    from skillhub_mcp.index.statistics import Statistics
    from skillhub_mcp.index.table import RowBlock

MOST_CANDIDATES = 400
NEAREST = 50
# Up to so many visible skills, and a quarter of all, are named in the query.
_MOST_NAMED = 500
_NAMED_SHARE = 4
_MORE = 4


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The occurrences of the requested terms: one entry for each pair of a skill and a term that it has.

    `term_indices` are the positions of the terms among the requested ones, `rows` those of the skills: shape (n,).
    `counts` are the occurrences by field: shape (fields, n).
    """

    term_indices: NDArray[Any]
    rows: NDArray[Any]
    counts: NDArray[Any]


@dataclass(frozen=True)
class Candidates:
    """The candidates of one query by number, in no order: rows of one version of the index.

    `directories` are theirs, `fields` those in which words count, and `nearest` the numbers of those that a vector
    found, the nearest first.
    """

    directories: Sequence[str]
    statistics: Statistics
    fields: frozenset[str]
    nearest: NDArray[Any]
    _block: RowBlock
    _places: NDArray[Any]
    _terms: Sequence[str]

    def number(self, directory: str) -> int | None:
        """Return the number of the skill in a directory, or None if it is no candidate."""
        return self._numbers.get(directory)

    def postings(self, term: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of the candidates that have a term of the query, ascending, and its impact on each."""
        return self._postings[term]

    def occurrences(self, terms: Sequence[str], numbers: Sequence[int]) -> Occurrences:
        """Return how often each of those candidates has each of the terms, by field."""
        import numpy as np

        places = self._places[np.array(numbers, dtype=np.intp)]
        indices, rows, counts = self._block.find(places, _hashes(terms))
        return Occurrences(indices, rows, unpack_counts(counts))

    def lengths(self, numbers: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """Return the lengths of those candidates' fields in terms: shape (n, fields)."""
        import numpy as np

        found: NDArray[Any] = self._block.lengths[self._places[np.array(numbers, dtype=np.intp)]]
        return found

    def cosines(self, vector: Vector, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the cosine of each of those candidates' vectors to `vector`; nan without one. All have length 1."""
        import numpy as np

        vectors = self._block.vectors
        if vectors.shape[1] != len(vector):
            return np.full(len(numbers), np.nan, dtype=np.float32)
        found: NDArray[Any] = vectors[self._places[numbers]] @ np.asarray(vector, dtype=np.float32)
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {directory: number for number, directory in enumerate(self.directories)}

    @cached_property
    def _postings(self) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
        import numpy as np

        indices, rows, counts = self._block.find(self._places, _hashes(self._terms))
        lengths = self._block.lengths[self._places[rows]]
        impacts = impact(unpack_counts(counts), lengths, self.statistics.mean_lengths, fields=self.fields)
        bounds = indices.searchsorted(np.arange(len(self._terms) + 1)).tolist()
        return {
            term: (rows[bounds[number] : bounds[number + 1]], impacts[bounds[number] : bounds[number + 1]])
            for number, term in enumerate(self._terms)
        }


def find_candidates(
    index: SearchIndex,
    terms: Sequence[str],
    *,
    among: frozenset[str],
    wanted: int,
    vector: Vector | None = None,
    nearest: int = NEAREST,
    fields: frozenset[str] = ALL_FIELDS,
    named: str = "",
) -> Candidates:
    """Return the candidates for the terms of a query and its vector, among the skills in some directories.

    At least `wanted` are looked for, and the `nearest` to the vector. The row of the skill in the directory `named` is
    one of them. Raises IndexDamaged.
    """
    import numpy as np

    asked = list(dict.fromkeys(marked(terms, fields)))
    total = index.statistics.skills
    few = len(among) <= min(_MOST_NAMED, total // _NAMED_SHARE)
    keys = {key for directory in among for key in index.keys.of(directory)} if few else None
    own = index.keys.of(named) if named in among else []
    most, near_most = max(MOST_CANDIDATES, wanted), nearest
    while True:
        block, found = index.find(asked, most=most, vector=vector, nearest=near_most, among=keys, named=own)
        by_terms, by_vector, _ = found
        places = _visible(index, block, np.unique(np.concatenate(found)), among)
        near = by_vector[np.isin(by_vector, places)]
        lacks_text = len(by_terms) >= most and np.isin(by_terms, places).sum() < wanted
        lacks_near = len(by_vector) >= near_most and len(near) < nearest
        if few or most >= total or not (lacks_text or lacks_near):
            break
        most, near_most = most * _MORE, near_most * _MORE
    return Candidates(
        directories=index.keys.directories([block.keys[place] for place in places.tolist()]),
        statistics=index.statistics,
        fields=fields,
        nearest=places.searchsorted(near[:nearest]),
        _block=block,
        _places=places,
        _terms=tuple(dict.fromkeys(terms)),
    )


def _visible(index: SearchIndex, block: RowBlock, places: NDArray[Any], among: frozenset[str]) -> NDArray[Any]:
    """Return those of some places whose rows are of skills in `among`; one row of a directory that two roots have."""
    import numpy as np

    directories = index.keys.directories([block.keys[place] for place in places.tolist()])
    visible = {one: place for one, place in zip(directories, places.tolist(), strict=True) if one in among}
    return np.array(sorted(visible.values()), dtype=np.int64)


def _hashes(terms: Sequence[str]) -> NDArray[Any]:
    import numpy as np

    return np.fromiter(map(hash_term, terms), dtype=np.uint32, count=len(terms))
