"""The statistics of each root's skills, written with each version of the table: LanceDB's API gives none.

A search counts the skills of its own roots only, so there is a file for each root, and a view adds up those of its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from skillhub_mcp.index.connection import IN_MEMORY
from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.index.statistics import Statistics, StatisticsBuilder, load_statistics, save_statistics
from skillhub_mcp.index.table import TableVersion

log = logging.getLogger(__name__)


class RootStatistics:
    """The statistics of roots, beside the tables of a database; those of a database in memory are kept here."""

    def __init__(self, db_path: str) -> None:
        self._db_path = db_path
        self._kept: dict[str, Statistics] = {}

    def save(self, table: str, label: str, version: TableVersion, statistics: Statistics) -> str:
        """Keep the statistics of a root as of a version, and return their name. Raises OSError."""
        name = f"statistics-{table}-{label}-{version.version}.npz"
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

    def is_there(self, name: str, table_id: str) -> bool:
        """Whether there are statistics of a table with a name."""
        if name in self._kept:
            return True
        try:
            load_statistics(os.path.join(self._db_path, name), table_id)
        except (OSError, ValueError):
            return False
        return True

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


def counted(rows: Iterable[tuple[str, bytes, frozenset[str]]]) -> Statistics:
    """Return the statistics of rows, each its key, features and words."""
    builder = StatisticsBuilder()
    for _, features, words in rows:
        builder.add(features, words)
    return builder.build()


def summed(several: Sequence[Statistics]) -> Statistics:
    """Return the statistics of the skills of several roots together."""
    import numpy as np

    if len(several) == 1:
        return several[0]
    hashes, inverse = np.unique(
        np.concatenate([np.zeros(0, "<u4"), *(one.hashes for one in several)]), return_inverse=True
    )
    counts = np.zeros(len(hashes), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([np.zeros(0, np.int64), *(one.counts for one in several)]))
    words: Counter[str] = Counter()
    for one in several:
        words.update(one.words)
    lengths = np.sum([np.zeros(len(FIELDS)), *(one.lengths for one in several)], axis=0)
    return Statistics(sum(one.skills for one in several), lengths, hashes, counts, dict(words))
