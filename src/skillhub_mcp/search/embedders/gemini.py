"""One embedding request to Google's Gemini API, or to a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillhub_mcp.search.embedders.base import Vector
from skillhub_mcp.search.embedders.remote import Purpose, RequestFailed, settings_failure, status_failure
from skillhub_mcp.search.embedders.transport import settings_failures, transport_failures

DEFAULT_MODEL = "gemini-embedding-001"

_TASK_TYPES: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


class GeminiRequest:
    """Calls `batchEmbedContents` through Google's SDK, which is imported with the first request."""

    def __init__(self, *, model: str, api_key: str, base_url: str | None) -> None:
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._client: Any = None

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the vectors, in the texts' order. Raises RequestFailed."""
        from google.genai import errors, types

        # Milliseconds; and retries are RemoteEmbedder's, within one deadline for both providers: the SDK knows none.
        limits = types.HttpOptions(
            timeout=max(1, int(timeout * 1000)), retry_options=types.HttpRetryOptions(attempts=1)
        )
        client = self._opened()
        try:
            answer = client.models.embed_content(
                model=self._model,
                contents=list(texts),
                config=types.EmbedContentConfig(task_type=_TASK_TYPES[purpose], http_options=limits),
            )
            return [list(embedding.values) for embedding in answer.embeddings]
        except errors.APIError as error:
            headers = getattr(error.response, "headers", None) or {}
            raise status_failure(error.code, retry_after=headers.get("retry-after")) from error
        except settings_failures() as error:
            raise settings_failure(error) from error
        except transport_failures() as error:
            raise RequestFailed(f"could not be reached ({type(error).__name__})", retryable=True) from error
        except (ValueError, TypeError, AttributeError) as error:
            # The SDK fails in all these ways on an answer that is not what the protocol says.
            raise RequestFailed(f"answered with something else ({type(error).__name__})", retryable=False) from error

    def close(self) -> None:
        """Close the connections that are kept."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> Any:
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
