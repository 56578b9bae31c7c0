"""How many skills have a term, and how long their fields are: what BM25F needs and LanceDB's API does not give.

There is a JSON file for each root and version of the table, beside the tables; a search adds up those of its own roots.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import operator
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import private_mode
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.features import FIELDS, SkillTerms
from skillhub_mcp.index.lance import IN_MEMORY
from skillhub_mcp.index.table import TableVersion

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Statistics:
    """The number of skills, the sums of their field lengths, and how many skills have each term, and each word.

    Words are those of the short fields as written.
    """

    skills: int = 0
    lengths: Sequence[int] = (0,) * len(FIELDS)
    terms: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Statistics) -> Statistics:
        return self._merged(other, operator.add) if self.skills else other

    def __sub__(self, other: Statistics) -> Statistics:
        return self._merged(other, operator.sub)

    def _merged(self, other: Statistics, merge: Callable[[Any, Any], Any]) -> Statistics:
        return Statistics(
            merge(self.skills, other.skills),
            list(map(merge, self.lengths, other.lengths)),
            dict(merge(Counter(self.terms), Counter(other.terms))),
            dict(merge(Counter(self.words), Counter(other.words))),
        )

    @cached_property
    def mean_lengths(self) -> Sequence[float]:
        """The mean length of each field in terms, at least 0.1."""
        return [max(length / max(1, self.skills), 0.1) for length in self.lengths]

    @cached_property
    def speller(self) -> Speller:
        """What corrects words to those of the skills."""
        return Speller(self.words)

    def frequency(self, term: str) -> int:
        """Return how many skills have `term` in any field."""
        return self.terms.get(term, 0)

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term: near 0 if every skill has it, more the fewer do."""
        having = self.terms.get(term, 0)
        return math.log1p((self.skills - having + 0.5) / (having + 0.5))


def counted(skills: Iterable[SkillTerms]) -> Statistics:
    """Return the statistics of some skills."""
    number, lengths = 0, [0] * len(FIELDS)
    terms, words = Counter[str](), Counter[str]()
    for skill in skills:
        number += 1
        lengths = [own + more for own, more in zip(lengths, skill.lengths, strict=True)]
        terms.update(skill.terms)
        words.update(skill.words)
    return Statistics(number, lengths, dict(terms), dict(words))


class RootStatistics:
    """The statistics of roots, beside the tables of a database. What was saved last is kept in memory."""

    def __init__(self, db_path: str) -> None:
        self._db_path = db_path
        self._kept: dict[str, Statistics] = {}

    def save(self, table: str, label: str, version: TableVersion, statistics: Statistics) -> str:
        """Keep the statistics of a root as of a version, and return their name. Raises OSError."""
        name = f"statistics-{table}-{label}-{version.version}.json"
        if self._db_path != IN_MEMORY:
            written = json.dumps({"table": version.table_id, **asdict(statistics)}, separators=(",", ":"))
            mode = private_mode(self._db_path) or 0o660
            path = os.path.join(self._db_path, name)
            atomic_write(path, written.encode("utf-8", "surrogatepass"), mode=mode, follow=False)
        self._kept[name] = statistics
        return name

    def load(self, name: str, label: str, version: TableVersion) -> Statistics:
        """Return the statistics with a name, or count those of a root again if they are lost. Raises IndexDamaged."""
        if name in self._kept:
            return self._kept[name]
        if not name:
            # No skill of the root was ever written.
            return Statistics()
        try:
            with open(os.path.join(self._db_path, name), encoding="utf-8") as file:
                written = json.load(file)
            if written.pop("table") == version.table_id:
                return Statistics(**written)
        except (OSError, ValueError, LookupError, TypeError) as error:
            log.info("The statistics of %s are counted again: %s", label, error)
        return counted(version.counted_of(label))

    def remove_unused(self, table: str, used: Collection[str]) -> None:
        """Delete the statistics of a table that neither the present nor the previous version uses."""
        self._kept = {name: own for name, own in self._kept.items() if name in used}
        if self._db_path != IN_MEMORY:
            with contextlib.suppress(OSError):
                for name in os.listdir(self._db_path):
                    if name.startswith(f"statistics-{table}-") and name not in used:
                        os.unlink(os.path.join(self._db_path, name))
