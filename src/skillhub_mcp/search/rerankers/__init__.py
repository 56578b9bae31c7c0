"""Rerankers order the best hits again: a provider's model, or a cross-encoder on this machine, reads them.

local  a cross-encoder that the person has, in this process
model  a model's order of names and descriptions
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from skillhub_mcp.search.rerankers.model import ModelReranker


class Reranker(Protocol):
    """Says how well skills fit."""

    def rerank(self, query: str, skills: Sequence[tuple[str, str]]) -> list[float]:
        """Return one number of at least 0 per skill, a name and a description; more is better. Raises RerankingError.

        The order of the skills does not change their numbers.
        """


def make_reranker(
    provider: Literal["openai", "gemini"], *, model: str | None, api_key: str, base_url: str | None
) -> ModelReranker:
    """Return a reranker that asks a provider's model. Loads no SDK and sends no request yet."""
    from skillhub_mcp.embedders.gemini import GeminiRequest
    from skillhub_mcp.embedders.openai import OpenAIRequest
    from skillhub_mcp.search.rerankers.model import ModelReranker

    request_of = OpenAIRequest if provider == "openai" else GeminiRequest
    model = model or request_of.answering_model
    return ModelReranker(f"{provider}:{model}", request_of(model=model, api_key=api_key, base_url=base_url).answer)
