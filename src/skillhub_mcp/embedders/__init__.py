"""Embedders: vectors for texts. Only names, descriptions, tags, categories and queries are passed in, never a body. A
provider's SDK is imported with its first request.

abandonable  calls that their caller may stop waiting for
base         the `Embedder` protocol and its values
circuit_breaker  a pause after a failure of a provider
gemini       requests to Google's Gemini API, the model reranker's too
local        word vectors on this machine, from the files of `wordllama`
model_directory  a directory with a model for ONNX: its files, and what they say of using it
onnx         a sentence encoder of the person's own, in this process
onnx_model   one such model: its tokenizer and its network, loaded with the first call, bounded in time
openai       requests to OpenAI or a compatible server, the model reranker's too
remote       batches, retries, the deadline and checks for any provider
transport    errors of the HTTP libraries below the SDKs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillhub_mcp.embedders.base import Embedder, EmbedderOptions, TimeLimits, Vector

if TYPE_CHECKING:
    from skillhub_mcp.embedders.remote import RemoteEmbedder

__all__ = ["Embedder", "EmbedderOptions", "TimeLimits", "Vector", "make_embedder"]


def make_embedder(options: EmbedderOptions) -> RemoteEmbedder:
    """Return the embedder that `options` describe. Loads no SDK and calls nobody; its `close` may be left out."""
    from skillhub_mcp.embedders import gemini, openai
    from skillhub_mcp.embedders.remote import EmbeddingRequest, RemoteEmbedder

    request: EmbeddingRequest
    if options.provider == "openai":
        model = options.model or openai.DEFAULT_MODEL
        request = openai.OpenAIRequest(model=model, api_key=options.api_key, base_url=options.base_url)
    else:
        model = options.model or gemini.DEFAULT_MODEL
        request = gemini.GeminiRequest(model=model, api_key=options.api_key, base_url=options.base_url)
    return RemoteEmbedder(
        f"{options.provider}:{model}",
        request,
        waiting=options.waiting,
        unhurried=options.unhurried,
    )
