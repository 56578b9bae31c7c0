"""Corpus statistics for BM25F: document frequencies and field lengths of the whole library, stored beside the table."""

from __future__ import annotations

import io
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.file_modes import private_mode
from skillhub_mcp.index.features import FIELDS, CountedSkills, decode_features, hash_term

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_FLUSH_ROWS = 2_000
# Terms of skills that were counted wait until there are so many: each time all that are known are sorted with them.
_FLUSH_TERMS = 1 << 18
# Up to this share of all terms, those of some skills are looked up among them.
_FEW_SHARE = 8
_CACHED_TERMS = 50_000
# What numpy raises for a file that has something else in it.
_DAMAGED = (ValueError, LookupError, EOFError, TypeError, BadZipFile)


@dataclass(frozen=True)
class Statistics:
    """The number of skills, the sums of their field lengths, and the document frequency of each term.

    `lengths` has one sum per field. `hashes` are the sorted hashes of the terms, `counts` their frequencies. `words`
    maps each word of the short fields, as written, to the number of skills that have it.
    """

    skills: int
    lengths: NDArray[Any]
    hashes: NDArray[Any]
    counts: NDArray[Any]
    words: Mapping[str, int]
    _term_cache: dict[str, tuple[int, float]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def mean_lengths(self) -> NDArray[Any]:
        """The mean length of each field in terms, at least 0.1."""
        import numpy as np

        return np.maximum(self.lengths / max(1, self.skills), 0.1)

    @cached_property
    def speller(self) -> Speller:
        """What corrects words to those of the skills."""
        return Speller(self.words)

    def frequency(self, term: str) -> int:
        """Return how many skills have `term` in any field."""
        return self._look_up(term)[0]

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term: near 0 if every skill has it, more the fewer do."""
        return self._look_up(term)[1]

    def _look_up(self, term: str) -> tuple[int, float]:
        known = self._term_cache.get(term)
        if known is None:
            import numpy as np

            wanted = hash_term(term)
            # As the type of the hashes: any other has them converted, all of them.
            at = int(self.hashes.searchsorted(np.uint32(wanted)))
            having = int(self.counts[at]) if at < len(self.hashes) and int(self.hashes[at]) == wanted else 0
            known = having, math.log1p((self.skills - having + 0.5) / (having + 0.5))
            # A plain dict that stops growing: an LRU cache would reorder its entries at each of many look-ups.
            if len(self._term_cache) < _CACHED_TERMS:
                self._term_cache[term] = known
        return known


@dataclass
class StatisticsBuilder:
    """Builds `Statistics` by adding and removing skills."""

    skills: int = 0
    _words: Counter[str] = field(default_factory=Counter)
    _pending: list[tuple[bytes, int]] = field(default_factory=list)
    _waiting: list[NDArray[Any]] = field(default_factory=list)
    _hashes: Any = None
    _counts: Any = None
    _lengths: Any = None

    @classmethod
    def from_statistics(cls, statistics: Statistics) -> StatisticsBuilder:
        """Return a builder that starts from `statistics`."""
        builder = cls(skills=statistics.skills, _words=Counter(statistics.words))
        builder._hashes, builder._counts = statistics.hashes, statistics.counts
        builder._lengths = statistics.lengths
        return builder

    def add(self, encoded: bytes, words: Iterable[str], *, times: int = 1) -> None:
        """Add a skill by its encoded features and its words; with `times` of -1, remove it."""
        self.skills += times
        for word in words:
            self._words[word] += times
        self._pending.append((encoded, times))
        if len(self._pending) >= _FLUSH_ROWS:
            self._flush()

    def add_counted(self, skills: CountedSkills) -> None:
        """Add several skills."""
        import numpy as np

        self._begin()
        self.skills += len(skills.lengths)
        self._words.update(skills.words)
        self._lengths = self._lengths + skills.lengths.sum(axis=0, dtype=np.float64)
        self._waiting.append(skills.hashes)
        if sum(map(len, self._waiting)) >= _FLUSH_TERMS:
            self._flush()

    def build(self) -> Statistics:
        """Return the statistics of the skills added so far."""
        self._flush()
        present = self._counts > 0
        return Statistics(
            self.skills,
            self._lengths,
            self._hashes[present],
            self._counts[present],
            {word: having for word, having in self._words.items() if having > 0},
        )

    def _begin(self) -> None:
        import numpy as np

        if self._hashes is None:
            self._hashes = np.zeros(0, dtype="<u4")
            self._counts = np.zeros(0, dtype=np.int64)
            self._lengths = np.zeros(len(FIELDS))

    def _flush(self) -> None:
        import numpy as np

        self._begin()
        if self._waiting:
            self._count(np.concatenate(self._waiting), 1)
            self._waiting = []
        for sign in (1, -1):
            several = [decode_features(encoded) for encoded, times in self._pending if times == sign]
            every = np.concatenate([np.zeros(0, dtype="<u4"), *(one.hashes for one in several)])
            self._count(every, sign)
            for one in several:
                self._lengths = self._lengths + sign * one.lengths.astype(np.float64)
        self._pending = []

    def _count(self, every: NDArray[Any], sign: int) -> None:
        """Add the hashes of the terms of some skills; with a `sign` of -1, take them away."""
        import numpy as np

        hashes, counts = np.unique(every, return_counts=True)
        if len(hashes) * _FEW_SHARE < len(self._hashes):
            self._count_few(hashes, sign * counts)
            return
        merged, inverse = np.unique(np.concatenate([self._hashes, hashes]), return_inverse=True)
        totals = np.zeros(len(merged), dtype=np.int64)
        np.add.at(totals, inverse, np.concatenate([self._counts, sign * counts]))
        self._hashes, self._counts = merged, totals

    def _count_few(self, hashes: NDArray[Any], counts: NDArray[Any]) -> None:
        """Add to the counts of some hashes, which ascend, without sorting all of them again."""
        import numpy as np

        places = self._hashes.searchsorted(hashes)
        known = self._hashes[np.minimum(places, len(self._hashes) - 1)] == hashes
        totals = self._counts.copy()
        totals[places[known]] += counts[known]
        self._hashes = np.insert(self._hashes, places[~known], hashes[~known])
        self._counts = np.insert(totals, places[~known], counts[~known])


def save_statistics(path: str, statistics: Statistics, table_id: str) -> None:
    """Replace the file at `path` atomically; several may do so at once, with the same statistics. Raises OSError."""
    import numpy as np

    # The words come in whatever order they are in: to sort them takes longer than writing all of it.
    words = list(statistics.words)
    arrays = {
        "table": np.array(table_id),
        "skills": np.array(statistics.skills),
        "lengths": statistics.lengths,
        "hashes": statistics.hashes,
        "counts": statistics.counts,
        "words": np.frombuffer("\n".join(words).encode("utf-8", "replace"), dtype=np.uint8),
        "word_counts": np.fromiter(statistics.words.values(), dtype=np.int64, count=len(words)),
    }
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, **arrays)
    atomic_write(path, written.getvalue(), mode=private_mode(os.path.dirname(path)), follow=False)


def load_statistics(path: str, table_id: str) -> Statistics:
    """Return the statistics at `path`. Raises OSError or ValueError if there are no usable ones of that table."""
    import numpy as np

    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            owner, skills, text = str(stored["table"]), int(stored["skills"]), stored["words"].tobytes().decode()
            lengths, hashes, counts = stored["lengths"], stored["hashes"], stored["counts"]
            words = dict(zip(text.split("\n") if text else [], stored["word_counts"].tolist(), strict=True))
    except _DAMAGED as error:
        raise ValueError(f"{os.path.basename(path)} is damaged") from error
    if owner != table_id or lengths.shape != (len(FIELDS),) or hashes.ndim != 1 or hashes.shape != counts.shape:
        raise ValueError(f"{os.path.basename(path)} belongs to another table")
    return Statistics(skills, lengths, hashes, counts, words)
