"""How is a provider over the network called? In batches, with retries, within a deadline, and checked.

Knows no provider: `openai` and `gemini` make one request each and say how it failed.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol

from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.search.embedders.base import Vector

Purpose = Literal["document", "query"]

# The smaller of the providers' limits, with room to spare: Gemini takes 100 texts a request and 2,048 tokens a text.
MAX_BATCH_TEXTS = 100
MAX_BATCH_CHARACTERS = 200_000
MAX_TEXT_CHARACTERS = 6_000

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 20.0
_RETRIED_STATUSES = frozenset({408, 409, 425, 429})
_SERVER_ERRORS = range(500, 600)


class RequestFailed(Exception):
    """One request failed. `retry_after` is the seconds that the provider asked to wait, where it did."""

    def __init__(self, reason: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after


class EmbeddingRequest(Protocol):
    """One request to one provider."""

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the provider's vectors within `timeout` seconds. Raises RequestFailed."""


class RemoteEmbedder:
    """An Embedder over one provider's request."""

    def __init__(
        self,
        identity: str,
        request: EmbeddingRequest,
        *,
        query_seconds: float,
        index_seconds: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._identity = identity
        self._request = request
        self._query_seconds = query_seconds
        self._index_seconds = index_seconds
        self._sleep = sleep

    @property
    def identity(self) -> str:
        """Provider and model."""
        return self._identity

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector a text, in their order. Raises EmbeddingError."""
        deadline = time.monotonic() + self._index_seconds
        vectors: list[Vector] = []
        for batch in batches(texts):
            vectors += self._answer(batch, "document", deadline)
        dimensions = {len(vector) for vector in vectors}
        if len(dimensions) > 1:
            raise self._failure("answered with vectors of different lengths")
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises EmbeddingError."""
        return self._answer([text[:MAX_TEXT_CHARACTERS]], "query", time.monotonic() + self._query_seconds)[0]

    def _answer(self, texts: Sequence[str], purpose: Purpose, deadline: float) -> list[Vector]:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise self._failure("did not answer in time")
            try:
                return self._checked(self._request(texts, purpose=purpose, timeout=remaining), len(texts))
            except RequestFailed as failed:
                jittered = pause * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, guards nothing
                wait = jittered if failed.retry_after is None else failed.retry_after
                if not failed.retryable or time.monotonic() + wait >= deadline:
                    raise self._failure(failed.reason) from failed
            self._sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _checked(self, vectors: Sequence[Vector], expected: int) -> list[Vector]:
        if len(vectors) != expected:
            raise self._failure(f"answered with {len(vectors)} vectors for {expected} texts")
        checked = []
        for vector in vectors:
            length = math.sqrt(math.fsum(number * number for number in vector))
            if not math.isfinite(length) or length == 0.0:
                raise self._failure("answered with a vector that has no direction")
            checked.append([number / length for number in vector])
        if len({len(vector) for vector in checked}) > 1:
            raise self._failure("answered with vectors of different lengths")
        return checked

    def _failure(self, reason: str) -> EmbeddingError:
        return EmbeddingError(
            f"The embedding provider {self._identity} {reason}",
            hint="check the provider, its key and EMBEDDING_BASE_URL; EMBEDDING_PROVIDER=none searches without it",
        )


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in order, each cut to 6,000 characters, in requests that every provider takes."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        kept = text[:MAX_TEXT_CHARACTERS]
        if batch and (len(batch) >= MAX_BATCH_TEXTS or characters + len(kept) > MAX_BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(kept)
        characters += len(kept)
    if batch:
        yield batch


def status_failure(status: int, *, retry_after: str | None) -> RequestFailed:
    """Return the failure that an HTTP status means. The provider's own text is left out: it may repeat the key."""
    try:
        seconds = None if retry_after is None else max(0.0, float(retry_after))
    except ValueError:
        seconds = None
    retryable = status in _RETRIED_STATUSES or status in _SERVER_ERRORS
    return RequestFailed(f"answered with HTTP status {status}", retryable=retryable, retry_after=seconds)
