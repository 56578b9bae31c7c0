"""Postings lists in memory: full-text candidates for a library small enough to be held there.

They rank by the same plain BM25 over the same text as the index (`EncodedFeatures.text`), and take a fifth of the
time: a LanceDB query mostly waits for another thread. Scoring then reads the counts of a query's terms from
the postings instead of from each candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import (
    FIELDS,
    Occurrences,
    SkillFeatures,
    Terms,
    hash_term,
    term_frequencies,
    unpack_counts,
)

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_K1 = 1.2
_B = 0.75


class Postings:
    """An inverted index of numbered skills: their terms and phrases by hash. Safe to use from several threads."""

    def __init__(self, features: Sequence[SkillFeatures]) -> None:
        import numpy as np

        self._lengths = np.array([one.lengths for one in features], dtype=np.float64).reshape(-1, len(FIELDS))
        self._phrases, _ = _InvertedIndex.build([one.phrases for one in features])
        self._terms, order = _InvertedIndex.build([one.hashes for one in features])
        self._counts = np.concatenate([np.zeros(0, dtype="<u4"), *(one.counts for one in features)])[order]
        frequencies = term_frequencies(self._counts)
        total_lengths = np.bincount(self._terms.owners, weights=frequencies, minlength=len(features))
        mean_length = max(1.0, float(total_lengths.mean())) if len(features) else 1.0
        saturation = _K1 * (1.0 - _B + _B * total_lengths / mean_length)
        self._weights = (frequencies * (_K1 + 1.0) / (frequencies + saturation[self._terms.owners])).astype(np.float32)

    def find(
        self, terms: Sequence[str], *, limit: int, among: NDArray[Any], rarity: Callable[[str], float]
    ) -> list[int]:
        """Return the numbers of up to `limit` skills that have any of the terms, best first.

        `among` says of each skill whether it may be found: shape (skills,).
        """
        import numpy as np

        scores = np.zeros(len(self._lengths), dtype=np.float32)
        for term, each in zip(terms, self._terms.slices([hash_term(term) for term in terms]), strict=True):
            # A skill has a term once, so its number occurs once in each slice.
            scores[self._terms.owners[each]] += rarity(term) * self._weights[each]
        found = (scores * among).nonzero()[0]
        if limit < len(found):
            # Scores below the last wanted one need no sorting.
            found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
        best_first: list[int] = found[np.argsort(-scores[found], kind="stable")].tolist()
        return best_first[:limit]

    def terms_of(self, numbers: Sequence[int]) -> Terms:
        """Return the terms of the skills of those numbers."""
        import numpy as np

        selected = np.array(numbers, dtype=np.intp)
        rows = np.full(len(self._lengths), -1)
        rows[selected] = np.arange(len(selected))
        return _SelectedTerms(self._terms, self._counts, self._phrases, rows, self._lengths[selected])


@dataclass(frozen=True, slots=True)
class _InvertedIndex:
    """The skills that have each hash: `owners` holds their numbers, those of `hashes[i]` from offset `starts[i]` on."""

    hashes: NDArray[Any]
    starts: NDArray[Any]
    owners: NDArray[Any]

    @classmethod
    def build(cls, hashes: Sequence[NDArray[Any]]) -> tuple[_InvertedIndex, NDArray[Any]]:
        """Return the inverted hashes of the skills, and for each owner its position in the concatenated input."""
        import numpy as np

        every = np.concatenate([np.zeros(0, dtype="<u4"), *hashes])
        order = np.argsort(every, kind="stable")
        known, starts = np.unique(every[order], return_index=True)
        owners = np.repeat(np.arange(len(hashes), dtype=np.int32), [len(own) for own in hashes])
        return cls(known, np.append(starts, len(every)), owners[order]), order

    def slices(self, wanted: Sequence[int]) -> list[slice]:
        """Return the slice of `owners` for each wanted hash; it is empty where no skill has it."""
        import numpy as np

        keys = np.array(wanted, dtype="<u4")
        begin = self.starts[self.hashes.searchsorted(keys, side="left")]
        end = self.starts[self.hashes.searchsorted(keys, side="right")]
        return [slice(*bounds) for bounds in zip(begin.tolist(), end.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class _SelectedTerms:
    """The `Terms` of some of the skills: `rows` is the row of each skill of the index, or -1."""

    terms: _InvertedIndex
    counts: NDArray[Any]
    phrases: _InvertedIndex
    rows: NDArray[Any]
    lengths: NDArray[Any]

    def occurrences(self, hashes: Sequence[int]) -> Occurrences:
        """Read the postings of each term."""
        import numpy as np

        slices = self.terms.slices(hashes)
        rows = self.rows[_concatenate(self.terms.owners, slices)]
        selected = rows >= 0
        term_indices = np.repeat(np.arange(len(slices)), [each.stop - each.start for each in slices])
        counts = unpack_counts(_concatenate(self.counts, slices)[selected])
        return Occurrences(term_indices[selected], rows[selected], counts)

    def rows_with_phrases(self, hashes: Sequence[int]) -> NDArray[Any]:
        """Read the postings of each phrase."""
        rows = self.rows[_concatenate(self.phrases.owners, self.phrases.slices(hashes))]
        found: NDArray[Any] = rows[rows >= 0]
        return found


def _concatenate(values: NDArray[Any], slices: Sequence[slice]) -> NDArray[Any]:
    import numpy as np

    return np.concatenate([values[:0], *(values[each] for each in slices)])
