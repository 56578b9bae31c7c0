"""Requests to Google's Gemini API or a compatible server: vectors, and JSON answers for `search.rerankers.model`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.embedders.remote import Purpose, RequestFailed, settings_failure, status_failure, unreachable
from skillhub_mcp.embedders.transport import settings_failures, transport_failures

DEFAULT_MODEL = "gemini-embedding-001"
DEFAULT_ANSWERING_MODEL = "gemini-2.5-flash"

_TASK_TYPES: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


class GeminiRequest:
    """Calls `batchEmbedContents`, or `generateContent`, through Google's SDK, imported with the first request."""

    def __init__(self, *, model: str, api_key: str, base_url: str | None) -> None:
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._client: Any = None

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the vectors, in the texts' order. Raises RequestFailed."""
        from google.genai import types

        client = self._get_client()
        with _translated_errors():
            answer = client.models.embed_content(
                model=self._model,
                contents=list(texts),
                config=types.EmbedContentConfig(task_type=_TASK_TYPES[purpose], http_options=_limits(timeout)),
            )
            return [list(embedding.values) for embedding in answer.embeddings]

    def answer(self, instruction: str, text: str, *, timeout: float) -> str:
        """Return what the model answers, as JSON text. Raises RequestFailed."""
        from google.genai import types

        client = self._get_client()
        with _translated_errors():
            answer = client.models.generate_content(
                model=self._model,
                contents=text,
                config=types.GenerateContentConfig(
                    system_instruction=instruction,
                    response_mime_type="application/json",
                    http_options=_limits(timeout),
                ),
            )
            return str(answer.text)

    def close(self) -> None:
        """Close the open connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _get_client(self) -> Any:
        from google import genai
        from google.genai import types

        client = self._client
        if client is None:
            try:
                client = genai.Client(
                    api_key=self._api_key, vertexai=False, http_options=types.HttpOptions(base_url=self._base_url)
                )
            except ValueError as error:
                raise settings_failure(error) from error
            except settings_failures() as error:
                raise settings_failure(error) from error
            self._client = client
        return client


def _limits(seconds: float) -> Any:
    from google.genai import types

    # In milliseconds. RemoteEmbedder retries, within one deadline for both providers: the SDK has no such deadline.
    return types.HttpOptions(timeout=max(1, int(seconds * 1000)), retry_options=types.HttpRetryOptions(attempts=1))


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Turn the errors of a request into RequestFailed."""
    from google.genai import errors

    try:
        yield
    except errors.APIError as error:
        headers = getattr(error.response, "headers", None) or {}
        raise status_failure(error.code, retry_after=headers.get("retry-after")) from error
    except settings_failures() as error:
        raise settings_failure(error) from error
    except transport_failures() as error:
        raise unreachable(error) from error
    except (ValueError, TypeError, AttributeError) as error:
        # The SDK raises all of these for an answer that violates the protocol.
        raise RequestFailed(f"sent an invalid answer ({type(error).__name__})", retryable=False) from error
