"""Embedders: vectors for texts. Only names, descriptions, tags, categories and queries are passed in, never a body.

abandonable      calls that their caller may stop waiting for
base             the `Embedder` protocol
circuit_breaker  a pause after a failure of a provider
gemini           requests to Google's Gemini API
local            word vectors on this machine, from the files of `wordllama`
model_directory  the files of an ONNX model, and what they say
onnx             the user's own sentence encoder, in this process
onnx_model       an ONNX model: its tokenizer and its network
openai           requests to OpenAI or a compatible server
remote           batches, the time limit and checks for any provider
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from skillhub_mcp.embedders.base import Embedder, Vector

if TYPE_CHECKING:
    from skillhub_mcp.embedders.remote import RemoteEmbedder

__all__ = ["Embedder", "Vector", "make_embedder"]


def make_embedder(
    provider: Literal["openai", "gemini"],
    *,
    model: str,
    api_key: str,
    base_url: str | None,
    waiting: float = 5.0,
    unhurried: float = 120.0,
) -> RemoteEmbedder:
    """Return the embedder over a provider; an empty `model` is its default. Loads no SDK and sends no request.

    `waiting` and `unhurried` are the seconds of one request with its retries, while a user waits and while none does.
    """
    from skillhub_mcp.embedders.gemini import GeminiRequest
    from skillhub_mcp.embedders.openai import OpenAIRequest
    from skillhub_mcp.embedders.remote import RemoteEmbedder

    request_of = OpenAIRequest if provider == "openai" else GeminiRequest
    model = model or request_of.embedding_model
    request = request_of(model=model, api_key=api_key, base_url=base_url)
    return RemoteEmbedder(f"{provider}:{model}", request, waiting=waiting, unhurried=unhurried)
