"""The embedder protocol, its options, and the type of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Vector = list[float]


class Embedder(Protocol):
    """Turns texts into vectors of length 1, all of one dimension. Its methods raise EmbeddingError only."""

    @property
    def identity(self) -> str:
        """Provider and model, such as `openai:text-embedding-3-small`; another identity makes the index stale."""

    @property
    def is_instant(self) -> bool:
        """Whether a text costs it microseconds, as it does word vectors: writing an index waits for it."""

    @property
    def texts_at_once(self) -> int:
        """How many texts one call is best given, so that a caller may stop between two."""

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        """Return one vector per text, in order. Without texts, makes no request.

        With `waiting`, a user is waiting: it fails as fast as `embed_query`.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Fails fast, because a user is waiting."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time of one call with all its retries, in seconds.

    A call takes at most `total`, and ends after `outage` where the provider refuses connections or answers 5xx.
    """

    total: float
    outage: float


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """The provider of embeddings, and the time limits of a call while a user waits and while none does.

    `model` and `base_url` of None mean the provider's defaults.
    """

    provider: Literal["openai", "gemini"]
    model: str | None
    api_key: str
    base_url: str | None
    waiting: TimeLimits = TimeLimits(total=5.0, outage=2.0)
    unhurried: TimeLimits = TimeLimits(total=30.0, outage=10.0)
