"""Placeholder by the lead so that imports work; helper-2 replaces this file whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Vector = list[float]


class Embedder(Protocol):
    @property
    def identity(self) -> str: ...
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]: ...
    def embed_query(self, text: str) -> Vector: ...


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    provider: Literal["openai", "gemini"]
    model: str | None
    api_key: str
    base_url: str | None
