"""Rows as they are written: skills are read, analysed and embedded in pieces, never all at once in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.analyzer import TermCache
from skillhub_mcp.errors import EmbeddingError, SkillUnreadable
from skillhub_mcp.index.features import skill_features
from skillhub_mcp.index.keys import label_of
from skillhub_mcp.index.progress import ProgressCallback
from skillhub_mcp.index.row_embedder import RowEmbedder
from skillhub_mcp.index.schema import IndexRow, record_batch, text_hash
from skillhub_mcp.index.statistics import StatisticsBuilder
from skillhub_mcp.skills.documents import read_instructions
from skillhub_mcp.skills.model import Skill

if TYPE_CHECKING:
    from typing import Any

    Vectors = Mapping[str, Sequence[float]]

log = logging.getLogger(__name__)

# A piece that is written is a file of the table: so many rows, or about so many characters of bodies.
_ROWS_PER_PIECE = 1_800
_CHARACTERS_PER_PIECE = 48 << 20
_PREPARED_AT_ONCE = 1_000


class RowBatches:
    """The rows of `skills` by key, in pieces, with the `vectors` that are there already, by the hash of their text.

    A `local` embedder makes missing ones; any other adds them later. `failure` says why a local embedder failed. The
    `builder` of its label counts each row. `check` is called for each row, and raises if writing is to stop.
    """

    def __init__(
        self,
        skills: Mapping[str, Skill],
        vectors: Vectors,
        builder: Callable[[str], StatisticsBuilder],
        *,
        local: RowEmbedder | None,
        check: Callable[[], None],
        progress: ProgressCallback,
    ) -> None:
        self._skills = sorted(skills.items(), key=lambda one: label_of(one[0]))
        self._vectors = dict(vectors)
        self._local = local
        self._check = check
        self._progress = progress
        self._builder = builder
        self.failure: str | None = None
        # A table must know the length of vectors before its first row.
        self._embed(0)
        self.dimension = len(next(iter(self._vectors.values()))) if self._vectors else None

    def pieces(self, schema: Any) -> Iterator[list[Any]]:
        """Yield the rows in pieces, as Arrow's batches with that schema."""
        pending: list[IndexRow] = []
        characters = 0
        for row in self._rows():
            pending.append(row)
            characters += len(row.instructions)
            if len(pending) >= _ROWS_PER_PIECE or characters >= _CHARACTERS_PER_PIECE:
                yield [record_batch(pending, schema)]
                pending, characters = [], 0
        if pending:
            yield [record_batch(pending, schema)]

    def _rows(self) -> Iterator[IndexRow]:
        total = len(self._skills)
        for number, (key, skill) in enumerate(self._skills):
            self._check()
            self._progress("indexing", number, total)
            if number % _PREPARED_AT_ONCE == 0:
                # The terms of tokens that are known: another set now and then bounds the memory.
                known: TermCache = {}
                if number:
                    self._embed(number)
            try:
                instructions = read_instructions(skill)
            except SkillUnreadable as error:
                # It was removed after the scan: the row can be found until the next scan removes it.
                log.warning("%s: %s", error.path, error.message)
                instructions = ""
            features = skill_features(skill, instructions, known)
            self._builder(label_of(key)).add(features.own)
            yield IndexRow(key, skill, instructions, features, self._vectors.get(text_hash(skill.searchable_text)))
        self._progress("indexing", total, total)

    def _embed(self, begin: int) -> None:
        """Have a local embedder make the vectors that the next rows lack."""
        if self._local is None or self._local.pause > 0.0 or self.failure is not None:
            return
        several = self._skills[begin : begin + _PREPARED_AT_ONCE]
        texts = {text_hash(skill.searchable_text): skill.searchable_text for _, skill in several}
        missing = [text for key, text in texts.items() if key not in self._vectors]
        try:
            made = self._local.embedder.embed_documents(missing, waiting=False) if missing else []
        except EmbeddingError as error:
            self.failure = self._local.record_failure(error)
            return
        self._vectors.update(zip(map(text_hash, missing), made, strict=True))
