"""Requests to Google's Gemini API or a compatible server: vectors, and JSON answers for `search.rerankers.model`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillhub_mcp.embedders.base import Purpose, Vector
from skillhub_mcp.embedders.remote import ATTEMPTS, translated

_TASK_TYPES: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}
_FIRST_PAUSE_SECONDS = 0.5


class GeminiRequest:
    """Calls `batchEmbedContents`, or `generateContent`, through Google's SDK, imported with the first request."""

    embedding_model = "gemini-embedding-001"
    answering_model = "gemini-2.5-flash"

    def __init__(self, *, model: str, api_key: str, base_url: str | None) -> None:
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._client: Any = None

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the vectors, in the texts' order. Raises RequestFailed."""
        from google.genai import errors, types

        config = types.EmbedContentConfig(task_type=_TASK_TYPES[purpose], http_options=_limits(timeout))
        with translated(errors.APIError):
            answer = self._connected().models.embed_content(model=self._model, contents=list(texts), config=config)
            return [list(embedding.values) for embedding in answer.embeddings]

    def answer(self, instruction: str, text: str, *, timeout: float) -> str:
        """Return what the model answers, as JSON text. Raises RequestFailed."""
        from google.genai import errors, types

        config = types.GenerateContentConfig(
            system_instruction=instruction, response_mime_type="application/json", http_options=_limits(timeout)
        )
        with translated(errors.APIError):
            return str(self._connected().models.generate_content(model=self._model, contents=text, config=config).text)

    def _connected(self) -> Any:
        from google import genai
        from google.genai import types

        if self._client is None:
            options = types.HttpOptions(base_url=self._base_url)
            self._client = genai.Client(api_key=self._api_key, vertexai=False, http_options=options)
        return self._client


def _limits(seconds: float) -> Any:
    from google.genai import types

    # In milliseconds. By default the SDK does not retry.
    retries = types.HttpRetryOptions(attempts=ATTEMPTS, initial_delay=_FIRST_PAUSE_SECONDS, jitter=_FIRST_PAUSE_SECONDS)
    return types.HttpOptions(timeout=max(1, int(seconds * 1000)), retry_options=retries)
