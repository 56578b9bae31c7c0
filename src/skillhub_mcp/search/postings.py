"""Which skills have these words? Answered from memory, for a library that is small enough to be held there.

The same plain BM25 over the same text as the index has (`features.Features.text`), for finding candidates only: a fifth
of the time that asking LanceDB takes, most of which is one thread waiting for another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.search.features import Parts, hash_of, times_in_text

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
        empty = np.zeros(0, dtype="<u4")
        hashes = np.concatenate([empty, *(one.hashes for one in features)])
        times = times_in_text(np.concatenate([empty, *(one.counts for one in features)]))
        owners = np.repeat(np.arange(len(features), dtype=np.int32), [len(one.hashes) for one in features])
        lengths = np.bincount(owners, weights=times, minlength=len(features)) if len(features) else np.zeros(0)
        usual = max(1.0, float(lengths.mean())) if len(features) else 1.0
        slowing = _K1 * (1.0 - _B + _B * lengths / usual)
        order = np.argsort(hashes, kind="stable")
        self._hashes: NDArray[Any] = hashes[order]
        self._owners: NDArray[Any] = owners[order]
        self._worth: NDArray[Any] = (times * (_K1 + 1.0) / (times + slowing[owners]))[order].astype(np.float32)

    def find(
        self, terms: Sequence[str], *, limit: int, among: Collection[str], rarity: Callable[[str], float]
    ) -> list[str]:
        """Return the directories of up to `limit` skills of `among` that have some of the terms, best first."""
        import numpy as np

        wanted = np.array([hash_of(term) for term in terms], dtype="<u4")
        first = self._hashes.searchsorted(wanted, side="left").tolist()
        last = self._hashes.searchsorted(wanted, side="right").tolist()
        scores = np.zeros(len(self._directories), dtype=np.float32)
        for term, begin, end in zip(terms, first, last, strict=True):
            if begin < end:
                # A skill has a term once, so that no two of these are the same.
                scores[self._owners[begin:end]] += rarity(term) * self._worth[begin:end]
        found: list[str] = []
        for number in np.argsort(-scores, kind="stable").tolist():
            if scores[number] <= 0.0 or len(found) >= limit:
                break
            if self._directories[number] in among:
                found.append(self._directories[number])
        return found
