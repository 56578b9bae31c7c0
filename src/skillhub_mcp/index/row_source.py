"""Rows as they are written: each skill read, and given its vector where that takes no request, when its turn comes.

So that bodies and vectors of a large library are never all in memory at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from skillhub_mcp.errors import SkillUnreadable
from skillhub_mcp.index.progress import ProgressCallback
from skillhub_mcp.index.row_embedder import RowEmbedder
from skillhub_mcp.index.rows import IndexRow, StoredVector
from skillhub_mcp.skills.documents import read_instructions
from skillhub_mcp.skills.model import Skill

log = logging.getLogger(__name__)

_EMBEDDED_AT_ONCE = 1_000


class RowSource:
    """The rows of `skills`, some with `vectors` that are there already, by directory. It can be read more than once.

    `key_of` returns the key that a skill's row gets.
    `embedder` makes the vectors of the others without a request; it is None where they come later, or never.
    `dimension` is the length of all vectors: None where none is known and the embedder made none for the first skills.
    `failure` says why some have none, once all rows have been read, and `unembedded` which have none of their present
    text. `check` is called for each row, and raises where writing is to stop.
    """

    def __init__(
        self,
        skills: Sequence[Skill],
        vectors: Mapping[str, StoredVector],
        *,
        key_of: Callable[[Skill], str],
        embedder: RowEmbedder | None,
        dimension: int | None,
        check: Callable[[], None],
        progress: ProgressCallback,
    ) -> None:
        self._skills = skills
        self._vectors = vectors
        self._key_of = key_of
        self._embedder = embedder
        self._check = check
        self._progress = progress
        self.dimension = dimension
        self.failure: str | None = None
        self.unembedded: set[str] = set()
        # The first ones tell how long vectors are, which a table must know before its first row.
        self._first = self._embedded(skills[:_EMBEDDED_AT_ONCE])

    def __iter__(self) -> Iterator[IndexRow]:
        """Yield the rows in the order of the skills."""
        self.unembedded = set()
        for begin in range(0, len(self._skills), _EMBEDDED_AT_ONCE):
            several = self._skills[begin : begin + _EMBEDDED_AT_ONCE]
            vectors = self._embedded(several) if begin else self._first
            for number, skill in enumerate(several, begin):
                self._check()
                self._progress("indexing", number, len(self._skills))
                yield self._row(skill, vectors.get(skill.directory) or self._vectors.get(skill.directory))
        self._progress("indexing", len(self._skills), len(self._skills))

    def _row(self, skill: Skill, own: StoredVector | None) -> IndexRow:
        is_stale = own is not None and own.text is None
        if own is None or is_stale:
            self.unembedded.add(skill.directory)
        try:
            instructions = read_instructions(skill)
        except SkillUnreadable as error:
            # It was removed after the scan: the row can be found until the next scan removes it.
            log.warning("%s: %s", error.path, error.message)
            instructions = ""
        vector = None if own is None else own.vector
        return IndexRow(self._key_of(skill), skill, instructions, vector, is_stale=is_stale)

    def _embedded(self, skills: Sequence[Skill]) -> Mapping[str, StoredVector]:
        """Return vectors of the skills that have none; what is missing comes later, as after any failure."""
        made: dict[str, StoredVector] = {}
        embedder = self._embedder
        if embedder is None or embedder.pause > 0.0:
            return made
        texts = {skill.directory: skill.searchable_text for skill in skills if skill.directory not in self._vectors}
        failure = embedder.embed(texts, made.update, dimension=self.dimension, is_told=False)
        self._check()
        self.failure = self.failure or failure
        if made and self.dimension is None:
            self.dimension = len(next(iter(made.values())).vector)
        return made
