"""What every reranker promises, and what a model's answer may not do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import pytest
from tests.embedders.conftest import api
from tests.fakes.embedding_api import EmbeddingApi, chat_answer, generated_answer
from tests.fakes.onnx_models import cross_encoder

from skillhub_mcp.errors import RerankingError
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.search.rerankers.local import LocalReranker
from skillhub_mcp.search.rerankers.model import ModelReranker

__all__ = ["api"]

KEY = "sk-secret-key-of-a-person"
Provider = Literal["openai", "gemini"]

SKILLS = (
    ("bread", "Bake bread at home."),
    ("walrus", "Feed the walrus."),
    ("seal", "Feed the seal."),
    ("seal", "Another text of that name."),
)


def asking(provider: Provider, api: EmbeddingApi) -> ModelReranker:
    return make_reranker(provider, model=None, api_key=KEY, base_url=api.url_for(provider))


@pytest.fixture(params=["local", "openai", "gemini"])
def reranker(request: pytest.FixtureRequest, api: EmbeddingApi, tmp_path: Path) -> Reranker:
    return LocalReranker(str(cross_encoder(tmp_path))) if request.param == "local" else asking(request.param, api)


@pytest.mark.slow
def test_each_skill_gets_one_number_of_at_least_zero(reranker: Reranker) -> None:
    totals = reranker.rerank("feed the walrus", SKILLS)
    assert len(totals) == len(SKILLS)
    assert all(total >= 0.0 for total in totals)


def test_the_input_order_does_not_matter(reranker: Reranker) -> None:
    totals = reranker.rerank("feed the walrus", SKILLS)
    chance = random.Random(7)
    for _ in range(3):
        order = chance.sample(range(len(SKILLS)), k=len(SKILLS))
        again = reranker.rerank("feed the walrus", [SKILLS[number] for number in order])
        assert again == [totals[place] for place in order]


def test_no_skills_give_no_numbers(reranker: Reranker) -> None:
    assert reranker.rerank("feed the walrus", []) == []


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_skills_named_by_the_model_come_first_in_its_order(provider: Provider, api: EmbeddingApi) -> None:
    totals = asking(provider, api).rerank("feed the walrus", SKILLS)
    bread, walrus, seal, _ = totals
    assert 2.0 >= walrus > seal > 1.0 > bread == 0.0


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_only_the_task_names_and_descriptions_are_sent(provider: Provider, api: EmbeddingApi) -> None:
    asking(provider, api).rerank("feed \ud800 it", SKILLS)
    (request,) = api.requests
    assert '"task": "feed ? it"' in api.texts[-1]
    assert all(text in api.texts[-1] for text in (description for _, description in SKILLS))
    assert KEY not in str(request.body)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"fitting": 1}',
        '{"fitting": [0]}',
        '{"fitting": [5]}',
        '{"fitting": ["1"]}',
        '{"fitting": [true]}',
        "[" * 9_999,
    ],
)
def test_a_malformed_answer_is_an_error(provider: Provider, api: EmbeddingApi, text: str) -> None:
    api.answer_with(chat_answer(text) if provider == "openai" else generated_answer(text))
    with pytest.raises(RerankingError, match=f"The model {provider}:"):
        asking(provider, api).rerank("feed", SKILLS)


@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_an_error_does_not_quote_the_provider(provider: Provider, api: EmbeddingApi, status: int) -> None:
    api.fail(*[status] * 9)
    with pytest.raises(RerankingError) as caught:
        asking(provider, api).rerank("feed", SKILLS)
    assert f"HTTP status {status}" in caught.value.message
    assert KEY not in caught.value.message
    assert "SEARCH_RERANK=0" in (caught.value.hint or "")


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_trickling_answer_times_out(provider: Provider, api: EmbeddingApi) -> None:
    api.drip()
    patient = asking(provider, api)
    hasty = ModelReranker(provider, patient._ask, seconds=0.5)
    with pytest.raises(RerankingError, match="did not answer in time"):
        hasty.rerank("feed", SKILLS)
