"""Which skills have these words? Answered from memory, for a library that is small enough to be held there.

The same plain BM25 over the same text as the index has (`features.Features.text`), for finding candidates only: a fifth
of the time that asking LanceDB takes, most of which is one thread waiting for another. Scoring then finds the counts of
a question's words where they stand together, and need not look at each candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.search.features import FIELDS, Occurrences, Parts, Terms, by_field, hash_of, times_in_text

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_K1 = 1.2
_B = 0.75


class Postings:
    """The terms of some skills, by term. Safe to use from several threads."""

    def __init__(self, directories: Sequence[str], features: Sequence[Parts]) -> None:
        import numpy as np

        self._directories = tuple(directories)
        self._numbers = {directory: number for number, directory in enumerate(directories)}
        self._lengths = np.array([one.lengths for one in features], dtype=np.float64).reshape(-1, len(FIELDS))
        self._phrases = _Run.of([one.phrases for one in features], [one.phrases for one in features])
        self._terms = _Run.of([one.hashes for one in features], [one.counts for one in features])
        times = times_in_text(self._terms.values)
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
        for term, run in zip(terms, self._terms.of_each([hash_of(term) for term in terms]), strict=True):
            # A skill has a term once, so that no two of these are the same.
            scores[self._terms.owners[run]] += rarity(term) * self._worth[run]
        scores *= self._are_in(among)
        found = scores.nonzero()[0]
        if limit < len(found):
            # To sort what scores less than the last that is wanted would be for nothing.
            found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
        best_first = found[np.argsort(-scores[found], kind="stable")]
        return [self._directories[number] for number in best_first[:limit].tolist()]

    def of(self, directories: Sequence[str]) -> Terms:
        """Return the terms of those skills, each of which is one of these."""
        import numpy as np

        numbers = np.array([self._numbers[directory] for directory in directories], dtype=np.intp)
        rows = np.full(len(self._directories), -1)
        rows[numbers] = np.arange(len(numbers))
        return _Chosen(self._terms, self._phrases, rows, self._lengths[numbers])

    def _are_in(self, among: frozenset[str]) -> NDArray[Any]:
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
class _Run:
    """What several skills have, each known by a hash, in the order of these.

    `owners` says by number which skill has it, and `values` what it has; those of `hashes[i]` begin at `starts[i]`.
    """

    hashes: NDArray[Any]
    starts: NDArray[Any]
    owners: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def of(cls, hashes: Sequence[NDArray[Any]], values: Sequence[NDArray[Any]]) -> _Run:
        """Return what each skill has, put together: its hashes, and a value for each."""
        import numpy as np

        empty = np.zeros(0, dtype="<u4")
        every = np.concatenate([empty, *hashes])
        order = np.argsort(every, kind="stable")
        known, starts = np.unique(every[order], return_index=True)
        owners = np.repeat(np.arange(len(hashes), dtype=np.int32), [len(own) for own in hashes])
        together = np.concatenate([empty, *values])
        return cls(known, np.append(starts, len(every)), owners[order], together[order])

    def of_each(self, wanted: Sequence[int]) -> list[slice]:
        """Return where the owners of each wanted hash stand, an empty place where nobody has it."""
        import numpy as np

        those = np.array(wanted, dtype="<u4")
        begin = self.starts[self.hashes.searchsorted(those, side="left")]
        end = self.starts[self.hashes.searchsorted(those, side="right")]
        return [slice(*places) for places in zip(begin.tolist(), end.tolist(), strict=True)]

    def rows_of(self, runs: Sequence[slice], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of the owners in those places, one after the other; skills without a row have -1."""
        import numpy as np

        found: NDArray[Any] = rows[np.concatenate([self.owners[:0], *(self.owners[run] for run in runs)])]
        return found


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The Terms of some of the skills that are held: `rows` says which row each is, or -1."""

    terms: _Run
    phrases: _Run
    rows: NDArray[Any]
    lengths: NDArray[Any]

    def occurrences(self, terms: Sequence[int]) -> Occurrences:
        """Look at those that have each term."""
        import numpy as np

        runs = self.terms.of_each(terms)
        rows = self.terms.rows_of(runs, self.rows)
        counts = np.concatenate([self.terms.values[:0], *(self.terms.values[run] for run in runs)])
        numbers = np.repeat(np.arange(len(runs)), [run.stop - run.start for run in runs])
        there = rows >= 0
        return Occurrences(numbers[there], rows[there], by_field(counts[there]))

    def having_phrases(self, phrases: Sequence[int]) -> NDArray[Any]:
        """Look at those that have each phrase."""
        rows = self.phrases.rows_of(self.phrases.of_each(phrases), self.rows)
        return rows[rows >= 0]
