"""The embedder over a network provider: batches, retries, a deadline, and checks of the answers.

It is independent of the provider: `openai` and `gemini` each make one request and classify its failure.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Literal, Protocol, TypeVar

from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.embedders.base import TimeLimits, Vector
from skillhub_mcp.errors import EmbeddingError

Purpose = Literal["document", "query"]
T = TypeVar("T")

# Limits that every provider accepts: Gemini 100 texts per request, OpenAI 8,192 tokens per text and 300,000 per
# request. They are in bytes of UTF-8, because a token has at least one byte in any script; a character may be three
# tokens.
MAX_BATCH_TEXTS = 100
MAX_BATCH_BYTES = 200_000
MAX_TEXT_BYTES = 6_000

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 20.0
_RETRIED_STATUSES = frozenset({408, 409, 425, 429})
_SERVER_ERRORS = range(500, 600)
# Bad request, payload too large, unprocessable: what servers on this machine answer to more texts, or to longer ones,
# than they take. Each says so in words of its own.
_REFUSED_STATUSES = frozenset({400, 413, 422})
_SHORTEST_BYTES = 500
_FEWEST_TEXTS = 10
_LATE = "did not answer in time"


class RequestFailed(Exception):
    """One request failed. `retry_after` is how many seconds the provider asked to wait, if it did.

    An `outage` is a provider that cannot be reached or fails itself: rarely over by the next retry. What was `refused`
    may be answered in parts.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
        outage: bool = False,
        refused: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after
        self.outage = outage
        self.refused = refused


class EmbeddingRequest(Protocol):
    """A single request to a provider."""

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the provider's vectors. Raises RequestFailed, also after `timeout` seconds without an answer."""

    def close(self) -> None:
        """Close the connections that are kept."""


class RemoteEmbedder:
    """An Embedder that calls one provider."""

    is_instant = False
    texts_at_once = MAX_BATCH_TEXTS

    def __init__(
        self,
        identity: str,
        request: EmbeddingRequest,
        *,
        waiting: TimeLimits,
        unhurried: TimeLimits,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._identity = identity
        self._request = request
        self._waiting = waiting
        self._unhurried = unhurried
        self._sleep = sleep
        self._clock = clock
        self._most_texts = MAX_BATCH_TEXTS

    @property
    def identity(self) -> str:
        """Provider and model, as `provider:model`."""
        return self._identity

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        """Return one vector per text, in order; the time limits count for each batch. Raises EmbeddingError."""
        limits = self._waiting if waiting else self._unhurried
        vectors: list[Vector] = []
        for batch in batches(texts, most=self._most_texts):
            vectors += self._answered(batch, "document", limits)
        dimensions = {len(vector) for vector in vectors}
        if len(dimensions) > 1:
            raise self._failure("answered with vectors of different lengths")
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises EmbeddingError."""
        return self._answered([sendable(text)], "query", self._waiting)[0]

    def close(self) -> None:
        """Close the open connections; the next call opens new ones."""
        self._request.close()

    def _answered(self, texts: Sequence[str], purpose: Purpose, limits: TimeLimits) -> list[Vector]:
        """Return the vectors; what is refused is asked for in halves, and a single text shortened.

        Raises EmbeddingError, without its cause, which holds the provider's text and the headers: a log would contain
        the key.
        """
        until = self._clock() + limits.total if limits is self._waiting else math.inf
        vectors: list[Vector] = []
        todo = [list(texts)]
        refused, accepted = [], []
        while todo:
            part = todo.pop()
            try:
                vectors += self._call(part, purpose, limits)
                accepted.append(len(part))
            except RequestFailed as failed:
                smaller = _smaller(part) if failed.refused and self._clock() < until else []
                if not smaller:
                    self._take_fewer(failed, part)
                    raise self._failure(failed.reason) from None
                refused.append(len(part))
                todo += reversed(smaller)
        if refused and max(accepted) < min(refused):
            # It was the number of texts, and not one of them.
            self._most_texts = max(accepted)
        return vectors

    def _take_fewer(self, failed: RequestFailed, texts: Sequence[str]) -> None:
        # A server on this machine may need long for many texts: the next time it is asked for fewer.
        if failed.reason == _LATE and len(texts) > _FEWEST_TEXTS:
            self._most_texts = max(_FEWEST_TEXTS, len(texts) // 2)

    def _call(self, texts: Sequence[str], purpose: Purpose, limits: TimeLimits) -> list[Vector]:
        pause = _FIRST_PAUSE_SECONDS
        began = self._clock()
        deadline = began + limits.total
        reason = _LATE
        while True:
            remaining = deadline - self._clock()
            if remaining <= 0:
                raise RequestFailed(reason, retryable=False)
            try:
                vectors = self._call_once(texts, purpose, remaining)
            except RequestFailed as failed:
                # The last attempt may end with the deadline: why the ones before failed says more.
                reason = reason if failed.reason == _LATE else failed.reason
                if failed.outage:
                    deadline = min(deadline, began + limits.outage)
                jittered = pause * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, guards nothing
                # Never less than the pause: a provider that keeps answering 0 seconds would be called without end.
                wait = max(jittered, failed.retry_after or 0.0)
                if not failed.retryable or self._clock() + wait >= deadline:
                    raise RequestFailed(reason, retryable=False, refused=failed.refused) from None
            else:
                return self._checked(vectors, len(texts))
            self._sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _call_once(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> list[Vector]:
        """Make one request. Raises RequestFailed."""
        return answered_within(seconds, lambda: self._request(texts, purpose=purpose, timeout=seconds))

    def _checked(self, vectors: Sequence[Vector], expected: int) -> list[Vector]:
        if len(vectors) != expected:
            raise self._failure(f"answered with {len(vectors)} vectors for {expected} texts")
        checked = []
        for vector in vectors:
            try:
                length = math.hypot(*vector)
            except (TypeError, OverflowError):
                raise self._failure("answered with a vector that is not numeric") from None
            if not math.isfinite(length) or length == 0.0:
                raise self._failure("answered with a zero or non-finite vector")
            checked.append([number / length for number in vector])
        if len({len(vector) for vector in checked}) > 1:
            raise self._failure("answered with vectors of different lengths")
        return checked

    def _failure(self, reason: str) -> EmbeddingError:
        return EmbeddingError(
            f"The embedding provider {self._identity} {reason}",
            hint="check the provider, its key and EMBEDDING_BASE_URL; EMBEDDING_PROVIDER=none searches without vectors",
        )


def answered_within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what `ask` returns, called in a thread that is abandoned after `seconds`. Raises RequestFailed.

    The SDKs' own timeouts limit the time between bytes, not the whole call, and resolving a host name has none.
    """
    answer = start_abandonable(ask)
    futures.wait([answer], timeout=seconds)
    if not answer.done():
        raise RequestFailed(_LATE, retryable=False)
    return answer.result()


def batches(texts: Sequence[str], *, most: int = MAX_BATCH_TEXTS) -> Iterator[list[str]]:
    """Yield batches of at most `most` texts, in order and as `sendable` returns them, within all providers' limits."""
    batch: list[str] = []
    size = 0
    for text in texts:
        kept = sendable(text)
        added = len(kept.encode())
        if batch and (len(batch) >= most or size + added > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(kept)
        size += added
    if batch:
        yield batch


def _smaller(texts: list[str]) -> list[list[str]]:
    """Return the halves of several texts, or the first half of a single long one; nothing where that is no use."""
    if len(texts) > 1:
        return [texts[: len(texts) // 2], texts[len(texts) // 2 :]]
    kept = texts[0].encode()
    return [[kept[: len(kept) // 2].decode(errors="ignore")]] if len(kept) > _SHORTEST_BYTES else []


def sendable(text: str) -> str:
    """Return `text` truncated to 6,000 bytes of UTF-8, at the end of a character.

    A lone surrogate, which YAML and JSON can express but UTF-8 cannot, becomes a question mark: one such text would
    fail its whole batch.
    """
    # A character has at least one byte, so the first slice loses nothing and avoids encoding a huge text.
    return text[:MAX_TEXT_BYTES].encode(errors="replace")[:MAX_TEXT_BYTES].decode(errors="ignore")


def status_failure(status: int, *, retry_after: str | None) -> RequestFailed:
    """Return the failure for an HTTP status. The provider's own text is left out: it may repeat the key."""
    outage = status in _SERVER_ERRORS
    return RequestFailed(
        f"answered with HTTP status {status}",
        retryable=outage or status in _RETRIED_STATUSES,
        retry_after=_seconds_to_wait(retry_after),
        outage=outage,
        refused=status in _REFUSED_STATUSES,
    )


def unreachable(error: Exception) -> RequestFailed:
    """Return the failure of a request that got no answer."""
    return RequestFailed(f"could not be reached ({type(error).__name__})", retryable=True, outage=True)


def settings_failure(error: Exception) -> RequestFailed:
    """Return the failure of a request that cannot be made: HTTP cannot send this address or key."""
    return RequestFailed(f"cannot be called with these settings ({type(error).__name__})", retryable=False)


def _seconds_to_wait(retry_after: str | None) -> float | None:
    """Parse a Retry-After header: seconds or a date (RFC 9110, section 10.2.3). Return None if it is neither."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, moment.timestamp() - time.time())
