"""A command with an embedding provider: what is sent to it, and what happens when it fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.fakes import embedding_api
from tests.fakes.embedding_api import TROUBLES, EmbeddingApi

from skillhub_mcp.bootstrap import hub
from skillhub_mcp.embedders import make_embedder
from skillhub_mcp.index import live

pytestmark = [
    pytest.mark.slow,
    # A request that is given up leaves its socket to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PROVIDERS = ("openai", "gemini")
BODY = "The body alone has the word rhubarb.\n"


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
    skillhub("show", "painter", "--file", "a.md", **environment)
    assert api.texts[2:] == ["paint a wall"]
    assert "rhubarb" not in repr(api.requests)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_skills_that_a_filter_or_a_choice_switched_off_are_not_sent_until_they_are_on(
    skillhub: Skillhub, api: EmbeddingApi, write_skill: SkillWriter, provider: str
) -> None:
    write_skill("hidden", "Hides things.")
    environment = choose(provider, api)
    filtered = {**environment, "SKILLHUB_ENABLED_SKILLS": "painter,carver"}
    skillhub("disable", "carver", **filtered)
    first = skillhub("index", **filtered)
    assert (first.code, [text.partition("\n")[0] for text in api.texts]) == (0, ["painter"])
    assert "no vector yet" not in first.err
    skillhub("enable", "carver", **filtered)
    skillhub("index", **filtered)
    assert [text.partition("\n")[0] for text in api.texts[1:]] == ["carver"]
    skillhub("index", **environment)
    assert [text.partition("\n")[0] for text in api.texts[2:]] == ["hidden"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_doctor_names_a_provider_that_refuses_and_is_content_when_it_answers(
    skillhub: Skillhub, api: EmbeddingApi, provider: str
) -> None:
    environment = choose(provider, api)
    api.fail_always(401)
    skillhub("index", **environment)
    done = skillhub("doctor", **environment)
    assert (done.code, "\nproblem  embeddings\n" in done.out) == (1, True)
    assert "answered with HTTP status 401" in done.out
    api.recover()
    assert skillhub("doctor", **environment).code == 0


def test_doctor_says_how_to_rebuild_after_vectors_changed_their_length(
    skillhub: Skillhub, api: EmbeddingApi, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = choose("openai", api)
    skillhub("index", **environment)
    monkeypatch.setattr(embedding_api, "DIMENSION", 32)
    write_skill("sculptor", "Sculpts stone.")
    done = skillhub("doctor", **environment)
    assert (done.code, "vectors of 32 numbers, and the index has 64" in done.out) == (1, True), done.out
    assert "after a change of model, run skillhub --reindex\n" in done.out
    assert skillhub("--reindex", **environment).code == 0
    assert skillhub("doctor", **environment).code == 0


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits for a provider are what they are, but shorter."""
    monkeypatch.setattr(hub, "make_embedder", partial(make_embedder, waiting=0.6, unhurried=0.7))


@pytest.mark.acceptance("S2-11")
@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize(("trouble", "provider"), [*((trouble, "openai") for trouble in TROUBLES), ("401", "gemini")])
def test_every_trouble_is_one_warning_beside_the_answer_and_a_line_in_the_report(
    skillhub: Skillhub, api: EmbeddingApi, trouble: str, provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    environment = choose(provider, api)

    def warnings() -> int:
        count = len([record for record in caplog.records if record.levelname == "WARNING"])
        caplog.clear()
        return count

    TROUBLES[trouble](api)
    first = skillhub("search", "paints walls", "--json", **environment)
    assert (first.code, hits(first)) == (0, [("painter", "text")])
    assert "found by text alone for a while" in caplog.text
    assert warnings() == 1
    for command in (["index", "--json"], ["--reindex", "--json"]):
        report = skillhub(*command, **environment)
        assert report.code == 0
        assert report.json["index"]["embedding_failure"].startswith("The embedding provider")
        assert warnings() == 1
    api.recover()
    done = skillhub("index", "--json", **environment).json["index"]
    assert (done["embedding_failure"], done["written"], done["rebuilt"], warnings()) == (None, 2, False, 0)
    assert hits(skillhub("search", "paints walls", "--json", **environment))[0] == ("painter", "text and vector")
    TROUBLES[trouble](api)
    failed = skillhub("search", "paints walls", "--json", **environment)
    assert (failed.code, hits(failed)) == (0, [("painter", "text")])
    assert warnings() == 1


def test_an_outage_costs_a_search_two_seconds_and_a_reindex_ten(process: Skillhub, api: EmbeddingApi) -> None:
    environment = choose("openai", api)
    api.refuse()
    # A busy machine takes some seconds to start a process.
    for command, seconds in ((["search", "paints walls"], 2), (["--reindex"], 10)):
        started = time.monotonic()
        done = process(*command, **environment)
        assert time.monotonic() - started < seconds + 15
        assert (done.code, done.err.count("\n")) == (0, 1)
        assert "EMBEDDING_BASE_URL" in done.err


@pytest.mark.usefixtures("short_waits")
def test_a_rebuild_while_the_provider_is_down_keeps_the_vectors_that_searches_use(
    skillhub: Skillhub, api: EmbeddingApi
) -> None:
    environment = choose("openai", api)
    skillhub("index", **environment)
    api.fail_always(500)
    assert skillhub("--reindex", "--json", **environment).json["index"]["embedding_failure"]
    api.recover()
    asked = len(api.texts)
    assert hits(skillhub("search", "paints walls", "--json", **environment))[0] == ("painter", "text and vector")
    # Both texts again, since the rebuild asked for new vectors, and the query.
    assert len(api.texts) == asked + 3


@pytest.mark.usefixtures("short_waits")
def test_a_search_does_not_wait_long_for_a_slow_provider(
    skillhub: Skillhub, api: EmbeddingApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    environment = choose("openai", api)
    with monkeypatch.context() as patch:
        patch.setattr(live, "_EMBEDDING_SECONDS", 0.0)
        found = skillhub("search", "paints walls", "--json", **environment)
    assert (hits(found), api.texts) == ([("painter", "text")], [])
    assert [record.message for record in caplog.records] == [
        "2 skills have no vector yet and are found by text; skillhub index waits until all have one"
    ]
    assert hits(skillhub("search", "paints walls", "--json", **environment))[0] == ("painter", "text and vector")
