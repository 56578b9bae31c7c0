"""What is damaged in an index, part by part, and what mending each takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class IndexPart(Enum):
    """What an index consists of. Each is derived from those before it, and all of it from the skills' files."""

    STATE = "state"
    TABLE = "table"
    ROWS = "rows"
    VECTORS = "vectors"
    STATISTICS = "statistics"
    POSTINGS = "postings"
    MIRROR = "mirror"


_MENDS = {
    IndexPart.STATE: "every SKILL.md is read again, and rows are written where they differ",
    IndexPart.TABLE: "the table is written anew from the files, with the vectors that are kept beside it",
    IndexPart.ROWS: "these rows are written again from their files",
    IndexPart.VECTORS: "these texts are embedded",
    IndexPart.STATISTICS: "the terms are counted again, from the table",
    IndexPart.POSTINGS: "the file is made again from the table",
    IndexPart.MIRROR: "it is fetched again from the storage",
}


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged part, and `what` is wrong with it. What `mends_itself` does so when the index is next used."""

    part: IndexPart
    what: str
    mends_itself: bool = False

    @property
    def mend(self) -> str:
        """What mends it with the least work."""
        return _MENDS[self.part]
