"""The contract of every embedder, tested with both providers' real SDKs against a fake server."""

from __future__ import annotations

import math
import subprocess
import sys
import traceback

import pytest
from tests.embedders.conftest import KEY, MakeEmbedder, Provider
from tests.fakes.embedding_api import DIMENSION, TROUBLES, EmbeddingApi, gemini_answer, openai_answer

from skillhub_mcp.embedders.remote import MAX_BATCH_TEXTS
from skillhub_mcp.errors import EmbeddingError

SHORT = 0.3


@pytest.mark.slow
def test_documents_get_one_unit_vector_each_in_order(make: MakeEmbedder) -> None:
    texts = ["read a pdf", "deploy a container", "read an invoice"]
    together = make().embed_documents(texts)
    assert [len(vector) for vector in together] == [DIMENSION] * 3
    assert all(math.isclose(math.hypot(*vector), 1.0, rel_tol=1e-5) for vector in together)
    for vector, text in zip(together, texts, strict=True):
        assert vector == pytest.approx(make().embed_documents([text])[0], abs=1e-6)


def test_a_query_is_nearest_to_the_document_with_its_words(make: MakeEmbedder) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503])
def test_a_temporary_failure_is_retried(make: MakeEmbedder, api: EmbeddingApi, status: int) -> None:
    api.fail(status, 200, retry_after="0")
    assert len(make().embed_query("x")) == DIMENSION
    assert len(api.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_permanent_failure_is_reported_with_its_status(make: MakeEmbedder, api: EmbeddingApi, status: int) -> None:
    api.fail(status, status)
    with pytest.raises(EmbeddingError, match=str(status)) as caught:
        make().embed_query("x")
    assert len(api.requests) == 1
    assert caught.value.hint


def test_the_api_key_is_sent_but_never_shown(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.fail(401)  # the error text contains the request's headers
    with pytest.raises(EmbeddingError) as caught:
        make().embed_query("x")
    assert any(KEY in value for value in api.requests[0].headers.values())
    assert KEY not in f"{caught.value.message} {caught.value.hint} {caught.value.facts}"
    assert KEY not in "".join(traceback.format_exception(type(caught.value), caught.value, caught.value.__traceback__))


@pytest.mark.slow
@pytest.mark.parametrize("key", ["sk-secret\n-key", "sk-secrét"])
def test_an_api_key_that_http_cannot_send_is_not_shown(make: MakeEmbedder, api: EmbeddingApi, key: str) -> None:
    with pytest.raises(EmbeddingError, match="could not be reached") as caught:
        make(api_key=key).embed_query("x")
    shown = "".join(traceback.format_exception(type(caught.value), caught.value, caught.value.__traceback__))
    assert "sk-secr" not in shown
    assert api.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1:1/v1", "http://127.0.0.1:9"])
def test_an_unreachable_server_is_an_embedding_error(make: MakeEmbedder, address: str) -> None:
    with pytest.raises(EmbeddingError, match="could not be reached"):
        make(base_url=address).embed_query("x")


def test_variables_of_the_sdks_have_no_effect(
    make: MakeEmbedder, api: EmbeddingApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.setenv(name, "another")
    for name in ("OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    assert len(make().embed_query("x")) == DIMENSION
    assert any(KEY in value for value in api.requests[0].headers.values())


@pytest.mark.slow
def test_a_trickling_answer_is_abandoned(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.drip()  # for 30 seconds, with short pauses
    with pytest.raises(EmbeddingError, match="in time"):
        make(waiting=SHORT).embed_query("x")


@pytest.mark.slow
def test_a_lasting_failure_is_reported_after_the_retries(make: MakeEmbedder, api: EmbeddingApi) -> None:
    api.fail_always(503)
    with pytest.raises(EmbeddingError, match="503"):
        make().embed_query("x")
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[1.0, 2.0], [1.0, 2.0]],
        [[]],
        [[0.0, 0.0]],
        [[float("nan"), 1.0]],
        [[float("inf"), 1.0]],
        [["a", "b"]],
        [[None, 1.0]],
        [[10**400, 1.0]],
    ],
    ids=["none", "too many", "empty", "zero", "not a number", "infinite", "words", "null", "too large"],
)
def test_an_invalid_embedding_is_refused(
    make: MakeEmbedder, api: EmbeddingApi, provider: Provider, vectors: list[list[float]]
) -> None:
    api.answer_with(openai_answer(vectors) if provider == "openai" else gemini_answer(vectors))
    with pytest.raises(EmbeddingError):
        make().embed_query("x")


def test_large_and_small_numbers_are_normalised(make: MakeEmbedder, api: EmbeddingApi, provider: Provider) -> None:
    for number in (1.3e154, 1e-200):
        vectors = [[number, number]]
        api.answer_with(openai_answer(vectors) if provider == "openai" else gemini_answer(vectors))
        assert make().embed_query("x") == pytest.approx([math.sqrt(0.5)] * 2)


def test_vectors_of_different_lengths_are_refused(make: MakeEmbedder, api: EmbeddingApi, provider: Provider) -> None:
    vectors = [[1.0, 2.0], [1.0]]
    api.answer_with(openai_answer(vectors) if provider == "openai" else gemini_answer(vectors))
    with pytest.raises(EmbeddingError, match="different lengths"):
        make().embed_documents(["x", "y"])


def test_a_lone_surrogate_does_not_fail_the_batch(make: MakeEmbedder, api: EmbeddingApi) -> None:
    assert len(make().embed_documents(["a\ud800b", "c"])) == 2
    assert api.texts == ["a?b", "c"]


def test_gemini_gets_the_task_type_of_documents_and_queries(
    make: MakeEmbedder, api: EmbeddingApi, provider: Provider
) -> None:
    embedder = make()
    embedder.embed_documents(["x"])
    embedder.embed_query("x")
    asked = [[one.get("taskType") for one in request.body.get("requests", [])] for request in api.requests]
    assert asked == ([["RETRIEVAL_DOCUMENT"], ["RETRIEVAL_QUERY"]] if provider == "gemini" else [[], []])


def test_making_an_embedder_imports_no_sdk() -> None:
    program = (
        "import sys; from skillhub_mcp.embedders import *;"
        "[make_embedder(one, model='', api_key='k', base_url=None) for one in ('openai', 'gemini')];"
        "assert not {'openai', 'google.genai', 'httpx', 'httpx2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
def test_every_fault_is_an_embedding_error_for_queries_and_documents(
    make: MakeEmbedder, api: EmbeddingApi, trouble: str
) -> None:
    embedder = make(waiting=SHORT, unhurried=SHORT)
    TROUBLES[trouble](api)
    for ask in (lambda: embedder.embed_query("x"), lambda: embedder.embed_documents(["x", "y"])):
        with pytest.raises(EmbeddingError):
            ask()
    api.recover()
    assert len(make().embed_documents(["x", "y"])) == 2
