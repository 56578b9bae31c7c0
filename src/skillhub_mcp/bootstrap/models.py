"""The models that the settings choose: for embeddings, and for reordering hits."""

from __future__ import annotations

from skillhub_mcp.embedders import Embedder, local, make_embedder
from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.search.searcher import PROVIDER_REST_SECONDS
from skillhub_mcp.settings import Settings, local_path


class QueryEmbedder:
    """The embedder that was chosen, if one was, and the breaker that keeps queries from one that fails."""

    def __init__(self, chosen: Embedder | None) -> None:
        self.chosen = chosen
        self.breaker = CircuitBreaker(PROVIDER_REST_SECONDS)


def choose_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that `settings` choose, or None. Imports no SDK, loads no model and sends no request."""
    provider = settings.embedding.provider
    if provider == "local" or (provider == "auto" and local.is_installed()):
        return local.LocalEmbedder()
    if provider == "onnx":
        from skillhub_mcp.embedders.onnx import OnnxEmbedder  # only who has a model pays for it

        return OnnxEmbedder(local_path(settings.embedding.model))
    if provider not in ("openai", "gemini"):
        return None
    return make_embedder(
        provider,
        model=settings.embedding.model,
        api_key=settings.embedding.api_key,
        base_url=settings.embedding.base_url or None,
    )


def choose_reranker(settings: Settings) -> Reranker | None:
    if settings.search.rerank == "local":
        from skillhub_mcp.search.rerankers.local import LocalReranker  # only who has a model pays for it

        return LocalReranker(local_path(settings.search.rerank_model))
    if settings.search.rerank == "off" or settings.embedding.provider not in ("openai", "gemini"):
        return None
    return make_reranker(
        settings.embedding.provider,
        model=settings.search.rerank_model or None,
        api_key=settings.embedding.api_key,
        base_url=settings.embedding.base_url or None,
    )
