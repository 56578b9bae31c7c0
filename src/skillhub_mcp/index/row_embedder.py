"""Asking the embedder for the vectors of rows: in batches, with a pause after a failure, and without any lock.

It knows neither the table nor the state: `index.writer` says which texts lack a vector, and publishes what comes back.
"""

from __future__ import annotations

import logging
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass

from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.embedders.base import Embedder, Vector
from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker
from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.skills.model import Skill

log = logging.getLogger(__name__)

# No more than one request of any provider takes, so that a failure loses no answered batch.
BATCH_TEXTS = 100
# Publishing costs a version of the table and the time of its writer. What was paid for is published soon.
_PUBLISHED_AT_ONCE = 2_500
_PUBLISHED_AFTER_SECONDS = 20.0
_FIRST_PAUSE_SECONDS = 15.0
_LONGEST_PAUSE_SECONDS = 300.0
_STEP_SECONDS = 0.2


# A text, and its vector.
StoredVector = tuple[str, Sequence[float]]
Publish = Callable[[Mapping[str, StoredVector]], None]


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """How often a provider that fails is asked again, what else rests meanwhile, and what may be sent to it.

    The first pause after a failure is `pause_seconds`, later ones are twice as long each, up to five minutes.
    `on_failure` is called with each failure. `sendable` returns whether a skill may be sent at that moment.
    """

    pause_seconds: float = _FIRST_PAUSE_SECONDS
    on_failure: Callable[[], None] = lambda: None
    sendable: Callable[[], Callable[[Skill], bool]] = lambda: lambda _: True


ASK_AGAIN = EmbeddingOptions()


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
        longest = max(options.pause_seconds, _LONGEST_PAUSE_SECONDS) if options.pause_seconds else 0.0
        self._breaker = CircuitBreaker(options.pause_seconds, longest=longest)
        self._logged: str | None = None

    @property
    def pause(self) -> float:
        """How many seconds to wait before the embedder may be asked again."""
        return self._breaker.seconds_left

    def embed(
        self,
        texts: Mapping[str, str],
        publish: Publish,
        *,
        seconds: float | None = None,
        dimension: int | None = None,
    ) -> str | None:
        """Have the `texts` embedded, by key, and `publish` their vectors now and then. Return why it failed.

        With `seconds` a user is waiting, and what is not embedded by then is left for later, which is not a failure.
        `dimension` is the length that vectors must have, if known. Raises what `publish` raises.
        """
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        ready: dict[str, StoredVector] = {}
        published_at, done, failure = time.monotonic(), 0, None
        todo = list(texts.items())
        while done < len(todo) and not self._cancelled.is_set() and time.monotonic() < deadline:
            self._progress("embedding", done, len(todo))
            batch = todo[done : done + min(BATCH_TEXTS, self.embedder.texts_at_once)]
            try:
                vectors = self._ask([text for _, text in batch], waiting=seconds is not None)
                dimension = _checked_dimension(vectors, dimension)
            except EmbeddingError as error:
                failure = None if self._cancelled.is_set() else self.record_failure(error)
                break
            done += len(batch)
            for (key, text), vector in zip(batch, vectors, strict=True):
                # An eighth of the memory of a list of numbers.
                ready[key] = text, array("f", vector)
            if len(ready) >= _PUBLISHED_AT_ONCE or time.monotonic() - published_at > _PUBLISHED_AFTER_SECONDS:
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
