"""How many skills have a term, and how long their fields are: what BM25F needs and LanceDB's API does not give.

There is a file for each root and version of the table, beside the tables; a search adds up those of its own roots.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import private_mode
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.connection import IN_MEMORY
from skillhub_mcp.index.features import FIELDS, CountedSkills, decode_features, hash_term
from skillhub_mcp.index.table import TableVersion

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_CACHED_TERMS = 50_000
# The terms of skills that were counted wait until there are so many.
_FLUSHED_TERMS = 1 << 20
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


class StatisticsBuilder:
    """Builds `Statistics` by adding skills to those `before`, and removing some."""

    def __init__(self, before: Statistics | None = None) -> None:
        import numpy as np

        self._skills = 0 if before is None else before.skills
        self._lengths = np.zeros(len(FIELDS)) if before is None else before.lengths
        self._hashes = [np.zeros(0, dtype="<u4") if before is None else before.hashes]
        self._counts = [np.zeros(0, dtype=np.int64) if before is None else before.counts]
        self._words = Counter({} if before is None else before.words)
        self._waiting = 0

    def add_counted(self, skills: CountedSkills) -> None:
        """Add several skills."""
        self._words.update(skills.words)
        self._add(len(skills.lengths), skills.lengths.sum(axis=0, dtype=float), skills.hashes, 1)

    def add(self, encoded: bytes, words: Iterable[str], *, times: int = 1) -> None:
        """Add a skill by its encoded features and its words; with `times` of -1, remove it."""
        features = decode_features(encoded)
        for word in words:
            self._words[word] += times
        self._add(times, times * features.lengths.astype(float), features.hashes, times)

    def _add(self, skills: int, lengths: NDArray[Any], hashes: NDArray[Any], times: int) -> None:
        import numpy as np

        self._skills += skills
        self._lengths = self._lengths + lengths
        self._hashes.append(hashes)
        self._counts.append(np.full(len(hashes), times, dtype=np.int64))
        self._waiting += len(hashes)
        if self._waiting >= _FLUSHED_TERMS:
            self._merge()

    def _merge(self) -> None:
        hashes, counts = _summed_counts(self._hashes, self._counts)
        self._hashes, self._counts, self._waiting = [hashes], [counts], 0

    def build(self) -> Statistics:
        """Return the statistics of the skills added so far."""
        self._merge()
        (hashes,), (counts,) = self._hashes, self._counts
        words = {word: having for word, having in self._words.items() if having > 0}
        return Statistics(self._skills, self._lengths, hashes[counts > 0], counts[counts > 0], words)


def counted(rows: Iterable[tuple[str, bytes, frozenset[str]]]) -> Statistics:
    """Return the statistics of rows, each its key, features and words."""
    builder = StatisticsBuilder()
    for _, features, words in rows:
        builder.add(features, words)
    return builder.build()


def summed(several: Sequence[Statistics]) -> Statistics:
    """Return the statistics of the skills of several roots together."""
    if len(several) == 1:
        return several[0]
    words: Counter[str] = Counter()
    for one in several:
        words.update(one.words)
    hashes, counts = _summed_counts([one.hashes for one in several], [one.counts for one in several])
    lengths = sum((one.lengths for one in several), StatisticsBuilder().build().lengths)
    return Statistics(sum(one.skills for one in several), lengths, hashes, counts, dict(words))


def _summed_counts(hashes: Sequence[NDArray[Any]], counts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return each distinct hash, ascending, and the sum of its counts."""
    import numpy as np

    merged, inverse = np.unique(np.concatenate([np.zeros(0, "<u4"), *hashes]), return_inverse=True)
    totals = np.zeros(len(merged), dtype=np.int64)
    np.add.at(totals, inverse, np.concatenate([np.zeros(0, np.int64), *counts]))
    return merged, totals


class RootStatistics:
    """The statistics of roots, beside the tables of a database; those of a database in memory are kept here."""

    def __init__(self, db_path: str) -> None:
        self._db_path = db_path
        self._kept: dict[str, Statistics] = {}

    def save(self, table: str, label: str, version: TableVersion, statistics: Statistics) -> str:
        """Keep the statistics of a root as of a version, and return their name. Raises OSError."""
        name = statistics_name(table, label, version.version)
        if self._db_path != IN_MEMORY:
            save_statistics(os.path.join(self._db_path, name), statistics, version.table_id)
            # A server asks for those of the version before for a moment only.
            self._kept.clear()
        self._kept[name] = statistics
        return name

    def load(self, name: str, label: str, version: TableVersion) -> Statistics:
        """Return the statistics with a name, or count those of a root again if they are lost. Raises IndexDamaged."""
        known = self._kept.get(name)
        if known is not None:
            return known
        try:
            return load_statistics(os.path.join(self._db_path, name), version.table_id)
        except (OSError, ValueError) as error:
            log.info("The statistics of %s are counted again: %s", label, error)
            return counted(version.counted_of(label))

    def is_there(self, name: str) -> bool:
        """Whether there are statistics with a name."""
        return name in self._kept or os.path.isfile(os.path.join(self._db_path, name))

    def remove_unused(self, table: str, used: Collection[str]) -> None:
        """Delete the statistics of a table that neither the present nor the previous version uses."""
        if self._db_path == IN_MEMORY:
            self._kept = {name: own for name, own in self._kept.items() if name in used}
            return
        own = re.compile(rf"statistics-{re.escape(table)}-.+-\d+\.npz")
        with contextlib.suppress(OSError):
            for name in os.listdir(self._db_path):
                if own.fullmatch(name) and name not in used:
                    os.unlink(os.path.join(self._db_path, name))


def statistics_name(table: str, label: str, version: int) -> str:
    """Return the name of the file with the statistics of a root as of a version of a table."""
    return f"statistics-{table}-{label}-{version}.npz"


def save_statistics(path: str, statistics: Statistics, table_id: str) -> None:
    """Replace the file at `path` atomically; several may do so at once, with the same statistics. Raises OSError."""
    import numpy as np

    written = io.BytesIO()
    np.savez(
        written,
        allow_pickle=False,
        table=np.array(table_id),
        skills=np.array(statistics.skills),
        lengths=statistics.lengths,
        hashes=statistics.hashes,
        counts=statistics.counts,
        words=np.frombuffer("\n".join(statistics.words).encode("utf-8", "replace"), dtype=np.uint8),
        word_counts=np.fromiter(statistics.words.values(), dtype=np.int64, count=len(statistics.words)),
    )
    atomic_write(path, written.getvalue(), mode=private_mode(os.path.dirname(path)) or 0o660, follow=False)


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
