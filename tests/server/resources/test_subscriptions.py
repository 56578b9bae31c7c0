"""Subscribers of a skill's file are notified of its changes, in both protocol versions, and never of hidden files."""

from __future__ import annotations

import asyncio
import shutil
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from tests.conftest import SkillWriter, put_file
from tests.server.bearers import add_token, bearer
from tests.server.connections import listening, piped, ways

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

_LONG = 30
BODY, GUIDE, OTHER = (f"skill://hub/{file}" for file in ("pdf/SKILL.md", "pdf/references/guide.md", "csv/SKILL.md"))


class Subscriber:
    """A client, the URIs that it was notified of, and those that the server accepted."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self.agreed: list[str] = []

    async def next(self) -> str:
        return await asyncio.wait_for(self.heard.get(), _LONG)

    async def subscribe(self, uri: str, *, no_more: bool = False) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the 2025-11-25 protocol's methods are deprecated, and still there
            await (self.client.unsubscribe_resource if no_more else self.client.subscribe_resource)(uri)


@asynccontextmanager
async def subscribed(target: Any, mode: str, *uris: str) -> AsyncIterator[Subscriber]:
    made: list[Subscriber] = []

    async def on_message(message: object) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            made[0].heard.put_nowait(str(message.params.uri))

    async with mcp.Client(target, mode=mode, message_handler=on_message if mode == "legacy" else None) as client:
        made.append(Subscriber(client))
        if mode == "legacy":
            for uri in uris:
                await made[0].subscribe(uri)
            yield made[0]
            return
        async with client.listen(resource_subscriptions=uris) as subscription:
            made[0].agreed = list(subscription.honored.resource_subscriptions or ())

            async def relay() -> None:
                async for event in subscription:
                    assert isinstance(event, ResourceUpdated)
                    made[0].heard.put_nowait(event.uri)

            relaying = asyncio.create_task(relay())
            try:
                yield made[0]
            finally:
                relaying.cancel()
                await asyncio.gather(relaying, return_exceptions=True)


async def text_of(client: mcp.Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, mcp_types.TextResourceContents)
    return content.text


@ways
def test_each_file_change_is_sent_to_its_subscribers(
    way: tuple[str, str], hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    transport, mode = way
    write_skill("pdf", "Reads PDF files.", files={"references/guide.md": "One."})
    write_skill("csv", "Reads tables.")

    async def journey(target: Any) -> None:
        async with subscribed(target, mode, BODY, GUIDE) as subscriber:
            client = subscriber.client
            capabilities = client.server_capabilities.resources
            assert capabilities is not None
            assert capabilities.subscribe
            assert await text_of(client, GUIDE) == "One."
            # A file outside the index, so no list has changed.
            put_file(skills_dir / "pdf" / "references" / "guide.md", "Two.")
            assert await subscriber.next() == GUIDE
            assert await text_of(client, GUIDE) == "Two."
            write_skill("csv", "Reads other tables.")
            write_skill("pdf", "Reads PDF files aloud.", files={"references/guide.md": "Two."})
            assert await subscriber.next() == BODY
            shutil.rmtree(skills_dir / "pdf")
            assert {await subscriber.next(), await subscriber.next()} == {BODY, GUIDE}
            with pytest.raises(MCPError):
                await client.read_resource(GUIDE)
            assert subscriber.heard.empty()

    if transport == "stdio":
        asyncio.run(journey(piped(hub_environment)))
    else:
        with listening(hub_environment) as url:
            asyncio.run(journey(url))


async def test_missing_files_cannot_be_subscribed_to(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})
    nothing = (
        "skill://hub/none/SKILL.md",
        "skill://hub/pdf",
        "skill://hub/pdf/.env",
        "file:///etc/passwd",
        "skill://%",
    )

    with listening(hub_environment) as url:
        codes = []
        async with subscribed(url, "legacy") as subscriber:
            for uri in nothing:
                with pytest.raises(MCPError) as refused:
                    await subscriber.subscribe(uri)
                codes.append(refused.value.error.code)
        async with subscribed(url, "auto", *nothing, GUIDE) as subscriber:
            assert subscriber.agreed == [GUIDE]
        assert codes == [-32602] * len(nothing)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A server of two skills with two tokens: one for both, one only for `csv`."""

    environment: dict[str, str]
    for_all: str
    for_csv: str


@pytest.fixture
def tokens(hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path) -> Tokens:
    write_skill("pdf")
    write_skill("csv")
    file = tmp_path / "tokens.json"
    environment = {**hub_environment, "SKILLHUB_TOKENS_FILE": str(file)}
    return Tokens(environment, add_token(file, "all"), add_token(file, "csv", skills=["csv"]))


async def test_no_client_is_notified_of_a_skill_outside_its_tokens_filter(
    tokens: Tokens, write_skill: SkillWriter
) -> None:
    with listening(tokens.environment) as url:
        async with (
            bearer(url, tokens.for_csv) as narrow,
            bearer(url, tokens.for_all) as wide,
            narrow.client.listen(resource_subscriptions=[BODY, OTHER]) as some,
            wide.client.listen(resource_subscriptions=[BODY, OTHER]) as every,
        ):
            assert some.honored.resource_subscriptions == [OTHER]
            assert every.honored.resource_subscriptions == [BODY, OTHER]
            write_skill("pdf", "Another.")
            assert await asyncio.wait_for(anext(every), _LONG) == ResourceUpdated(uri=BODY)
            write_skill("csv", "Another.")
            assert await asyncio.wait_for(anext(every), _LONG) == ResourceUpdated(uri=OTHER)
            assert await asyncio.wait_for(anext(some), _LONG) == ResourceUpdated(uri=OTHER)
        async with bearer(url, tokens.for_csv, "legacy") as narrow:
            with pytest.raises(MCPError):
                await Subscriber(narrow.client).subscribe(BODY)
