"""The models that the settings choose: for embeddings, and for reordering hits."""

from __future__ import annotations

from skillhub_mcp.embedders import Embedder, local, make_embedder
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.settings import Settings, local_path


def choose_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that `settings` choose, or None. Imports no SDK, loads no model and sends no request."""
    chosen = settings.embedding
    if chosen.provider == "local" or (chosen.provider == "auto" and local.is_installed()):
        return local.LocalEmbedder()
    if chosen.provider == "onnx":
        from skillhub_mcp.embedders.onnx import OnnxEmbedder  # loaded only if it is used

        return OnnxEmbedder(local_path(chosen.model))
    if chosen.provider not in ("openai", "gemini"):
        return None
    return make_embedder(chosen.provider, model=chosen.model, api_key=chosen.api_key, base_url=chosen.base_url or None)


def choose_reranker(settings: Settings) -> Reranker | None:
    """Return the reranker that `settings` choose, or None. Imports no SDK, loads no model and sends no request."""
    chosen, provider = settings.search, settings.embedding
    if chosen.rerank == "local":
        from skillhub_mcp.search.rerankers.local import LocalReranker  # loaded only if it is used

        return LocalReranker(local_path(chosen.rerank_model))
    if chosen.rerank == "off" or provider.provider not in ("openai", "gemini"):
        return None
    return make_reranker(
        provider.provider,
        model=chosen.rerank_model or None,
        api_key=provider.api_key,
        base_url=provider.base_url or None,
    )
