"""Requests to OpenAI, or to a compatible server: vectors, and for `search.rerankers.model` answers in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.embedders.remote import Purpose, RequestFailed, settings_failure, status_failure, unreachable
from skillhub_mcp.embedders.transport import settings_failures

DEFAULT_MODEL = "text-embedding-3-small"
DEFAULT_ANSWERING_MODEL = "gpt-4.1-mini"
_ANY_OBJECT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}


class OpenAIRequest:
    """Calls `POST /embeddings`, or `POST /chat/completions`, through OpenAI's SDK, imported with the first request."""

    def __init__(self, *, model: str, api_key: str, base_url: str | None) -> None:
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._client: Any = None
        self._format: dict[str, Any] = {"type": "json_object"}

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the vectors, in the texts' order; `purpose` is not used by OpenAI. Raises RequestFailed."""
        del purpose
        client = self._get_client()
        with _translated_errors():
            answer = client.embeddings.create(model=self._model, input=list(texts), timeout=timeout)
            ordered = sorted(answer.data, key=lambda item: item.index)
            if [item.index for item in ordered] != list(range(len(ordered))):
                raise RequestFailed("answered with vectors in unclear order", retryable=False)
            return [list(item.embedding) for item in ordered]

    def answer(self, instruction: str, text: str, *, timeout: float) -> str:
        """Return what the model answers, as JSON text. Raises RequestFailed."""
        try:
            return self._answer(instruction, text, timeout=timeout)
        except RequestFailed as failed:
            if not failed.refused or self._format is _ANY_OBJECT:
                raise
        # LM Studio takes a schema, and refuses the form that all others take.
        self._format = _ANY_OBJECT
        return self._answer(instruction, text, timeout=timeout)

    def _answer(self, instruction: str, text: str, *, timeout: float) -> str:
        client = self._get_client()
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        with _translated_errors():
            answer = client.chat.completions.create(
                model=self._model, messages=messages, response_format=self._format, timeout=timeout
            )
            return str(answer.choices[0].message.content)

    def close(self) -> None:
        """Close the open connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _get_client(self) -> Any:
        import openai

        client = self._client
        if client is None:
            try:
                # RemoteEmbedder retries, within one deadline for both providers: the SDK has no such deadline.
                client = openai.OpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=0)
            except openai.OpenAIError as error:
                raise settings_failure(error) from error
            except settings_failures() as error:
                raise settings_failure(error) from error
            self._client = client
        return client


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Turn the errors of a request into RequestFailed."""
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        raise status_failure(error.status_code, retry_after=error.response.headers.get("retry-after")) from error
    except openai.APIConnectionError as error:
        if isinstance(error.__cause__, settings_failures()):
            raise settings_failure(error.__cause__) from error
        raise unreachable(error) from error
    except settings_failures() as error:
        raise settings_failure(error) from error
    except (openai.OpenAIError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        # The SDK raises all of these for an answer that violates the protocol.
        raise RequestFailed(f"sent an invalid answer ({type(error).__name__})", retryable=False) from error
