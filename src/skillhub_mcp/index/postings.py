"""Which skills have these words? Answered from memory, for a library that is small enough to be held there.

The same plain BM25 over the same text as the index has (`features.Features.text`), for finding candidates only: a fifth
of the time that asking LanceDB takes, most of which is one thread waiting for another. Scoring then finds the counts of
a question's words where they stand together, and need not look at each candidate's.
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
    """The terms of some skills, by term. Safe to use from several threads."""

    def __init__(self, directories: Sequence[str], features: Sequence[SkillFeatures]) -> None:
        import numpy as np

        self._directories = tuple(directories)
        self._numbers = {directory: number for number, directory in enumerate(directories)}
        self._lengths = np.array([one.lengths for one in features], dtype=np.float64).reshape(-1, len(FIELDS))
        self._phrases, _ = _InvertedIndex.build([one.phrases for one in features])
        self._terms, order = _InvertedIndex.build([one.hashes for one in features])
        self._counts = np.concatenate([np.zeros(0, dtype="<u4"), *(one.counts for one in features)])[order]
        times = term_frequencies(self._counts)
        in_all = np.bincount(self._terms.owners, weights=times, minlength=len(features))
        usual = max(1.0, float(in_all.mean())) if len(features) else 1.0
        slowing = _K1 * (1.0 - _B + _B * in_all / usual)
        self._worth = (times * (_K1 + 1.0) / (times + slowing[self._terms.owners])).astype(np.float32)
        self._last: tuple[frozenset[str], NDArray[Any]] | None = None

    def find(
        self, terms: Sequence[str], *, limit: int, among: frozenset[str], rarity: Callable[[str], float]
    ) -> list[str]:
        """Return the directories of up to `limit` skills of `among` that have some of the terms, best first."""
        import numpy as np

        scores = np.zeros(len(self._directories), dtype=np.float32)
        for term, each in zip(terms, self._terms.slices([hash_term(term) for term in terms]), strict=True):
            # A skill has a term once, so that no two of these are the same.
            scores[self._terms.owners[each]] += rarity(term) * self._worth[each]
        scores *= self._membership_mask(among)
        found = scores.nonzero()[0]
        if limit < len(found):
            # To sort what scores less than the last that is wanted would be for nothing.
            found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
        best_first = found[np.argsort(-scores[found], kind="stable")]
        return [self._directories[number] for number in best_first[:limit].tolist()]

    def terms_of(self, directories: Sequence[str]) -> Terms:
        """Return the terms of those skills, each of which is one of these."""
        import numpy as np

        numbers = np.array([self._numbers[directory] for directory in directories], dtype=np.intp)
        rows = np.full(len(self._directories), -1)
        rows[numbers] = np.arange(len(numbers))
        return _SelectedTerms(self._terms, self._counts, self._phrases, rows, self._lengths[numbers])

    def _membership_mask(self, among: frozenset[str]) -> NDArray[Any]:
        """Return 1 for each skill that is among those, else 0: they are mostly the same from one question to the next.

        Told apart by identity, as comparing them takes as long as looking.
        """
        import numpy as np

        known = self._last
        if known is None or known[0] is not among:
            there = (directory in among for directory in self._directories)
            known = self._last = (among, np.fromiter(there, dtype=np.float32, count=len(self._directories)))
        return known[1]


@dataclass(frozen=True, slots=True)
class _InvertedIndex:
    """Which of several skills have what: `owners` are their numbers, those of `hashes[i]` begin at `starts[i]`."""

    hashes: NDArray[Any]
    starts: NDArray[Any]
    owners: NDArray[Any]

    @classmethod
    def build(cls, hashes: Sequence[NDArray[Any]]) -> tuple[_InvertedIndex, NDArray[Any]]:
        """Return the hashes of each skill inverted, and for each owner the place that it had among them before."""
        import numpy as np

        every = np.concatenate([np.zeros(0, dtype="<u4"), *hashes])
        order = np.argsort(every, kind="stable")
        known, starts = np.unique(every[order], return_index=True)
        owners = np.repeat(np.arange(len(hashes), dtype=np.int32), [len(own) for own in hashes])
        return cls(known, np.append(starts, len(every)), owners[order]), order

    def slices(self, wanted: Sequence[int]) -> list[slice]:
        """Return where the owners of each wanted hash stand, an empty place where nobody has it."""
        import numpy as np

        those = np.array(wanted, dtype="<u4")
        begin = self.starts[self.hashes.searchsorted(those, side="left")]
        end = self.starts[self.hashes.searchsorted(those, side="right")]
        return [slice(*places) for places in zip(begin.tolist(), end.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class _SelectedTerms:
    """The Terms of some of the skills that are held: `rows` says which row each is, or -1."""

    terms: _InvertedIndex
    counts: NDArray[Any]
    phrases: _InvertedIndex
    rows: NDArray[Any]
    lengths: NDArray[Any]

    def occurrences(self, hashes: Sequence[int]) -> Occurrences:
        """Look at those that have each term."""
        import numpy as np

        slices = self.terms.slices(hashes)
        rows = self.rows[_concatenate(self.terms.owners, slices)]
        there = rows >= 0
        asked = np.repeat(np.arange(len(slices)), [each.stop - each.start for each in slices])
        return Occurrences(asked[there], rows[there], unpack_counts(_concatenate(self.counts, slices)[there]))

    def rows_with_phrases(self, hashes: Sequence[int]) -> NDArray[Any]:
        """Look at those that have each phrase."""
        rows = self.rows[_concatenate(self.phrases.owners, self.phrases.slices(hashes))]
        found: NDArray[Any] = rows[rows >= 0]
        return found


def _concatenate(values: NDArray[Any], slices: Sequence[slice]) -> NDArray[Any]:
    import numpy as np

    return np.concatenate([values[:0], *(values[each] for each in slices)])
