"""How many skills have a term, and how long their fields are: what BM25F needs and LanceDB's API does not give.

There is a JSON file for each root and version of the table, beside the tables; a search adds up those of its own roots.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import private_mode
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.connection import IN_MEMORY
from skillhub_mcp.index.features import FIELDS, SkillTerms
from skillhub_mcp.index.table import TableVersion

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Statistics:
    """The number of skills, the sums of their field lengths, and how many skills have each term, and each word.

    Words are those of the short fields as written.
    """

    skills: int
    lengths: Sequence[int]
    terms: Mapping[str, int]
    words: Mapping[str, int]

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


NO_SKILLS = Statistics(0, (0,) * len(FIELDS), {}, {})


class StatisticsBuilder:
    """Builds `Statistics` by adding skills to those `before`, and removing some."""

    def __init__(self, before: Statistics = NO_SKILLS) -> None:
        self._skills = before.skills
        self._lengths = list(before.lengths)
        self._terms = Counter(before.terms)
        self._words = Counter(before.words)

    def add(self, skill: SkillTerms) -> None:
        """Count a skill."""
        self._count(1, skill.lengths)
        self._terms.update(skill.terms)
        self._words.update(skill.words)

    def remove(self, skill: SkillTerms) -> None:
        """Count a skill no longer."""
        self._count(-1, skill.lengths)
        self._terms.subtract(skill.terms)
        self._words.subtract(skill.words)

    def merge(self, other: Statistics) -> None:
        """Count the skills of other statistics too."""
        self._skills += other.skills
        self._lengths = [own + more for own, more in zip(self._lengths, other.lengths, strict=True)]
        self._terms.update(other.terms)
        self._words.update(other.words)

    def _count(self, times: int, lengths: Sequence[int]) -> None:
        self._skills += times
        self._lengths = [own + times * more for own, more in zip(self._lengths, lengths, strict=True)]

    def build(self) -> Statistics:
        """Return the statistics of the skills counted so far."""
        return Statistics(self._skills, self._lengths, dict(+self._terms), dict(+self._words))


def counted(skills: Iterable[SkillTerms]) -> Statistics:
    """Return the statistics of skills."""
    builder = StatisticsBuilder()
    for skill in skills:
        builder.add(skill)
    return builder.build()


def summed(several: Sequence[Statistics]) -> Statistics:
    """Return the statistics of the skills of several roots together."""
    if len(several) == 1:
        return several[0]
    builder = StatisticsBuilder()
    for one in several:
        builder.merge(one)
    return builder.build()


class RootStatistics:
    """The statistics of roots, beside the tables of a database; those of a database in memory are kept here."""

    def __init__(self, db_path: str) -> None:
        self._db_path = db_path
        self._kept: dict[str, Statistics] = {}

    def save(self, table: str, label: str, version: TableVersion, statistics: Statistics) -> str:
        """Keep the statistics of a root as of a version, and return their name. Raises OSError."""
        name = statistics_name(table, label, version.version)
        if self._db_path != IN_MEMORY:
            path = os.path.join(self._db_path, name)
            written = json.dumps({"table": version.table_id, **asdict(statistics)}, separators=(",", ":"))
            mode = private_mode(self._db_path) or 0o660
            atomic_write(path, written.encode("utf-8", "surrogatepass"), mode=mode, follow=False)
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
            with open(os.path.join(self._db_path, name), encoding="utf-8") as file:
                written = json.load(file)
            if written.pop("table") == version.table_id:
                return Statistics(**written)
            log.info("The statistics of %s are of another table and are counted again", label)
        except (OSError, ValueError, LookupError, TypeError) as error:
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
        with contextlib.suppress(OSError):
            for name in os.listdir(self._db_path):
                if name.startswith(f"statistics-{table}-") and name not in used:
                    os.unlink(os.path.join(self._db_path, name))


def statistics_name(table: str, label: str, version: int) -> str:
    """Return the name of the file with the statistics of a root as of a version of a table."""
    return f"statistics-{table}-{label}-{version}.json"
