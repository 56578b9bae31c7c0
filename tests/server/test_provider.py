"""A provider of embeddings that fails is not noticed: clients get answers by text, and the vectors come later."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.fakes.embedding_api import TROUBLES, EmbeddingApi
from tests.server.connections import WAYS, Caller, reached

from skillhub_mcp.bootstrap import hub, models
from skillhub_mcp.embedders import make_embedder
from skillhub_mcp.index import live
from skillhub_mcp.index.index_files import STATE_FILE
from skillhub_mcp.index.row_embedder import EmbeddingOptions
from skillhub_mcp.index.state_file import decode_state

pytestmark = pytest.mark.slow

Environment = dict[str, str]
PROVIDERS = ("openai", "gemini")
# Only bounds how long a test can hang: no wait for a provider is as long as these.
LONG = 20.0

# Every trouble at every provider, each time by another of the four ways to a server.
CASES = [
    pytest.param(trouble, provider, way, id=f"{trouble} {provider} {' '.join(way)}")
    for (trouble, provider), way in zip(
        itertools.product(TROUBLES, PROVIDERS), itertools.cycle([*WAYS, WAYS[0]]), strict=False
    )
]


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as served:
        yield served


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits for a provider are what they are, but shorter."""
    monkeypatch.setattr(models, "make_embedder", partial(make_embedder, waiting=0.6, unhurried=0.7))
    monkeypatch.setattr(hub, "EmbeddingOptions", partial(EmbeddingOptions, pause_seconds=0.2))
    monkeypatch.setattr(hub, "PROVIDER_REST_SECONDS", 0.1)
    monkeypatch.setattr(live, "_EMBEDDING_REST_SECONDS", 0.1)


def choose(environment: Environment, provider: str, api: EmbeddingApi) -> Environment:
    return {
        **environment,
        "EMBEDDING_PROVIDER": provider,
        f"{provider.upper()}_API_KEY": "k",
        "EMBEDDING_BASE_URL": api.url_for(provider),
    }


async def eventually(ask: Callable[[], Awaitable[object]], wanted: object) -> None:
    deadline = time.monotonic() + LONG
    while (answer := await ask()) != wanted:
        assert time.monotonic() < deadline, f"still {answer!r}, not {wanted!r}"
        await asyncio.sleep(0.05)


async def names(caller: Caller, query: str) -> list[str]:
    said = await caller.call("search_skills", query=query)
    assert said.code is None, said
    return sorted(skill["name"] for skill in said.json["skills"])


def missing_vectors(environment: Environment) -> int | None:
    """How many skills of the published index have no vector, or None where there is no index."""
    path = Path(environment["DB_PATH"]).with_name(STATE_FILE)
    state = decode_state(path.read_bytes())[1] if path.exists() else None
    return None if state is None else state.unembedded(state.roots)


def all_embedded(environment: Environment) -> Callable[[], Awaitable[object]]:
    async def ask() -> object:
        return missing_vectors(environment)

    return ask


@pytest.mark.acceptance("S2-11")
@pytest.mark.parametrize(("trouble", "provider", "way"), CASES)
def test_a_provider_that_fails_at_indexing_or_at_a_query_is_no_error_and_vectors_come_by_themselves(
    hub_environment: Environment,
    write_skill: SkillWriter,
    api: EmbeddingApi,
    trouble: str,
    provider: str,
    way: tuple[str, str],
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    write_skill("painter", "Paints walls.")
    environment = choose(hub_environment, provider, api)
    by_text, by_vectors_too = ["seal", "walrus"], ["painter", "seal", "walrus"]
    TROUBLES[trouble](api)

    async def scenario() -> None:
        async with reached(way, environment) as caller:
            assert await names(caller, "feeds walrus") == ["walrus"]
            assert missing_vectors(environment) == 2
            write_skill("seal", "Feeds the seal.")
            await eventually(lambda: names(caller, "feeds seal"), by_text)
            assert missing_vectors(environment) == 3
            api.recover()
            # Without any further call.
            await eventually(all_embedded(environment), 0)
            await eventually(lambda: names(caller, "feeds it"), by_vectors_too)
            # The index is complete now, and only the query fails.
            TROUBLES[trouble](api)
            assert await names(caller, "feeds walrus or seal") == by_text
            api.recover()
            await eventually(lambda: names(caller, "feeds the walrus"), by_vectors_too)

    asyncio.run(scenario())


@pytest.mark.parametrize("way", WAYS[1:3])
def test_a_skill_is_found_while_a_provider_is_busy_with_many_others(
    hub_environment: Environment, write_skill: SkillWriter, api: EmbeddingApi, way: tuple[str, str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(models, "make_embedder", make_embedder)
    for number in range(120):
        write_skill(f"skill-{number}", f"Does the thing number {number}.")
    environment = choose(hub_environment, "openai", api)
    api.hang()

    async def scenario() -> None:
        async with reached(way, environment) as caller:
            await names(caller, "thing")
            write_skill("walrus", "Feeds the walrus.")
            started = time.monotonic()
            await eventually(lambda: names(caller, "walrus"), ["walrus"])
            # Long before the request that hangs is given up.
            assert time.monotonic() - started < LONG
            assert missing_vectors(environment) == 121

    asyncio.run(scenario())
