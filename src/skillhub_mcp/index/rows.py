"""Rows as they are written: skills are read, analysed and embedded in pieces, never all at once in memory.

`index.writer` says which texts lack a vector, and publishes what an embedder returns for them.
"""

from __future__ import annotations

import logging
import threading
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.analyzer import TermCache
from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.embedders.base import Embedder, Vector
from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker
from skillhub_mcp.errors import EmbeddingError, SkillUnreadable
from skillhub_mcp.index.features import SkillTerms, skill_features
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.schema import row_columns, text_hash
from skillhub_mcp.index.state_file import label_of
from skillhub_mcp.index.statistics import Statistics, counted
from skillhub_mcp.skills.loader import read_instructions
from skillhub_mcp.skills.model import Skill

if TYPE_CHECKING:
    from typing import Any

log = logging.getLogger(__name__)

# No more than one request of any provider takes, so that a failure loses no answered batch.
BATCH_TEXTS = 100
# Publishing costs a version of the table and the time of its writer. What was paid for is published soon.
PUBLISHED_AFTER_SECONDS = 20.0
_FIRST_PAUSE_SECONDS = 15.0
_LONGEST_PAUSE_SECONDS = 300.0
_STEP_SECONDS = 0.2
# A piece that is written is a file of the table.
_ROWS_PER_PIECE = 1_000

# A text, and its vector.
StoredVector = tuple[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """How often a provider that fails is asked again, what else rests meanwhile, and what may be sent to it.

    The first pause after a failure is `pause_seconds`, later ones are twice as long each, up to five minutes.
    `on_failure` is called with each failure. `sendable` returns whether a skill may be sent at that moment.
    """

    pause_seconds: float = _FIRST_PAUSE_SECONDS
    on_failure: Callable[[], None] = lambda: None
    sendable: Callable[[], Callable[[Skill], bool]] = lambda: lambda _: True


class RowEmbedder:
    """Embeds texts with one embedder, and rests after a failure. Safe to use from several threads."""

    def __init__(
        self,
        embedder: Embedder,
        *,
        options: EmbeddingOptions,
        cancelled: threading.Event,
        progress: ProgressCallback = no_progress,
    ) -> None:
        self.embedder = embedder
        self._cancelled = cancelled
        self._progress = progress
        self._on_failure = options.on_failure
        self._breaker = CircuitBreaker(options.pause_seconds, longest=_LONGEST_PAUSE_SECONDS)
        self._logged: str | None = None

    @property
    def pause(self) -> float:
        """How many seconds to wait before the embedder may be asked again."""
        return self._breaker.seconds_left

    def embed(
        self,
        texts: Mapping[str, str],
        publish: Callable[[Mapping[str, StoredVector]], object],
        *,
        seconds: float = float("inf"),
        dimension: int | None = None,
    ) -> str | None:
        """Have the `texts` embedded, by key, and `publish` their vectors now and then. Return why it failed.

        With `seconds` a user is waiting, and what is not embedded by then is left for later, which is not a failure.
        `dimension` is the length that vectors must have, if known. Raises what `publish` raises.
        """
        ready: dict[str, StoredVector] = {}
        done, failure, todo = 0, None, list(texts.items())
        published_at = time.monotonic()
        deadline = published_at + seconds
        while done < len(todo) and not self._cancelled.is_set() and time.monotonic() < deadline:
            self._progress("embedding", done, len(todo))
            batch = todo[done : done + min(BATCH_TEXTS, self.embedder.texts_at_once)]
            try:
                vectors = self._ask([text for _, text in batch], waiting=seconds < float("inf"))
                dimension = _checked_dimension(vectors, dimension)
            except EmbeddingError as error:
                failure = None if self._cancelled.is_set() else self.record_failure(error)
                break
            done += len(batch)
            for (key, text), vector in zip(batch, vectors, strict=True):
                # An eighth of the memory of a list of numbers.
                ready[key] = text, array("f", vector)
            if time.monotonic() - published_at > PUBLISHED_AFTER_SECONDS:
                publish(ready)
                ready, published_at = {}, time.monotonic()
        # The progress bar of a step that ends early ends here.
        self._progress("embedding", done, done)
        if self._cancelled.is_set():
            return None
        if ready:
            publish(ready)
        if failure is None and done:
            self._breaker.record_success()
            self._logged = None
        return failure

    def record_failure(self, error: EmbeddingError) -> str:
        """Rest for a while, and return what failed, logged once however often it happens again."""
        self._breaker.record_failure()
        self._on_failure()
        hint = f"; {error.hint}" if error.hint else ""
        level = logging.DEBUG if error.message == self._logged else logging.WARNING
        log.log(level, "Skills without vectors are found by text alone for a while: %s%s", error.message, hint)
        self._logged = error.message
        return error.message

    def _ask(self, texts: Sequence[str], *, waiting: bool) -> list[Vector]:
        """Return the vectors. Raises EmbeddingError, also once `cancelled` is set: the call is then abandoned."""
        if self.embedder.is_instant:
            return self.embedder.embed_documents(texts, waiting=waiting)
        # A provider may need a minute, and a closing server does not wait for it.
        answer = start_abandonable(lambda: self.embedder.embed_documents(texts, waiting=waiting))
        while not answer.done():
            wait([answer], timeout=_STEP_SECONDS)
            if self._cancelled.is_set() and not answer.done():
                raise EmbeddingError("Embedding was stopped before it finished")
        return answer.result()


class RowBatches:
    """The rows of `skills` by key, in pieces, with the `vectors` that are there already, by the hash of their text.

    An embedder without a provider makes missing ones; any other adds them later. `failure` says why it failed. The
    `statistics` count the rows of each label. `check` is called for each row, and raises if writing is to stop.
    """

    def __init__(
        self,
        skills: Mapping[str, Skill],
        vectors: Mapping[str, Sequence[float]],
        *,
        embedder: RowEmbedder | None,
        check: Callable[[], None],
        progress: ProgressCallback,
    ) -> None:
        self._skills = sorted(skills.items(), key=lambda one: label_of(one[0]))
        self._vectors = dict(vectors)
        self._local = embedder if embedder is not None and embedder.embedder.is_instant else None
        self._check = check
        self._progress = progress
        self.statistics = defaultdict[str, Statistics](Statistics)
        self.failure: str | None = None
        # A table must know the length of vectors before its first row.
        self._embed(self._skills[:_ROWS_PER_PIECE])
        self.dimension = len(next(iter(self._vectors.values()))) if self._vectors else None

    def pieces(self, schema: Any) -> Iterator[Any]:
        """Yield the rows in pieces, as Arrow's tables with that schema."""
        import pyarrow as pa

        self.statistics.clear()
        total = len(self._skills)
        for begin in range(0, total, _ROWS_PER_PIECE):
            several = self._skills[begin : begin + _ROWS_PER_PIECE]
            self._embed(several)
            # The terms of tokens, for the next skills: one set for each piece bounds the memory.
            known: TermCache = {}
            rows = []
            terms = defaultdict[str, list[SkillTerms]](list)
            for number, (key, skill) in enumerate(several, begin):
                self._check()
                self._progress("indexing", number, total)
                instructions = _instructions(skill)
                features = skill_features(skill, instructions, known)
                terms[label_of(key)].append(features.own)
                vector = self._vectors.get(text_hash(skill.searchable_text))
                rows.append(row_columns(key, skill, instructions, features, vector))
            for label, own in terms.items():
                self.statistics[label] += counted(own)
            yield pa.Table.from_pylist(rows, schema=schema)
        self._progress("indexing", total, total)

    def _embed(self, several: Sequence[tuple[str, Skill]]) -> None:
        """Have a local embedder make the vectors that some rows lack."""
        if self._local is None or self._local.pause > 0.0 or self.failure is not None:
            return
        texts = {text_hash(skill.searchable_text): skill.searchable_text for _, skill in several}
        missing = [text for key, text in texts.items() if key not in self._vectors]
        try:
            made = self._local.embedder.embed_documents(missing, waiting=False) if missing else []
        except EmbeddingError as error:
            self.failure = self._local.record_failure(error)
            return
        self._vectors.update(zip(map(text_hash, missing), made, strict=True))


def _instructions(skill: Skill) -> str:
    try:
        return read_instructions(skill)
    except SkillUnreadable as error:
        # It was removed after the scan: the row can be found until the next scan removes it.
        log.warning("%s: %s", error.path, error.message)
        return ""


def _checked_dimension(vectors: Sequence[Vector], dimension: int | None) -> int | None:
    """Return the length of the vectors. Raises EmbeddingError if another was expected."""
    for vector in vectors:
        if dimension is not None and len(vector) != dimension:
            raise EmbeddingError(
                f"The embedding provider answered with vectors of {len(vector)} numbers, and the index has {dimension}",
                hint="if another model has taken the name of the one before, run skillhub --reindex",
            )
        dimension = len(vector)
    return dimension
