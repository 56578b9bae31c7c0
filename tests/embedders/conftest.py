"""Fixtures: the providers, a fake server for both, and embedders that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from tests.fakes.embedding_api import EmbeddingApi

from skillhub_mcp.embedders import make_embedder
from skillhub_mcp.embedders.remote import RemoteEmbedder

KEY = "sk-secret-key-of-a-person"

Provider = Literal["openai", "gemini"]
MakeEmbedder = Callable[..., RemoteEmbedder]


@pytest.fixture(params=["openai", "gemini"])
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingApi]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")  # also bypasses a proxy of the system
    with EmbeddingApi() as server:
        yield server


@pytest.fixture
def make(api: EmbeddingApi, provider: Provider) -> MakeEmbedder:
    def make_one(
        *, api_key: str = KEY, base_url: str | None = None, waiting: float = 20.0, unhurried: float = 20.0
    ) -> RemoteEmbedder:
        return make_embedder(
            provider,
            model="",
            api_key=api_key,
            base_url=base_url or api.url_for(provider),
            waiting=waiting,
            unhurried=unhurried,
        )

    return make_one
