"""Vectors from a provider over a network: batches, a time limit and checks of the answers. The SDKs retry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from typing import Protocol, TypeVar

from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.embedders.base import Purpose, Vector
from skillhub_mcp.errors import EmbeddingError

T = TypeVar("T")

# Limits that every provider accepts: Gemini 100 texts per request, OpenAI 8,192 tokens per text and 300,000 per
# request. They are in bytes of UTF-8, because a token has at least one byte in any script.
MAX_BATCH_TEXTS = 100
MAX_BATCH_BYTES = 200_000
MAX_TEXT_BYTES = 6_000
# Requests of one call, with the retries of the SDK.
ATTEMPTS = 3
# Bad request, payload too large, unprocessable: servers of your own answer so to more or longer texts than they take.
_REFUSED_STATUSES = frozenset({400, 413, 422})
_SHORTEST_BYTES = 500


class RequestFailed(Exception):
    """A request failed, retries included. What was `refused` may be answered in parts."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.refused = refused


class EmbeddingRequest(Protocol):
    """A single request to a provider."""

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the provider's vectors. Raises RequestFailed."""


class RemoteEmbedder:
    """An Embedder that calls one provider: for at most `waiting` seconds while a user waits, else `unhurried`."""

    is_instant = False
    texts_at_once = MAX_BATCH_TEXTS

    def __init__(self, identity: str, request: EmbeddingRequest, *, waiting: float, unhurried: float) -> None:
        self.identity = identity
        self._request = request
        self._waiting = waiting
        self._unhurried = unhurried

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        """Return one vector per text, in order; the time limit counts for each request. Raises EmbeddingError."""
        seconds = self._waiting if waiting else self._unhurried
        return [vector for batch in batches(texts) for vector in self._vectors(batch, "document", seconds)]

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises EmbeddingError."""
        return self._vectors([sendable(text)], "query", self._waiting)[0]

    def _vectors(self, texts: list[str], purpose: Purpose, seconds: float) -> list[Vector]:
        """Return the vectors; a refused batch is sent again in halves, and a refused text shortened."""
        try:
            vectors = answered_within(seconds, lambda: self._request(texts, purpose=purpose, timeout=seconds))
        except RequestFailed as failed:
            parts = _smaller(texts) if failed.refused else []
            if not parts:
                # Without the cause, which holds the headers: a log would contain the key.
                raise self._failure(failed.reason) from None
            return [vector for part in parts for vector in self._vectors(part, purpose, seconds)]
        return self._units(vectors, len(texts))

    def _units(self, vectors: Sequence[Vector], expected: int) -> list[Vector]:
        if len(vectors) != expected:
            raise self._failure(f"answered with {len(vectors)} vectors for {expected} texts")
        if len({len(vector) for vector in vectors}) > 1:
            raise self._failure("answered with vectors of different lengths")
        try:
            lengths = [math.hypot(*vector) for vector in vectors]
        except (TypeError, OverflowError):
            raise self._failure("answered with a vector that is not numeric") from None
        if not all(0.0 < length < math.inf for length in lengths):
            raise self._failure("answered with a zero or non-finite vector")
        return [[number / length for number in vector] for vector, length in zip(vectors, lengths, strict=True)]

    def _failure(self, reason: str) -> EmbeddingError:
        return EmbeddingError(
            f"The embedding provider {self.identity} {reason}",
            hint="check the provider, its key and EMBEDDING_BASE_URL; EMBEDDING_PROVIDER=none searches without vectors",
        )


def answered_within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what `ask` returns, called in a thread that is abandoned after `seconds`. Raises RequestFailed.

    The SDKs' own timeouts limit the time between bytes, not the whole call, and resolving a host name has none.
    """
    try:
        return start_abandonable(ask).result(timeout=seconds)
    except futures.TimeoutError:
        raise RequestFailed("did not answer in time") from None


@contextmanager
def translated(status_error: type[Exception]) -> Iterator[None]:
    """Turn the errors of an SDK, whose `status_error` has the HTTP status as `code` or `status_code`, into ours.

    The provider's own text is left out: it may repeat the key.
    """
    try:
        yield
    except RequestFailed:
        raise
    except status_error as error:
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        raise RequestFailed(f"answered with HTTP status {status}", refused=status in _REFUSED_STATUSES) from error
    except Exception as error:  # The SDKs let errors of their HTTP libraries, of JSON and of types through.
        kind = type(error.__cause__ or error).__name__
        raise RequestFailed(f"could not be reached or sent an invalid answer ({kind})") from error


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in order, as `sendable` returns them, in batches within all providers' limits."""
    batch: list[str] = []
    size = 0
    for text in map(sendable, texts):
        added = len(text.encode())
        if batch and (len(batch) >= MAX_BATCH_TEXTS or size + added > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += added
    if batch:
        yield batch


def _smaller(texts: list[str]) -> list[list[str]]:
    """Return the halves of several texts, or the first half of a single long one, or nothing."""
    if len(texts) > 1:
        return [texts[: len(texts) // 2], texts[len(texts) // 2 :]]
    text = texts[0].encode()
    return [[text[: len(text) // 2].decode(errors="ignore")]] if len(text) > _SHORTEST_BYTES else []


def sendable(text: str) -> str:
    """Return `text` cut to 6,000 bytes of UTF-8, at the end of a character; a lone surrogate becomes `?`."""
    # A character has at least one byte, so the first slice loses nothing and avoids encoding a huge text.
    return text[:MAX_TEXT_BYTES].encode(errors="replace")[:MAX_TEXT_BYTES].decode(errors="ignore")
