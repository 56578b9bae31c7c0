"""Requests to OpenAI or a compatible server: vectors, and JSON answers for `search.rerankers.model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillhub_mcp.embedders.base import Purpose, Vector
from skillhub_mcp.embedders.remote import ATTEMPTS, RequestFailed, translated

_ANY_OBJECT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}


class OpenAIRequest:
    """Calls `POST /embeddings`, or `POST /chat/completions`, through OpenAI's SDK, imported with the first request."""

    embedding_model = "text-embedding-3-small"
    answering_model = "gpt-4.1-mini"

    def __init__(self, *, model: str, api_key: str, base_url: str | None) -> None:
        self._model = model
        self._options: dict[str, Any] = {"api_key": api_key, "base_url": base_url, "max_retries": ATTEMPTS - 1}
        self._client: Any = None
        self._format: dict[str, Any] = {"type": "json_object"}

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        """Return the vectors, in the texts' order; `purpose` is not used by OpenAI. Raises RequestFailed."""
        import openai

        del purpose
        with translated(openai.APIStatusError):
            raw = self._connected().embeddings.with_raw_response.create(
                model=self._model, input=list(texts), timeout=timeout
            )
            _refuse_page(raw.headers)
            return [list(item.embedding) for item in sorted(raw.parse().data, key=lambda item: item.index)]

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
        import openai

        messages: Any = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        with translated(openai.APIStatusError):
            raw = self._connected().chat.completions.with_raw_response.create(
                model=self._model, messages=messages, response_format=self._format, timeout=timeout
            )
            _refuse_page(raw.headers)
            return str(raw.parse().choices[0].message.content)

    def _connected(self) -> Any:
        import openai

        self._client = self._client or openai.OpenAI(**self._options)
        return self._client


def _refuse_page(headers: Mapping[str, str]) -> None:
    """Raise RequestFailed for an HTML page, as a wrong base URL or a sign-in answers."""
    if "html" in headers.get("content-type", ""):
        raise RequestFailed("answered with an HTML page; EMBEDDING_BASE_URL usually ends in /v1")
