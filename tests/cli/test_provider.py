"""A command with an embedding provider: what is sent to it, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.fakes.embedding_api import EmbeddingApi

PROVIDERS = ("openai", "gemini")
BODY = "Whoever reads this body knows the word rhubarb.\n"


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as served:
        yield served


@pytest.fixture(autouse=True)
def skills(write_skill: SkillWriter) -> None:
    write_skill("painter", "Paints walls.", category="Home", tags="colour, brush", body=BODY, files={"a.md": BODY})
    write_skill("carver", "Carves wood.", body=BODY)


def choose(provider: str, api: EmbeddingApi) -> dict[str, str]:
    return {
        "EMBEDDING_PROVIDER": provider,
        f"{provider.upper()}_API_KEY": "k",
        "EMBEDDING_BASE_URL": api.url_for(provider),
    }


def hits(done: Any) -> list[tuple[str, str]]:
    return [(hit["name"], hit["reason"]) for hit in done.json["skills"]]


@pytest.mark.acceptance("S2-63")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_only_what_is_searched_and_the_query_is_sent(skillhub: Skillhub, api: EmbeddingApi, provider: str) -> None:
    environment = choose(provider, api)
    skillhub("index", **environment)
    assert sorted(api.texts) == ["carver\nCarves wood.", "painter\nPaints walls.\ncolour brush\nhome"]
    skillhub("search", "paint", "a", "wall", **environment)
    skillhub("show", "painter", **environment)
    skillhub("read", "painter", "a.md", **environment)
    assert api.texts[2:] == ["paint a wall"]
    assert "rhubarb" not in repr(api.requests)


@pytest.mark.acceptance("S2-11")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_vectors_are_asked_first_and_text_answers_when_they_fail(
    skillhub: Skillhub, api: EmbeddingApi, provider: str
) -> None:
    environment = choose(provider, api)
    first = skillhub("search", "paints walls", "--json", **environment)
    assert hits(first)[0] == ("painter", "text and vector")
    api.fail(*[400] * 20)
    failed = skillhub("search", "paints walls", "--json", **environment)
    assert (failed.code, hits(failed)) == (0, [("painter", "text")])
    api.fail()
    assert hits(skillhub("search", "paints walls", "--json", **environment))[0] == ("painter", "text and vector")


@pytest.mark.acceptance("S2-11")
def test_an_index_without_embeddings_is_told_and_still_answers(skillhub: Skillhub, api: EmbeddingApi) -> None:
    environment = choose("openai", api)
    api.fail(*[400] * 20)
    report = skillhub("index", "--json", **environment)
    assert report.code == 0
    assert report.json["index"]["embedding_failure"]
    api.fail(*[400] * 20)
    assert hits(skillhub("search", "paints walls", "--json", **environment)) == [("painter", "text")]
    api.fail()
    assert hits(skillhub("search", "paints walls", "--json", **environment))[0] == ("painter", "text and vector")
