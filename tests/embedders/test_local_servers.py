"""Self-hosted servers with OpenAI's API: Ollama, LM Studio, TEI and vLLM."""

from __future__ import annotations

import pytest
from tests.embedders.conftest import KEY, MakeEmbedder, Provider
from tests.fakes.embedding_api import DIMENSION, LOCAL_SERVERS, EmbeddingApi, LocalServer, embed

from skillhub_mcp.embedders.openai import OpenAIRequest
from skillhub_mcp.embedders.remote import MAX_BATCH_TEXTS, RemoteEmbedder
from skillhub_mcp.errors import EmbeddingError

pytestmark = pytest.mark.slow

SHORT = [f"text number {number}" for number in range(MAX_BATCH_TEXTS + 20)]
LONG = "deploy a container " * 150


@pytest.fixture(params=LOCAL_SERVERS)
def server(request: pytest.FixtureRequest) -> LocalServer:
    found: LocalServer = LOCAL_SERVERS[request.param]
    return found


@pytest.fixture
def provider() -> Provider:
    return "openai"


@pytest.fixture
def embedder(api: EmbeddingApi, server: LocalServer, make: MakeEmbedder) -> RemoteEmbedder:
    api.behave_as(server)
    return make()


def unit(text: str) -> list[float]:
    vector = embed(text)
    length = sum(number * number for number in vector) ** 0.5
    return [number / length for number in vector]


def test_all_texts_get_vectors_whatever_the_batch_limit(embedder: RemoteEmbedder, api: EmbeddingApi) -> None:
    vectors = embedder.embed_documents(SHORT)
    assert all(vector == pytest.approx(unit(text), abs=1e-6) for text, vector in zip(SHORT, vectors, strict=True))
    assert "dimensions" not in api.requests[0].body


def test_only_texts_that_are_too_long_are_shortened(embedder: RemoteEmbedder) -> None:
    texts = [*SHORT[:5], LONG, *SHORT[5:10]]
    vectors = embedder.embed_documents(texts)
    assert [len(vector) for vector in vectors] == [DIMENSION] * len(texts)
    assert vectors[4] == pytest.approx(unit(texts[4]), abs=1e-6)
    assert vectors[5] == pytest.approx(unit(LONG), abs=0.05)
    assert vectors[6] == pytest.approx(unit(texts[6]), abs=1e-6)
    assert embedder.embed_query(LONG) == pytest.approx(unit(LONG), abs=0.05)


def test_other_refusals_fail_after_few_requests(embedder: RemoteEmbedder, api: EmbeddingApi) -> None:
    api.recover()
    api.fail_always(400)
    with pytest.raises(EmbeddingError, match="HTTP status 400"):
        embedder.embed_documents(SHORT[:MAX_BATCH_TEXTS])
    assert len(api.requests) < 10


def test_a_local_model_reranks_hits(api: EmbeddingApi, server: LocalServer) -> None:
    api.behave_as(server)
    request = OpenAIRequest(model="qwen3", api_key=KEY, base_url=api.url_for("openai"))
    answer = request.answer("choose", '{"task": "feed", "skills": [{"number": 1, "description": "feed"}]}', timeout=9.0)
    assert answer == '{"fitting": [1]}'
    tries = len(api.requests)
    request.answer("choose", '{"task": "feed", "skills": []}', timeout=9.0)
    assert len(api.requests) == tries + 1


def test_an_html_answer_is_reported_as_such(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.answer_page(b"<html><body>Sign in</body></html>")
    with pytest.raises(EmbeddingError, match="answered with an HTML page"):
        make().embed_query("text")
