"""What a hub with an embedder asks first, and what it asks when that fails (seed 002 §3.2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.hubs import hub_of
from tests.search.builders import WordEmbedder

from skillhub_mcp.search.hits import Reason

Writer = Callable[..., Path]


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> WordEmbedder:
    """The embedder that every hub of the test has."""
    embedder = WordEmbedder(dimension=64)
    monkeypatch.setattr("skillhub_mcp.bootstrap.hub.choose_embedder", lambda _: embedder)
    return embedder


@pytest.mark.acceptance("S2-11")
def test_vectors_find_candidates_first(
    write_skill: Writer, hub_environment: dict[str, str], embedder: WordEmbedder
) -> None:
    write_skill("walrus", "feed the walrus")
    write_skill("bread", "bake bread")
    with hub_of(hub_environment) as hub:
        hits = hub.search("  feed   walrus ").hits
    assert hits[0].skill.name == "walrus"
    assert [hit.reason for hit in hits] == [Reason.BOTH, Reason.VECTOR]
    assert all(0.0 <= hit.score <= 1.0 for hit in hits)
    assert embedder.queries == ["feed walrus"]


@pytest.mark.acceptance("S2-11")
def test_text_answers_if_the_query_cannot_be_embedded(
    write_skill: Writer, hub_environment: dict[str, str], embedder: WordEmbedder
) -> None:
    write_skill("walrus", "feed the walrus")
    with hub_of(hub_environment) as hub:
        hub.refresh()
        embedder.fails = True
        (hit,) = hub.search("walrus").hits
        embedder.fails = False
    # A hub leaves a provider that failed alone for a while; another one asks it.
    with hub_of(hub_environment) as hub:
        (again,) = hub.search("walrus").hits
    assert hit.reason is Reason.TEXT
    assert again.reason is Reason.BOTH


@pytest.mark.acceptance("S2-11")
def test_text_answers_if_the_library_could_not_be_embedded(
    write_skill: Writer, hub_environment: dict[str, str], embedder: WordEmbedder
) -> None:
    write_skill("walrus", "feed the walrus")
    embedder.fails = True
    with hub_of(hub_environment) as hub:
        (hit,) = hub.search("walrus").hits
        view = hub.views.peek()
    assert hit.reason is Reason.TEXT
    assert view is not None
    assert view.problem is None
    assert view.report is not None
    assert view.report.embedding_failure == "the test's provider is down"


def test_a_new_skill_that_could_not_be_embedded_is_found_by_text(
    write_skill: Writer, hub_environment: dict[str, str], embedder: WordEmbedder
) -> None:
    write_skill("bread", "bake bread")
    with hub_of(hub_environment) as hub:
        hub.refresh()
        embedder.fails = True
        write_skill("walrus", "feed the walrus")
        hub.refresh()
        assert [hit.skill.name for hit in hub.search("walrus").hits] == ["walrus"]


def test_a_query_vector_of_another_length_is_not_compared(
    write_skill: Writer, hub_environment: dict[str, str], embedder: WordEmbedder
) -> None:
    write_skill("walrus", "feed the walrus")
    with hub_of(hub_environment) as hub:
        hub.refresh()
        embedder.dimension = 32
        (hit,) = hub.search("walrus").hits
    assert hit.reason is Reason.TEXT


def test_vectors_find_only_served_skills(
    write_skill: Writer, hub_environment: dict[str, str], embedder: WordEmbedder
) -> None:
    write_skill("walrus", "feed the walrus")
    write_skill("seal", "feed the seal")
    with hub_of({**hub_environment, "SKILLHUB_ENABLED_SKILLS": "seal"}) as hub:
        assert [hit.skill.name for hit in hub.search("feed the walrus").hits] == ["seal"]
    assert len(embedder.texts) == 2
