"""What every embedder promises, held by both providers' real SDKs against a server that speaks their protocol."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.embedding_api import DIMENSION, EmbeddingApi, gemini_answer, openai_answer

from skillhub_mcp.errors import EmbeddingError
from skillhub_mcp.search.embedders import EmbedderOptions, make_embedder
from skillhub_mcp.search.embedders.base import Embedder
from skillhub_mcp.search.embedders.remote import MAX_BATCH_CHARACTERS, MAX_BATCH_TEXTS, MAX_TEXT_CHARACTERS, batches

KEY = "sk-secret-key-of-a-person"

Provider = Literal["openai", "gemini"]
MakeEmbedder = Callable[..., Embedder]

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # the SDKs keep their connections open


@pytest.fixture(params=["openai", "gemini"])
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingApi]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with EmbeddingApi() as server:
        yield server


@pytest.fixture
def make(api: EmbeddingApi, provider: Provider) -> MakeEmbedder:
    def make_one(*, base_url: str | None = None, query_seconds: float = 20.0, index_seconds: float = 20.0) -> Embedder:
        return make_embedder(
            EmbedderOptions(
                provider=provider,
                model=None,
                api_key=KEY,
                base_url=base_url or api.url_for(provider),
                query_seconds=query_seconds,
                index_seconds=index_seconds,
            )
        )

    return make_one


def test_documents_get_one_unit_vector_each_in_their_order(make: MakeEmbedder) -> None:
    texts = ["read a pdf", "deploy a container", "read an invoice"]
    together = make().embed_documents(texts)
    assert [len(vector) for vector in together] == [DIMENSION] * 3
    assert all(math.isclose(math.hypot(*vector), 1.0, rel_tol=1e-5) for vector in together)
    for vector, text in zip(together, texts, strict=True):
        assert vector == pytest.approx(make().embed_documents([text])[0], abs=1e-6)


def test_a_query_is_near_the_document_that_shares_its_words(make: MakeEmbedder) -> None:
    embedder = make()
    pdf, container = embedder.embed_documents(["read a pdf", "deploy containers quickly"])
    query = embedder.embed_query("pdf to read")

    def likeness(vector: list[float]) -> float:
        return sum(a * b for a, b in zip(query, vector, strict=True))

    assert likeness(pdf) > likeness(container)


def test_no_text_makes_no_request(make: MakeEmbedder, api: EmbeddingApi) -> None:
    assert make().embed_documents([]) == []
    assert api.requests == []


def test_many_texts_are_sent_in_batches(make: MakeEmbedder, api: EmbeddingApi) -> None:
    texts = [f"text number {number}" for number in range(MAX_BATCH_TEXTS * 2 + 5)]
    assert len(make().embed_documents(texts)) == len(texts)
    assert len(api.requests) == 3
    assert api.texts == texts


def test_the_identity_names_provider_and_model(make: MakeEmbedder, provider: Provider) -> None:
    assert make().identity.startswith(f"{provider}:")


@pytest.mark.parametrize("status", [429, 503])
def test_a_passing_failure_is_retried(make: MakeEmbedder, api: EmbeddingApi, status: int) -> None:
    api.fail(status, 200, retry_after="0")
    assert len(make().embed_query("x")) == DIMENSION
    assert len(api.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_final_failure_is_not_retried_and_says_the_status(make: MakeEmbedder, api: EmbeddingApi, status: int) -> None:
    api.fail(status, status)
    with pytest.raises(EmbeddingError, match=str(status)) as caught:
        make().embed_query("x")
    assert len(api.requests) == 1
    assert caught.value.hint


def test_the_key_is_sent_but_never_in_a_message(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.fail(401)
    with pytest.raises(EmbeddingError) as caught:
        make().embed_query("x")
    assert any(KEY in value for value in api.requests[0].headers.values())
    assert KEY not in f"{caught.value.message} {caught.value.hint} {caught.value.facts}"


def test_a_failure_that_lasts_ends_with_the_deadline(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.fail(*[503] * 1000)
    with pytest.raises(EmbeddingError, match="503"):
        make(query_seconds=1.2).embed_query("x")
    assert len(api.requests) < 20


def test_a_wait_beyond_the_deadline_is_not_begun(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.fail(429, 200, retry_after="3600")
    with pytest.raises(EmbeddingError, match="429"):
        make().embed_query("x")
    assert len(api.requests) == 1


def test_a_server_that_hangs_is_given_up(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.hang()
    with pytest.raises(EmbeddingError):
        make(query_seconds=0.5).embed_query("x")


def test_a_server_that_is_not_there_is_an_embedding_error(make: MakeEmbedder) -> None:
    with pytest.raises(EmbeddingError, match="could not be reached"):
        make(base_url="http://127.0.0.1:9", query_seconds=0.5).embed_query("x")


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0, 2.0], [1.0, 2.0]], [[0.0, 0.0]], [[float("nan"), 1.0]]],
    ids=["none", "too many", "zero", "not a number"],
)
def test_an_answer_that_is_no_embedding_is_refused(
    make: MakeEmbedder, api: EmbeddingApi, provider: Provider, vectors: list[list[float]]
) -> None:
    api.answer_with(openai_answer(vectors) if provider == "openai" else gemini_answer(vectors))
    with pytest.raises(EmbeddingError):
        make().embed_query("x")


def test_an_answer_of_another_protocol_is_refused(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.answer_with({"hello": "world"})
    with pytest.raises(EmbeddingError):
        make().embed_query("x")


@given(st.lists(st.text(max_size=50) | st.integers(1, 30_000).map(lambda n: "x" * n), max_size=300))
def test_batches_keep_every_text_in_order_and_within_bounds(texts: list[str]) -> None:
    made = list(batches(texts))
    assert [text for batch in made for text in batch] == [text[:MAX_TEXT_CHARACTERS] for text in texts]
    assert all(0 < len(batch) <= MAX_BATCH_TEXTS for batch in made)
    assert all(sum(map(len, batch)) <= MAX_BATCH_CHARACTERS for batch in made)


def test_making_an_embedder_imports_no_sdk() -> None:
    program = (
        "import sys; from skillhub_mcp.search.embedders import *;"
        "make_embedder(EmbedderOptions('openai', None, 'k', None));"
        "make_embedder(EmbedderOptions('gemini', None, 'k', None));"
        "assert not {'openai', 'google.genai'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
