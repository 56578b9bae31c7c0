"""The embedder protocol, and its types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

Vector = list[float]
Purpose = Literal["document", "query"]


class Embedder(Protocol):
    """Turns texts into vectors of length 1, all of one dimension. Its methods raise EmbeddingError only."""

    @property
    def identity(self) -> str:
        """Provider and model, such as `openai:text-embedding-3-small`; another identity makes the index stale."""

    @property
    def is_instant(self) -> bool:
        """Whether a text costs it microseconds, as with word vectors: writing an index then waits for it."""

    @property
    def texts_at_once(self) -> int:
        """How many texts one call is best given, so that a caller may stop between two."""

    def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
        """Return one vector per text, in order. With `waiting`, it fails as fast as `embed_query`."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Fails fast, because a user is waiting."""
