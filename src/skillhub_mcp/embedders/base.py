"""What an embedder promises, and the values it deals in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Vector = list[float]


class Embedder(Protocol):
    """Turns texts into vectors of length 1 and one dimension. Both verbs raise EmbeddingError, and nothing else."""

    @property
    def identity(self) -> str:
        """Provider and model, such as `openai:text-embedding-3-small`: part of the index's freshness."""

    @property
    def is_local(self) -> bool:
        """Whether it works on this machine alone, and costs nobody a request."""

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector a text, in their order. No text, no request."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; quick to fail, because a person waits."""


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """Whose embeddings, and the bounds of a call. The seconds hold for one call with all its retries.

    `model` and `base_url` of None take the provider's own.
    """

    provider: Literal["openai", "gemini"]
    model: str | None
    api_key: str
    base_url: str | None
    query_seconds: float = 5.0
    index_seconds: float = 120.0
