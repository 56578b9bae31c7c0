"""Subscribers of a skill's file are notified of its changes, in both protocol versions, and never of hidden files."""

from __future__ import annotations

import asyncio
import shutil
import threading
import warnings
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from tests.conftest import SkillWriter, own_rules, put_file
from tests.server.bearers import add_token, bearer
from tests.server.connections import WAYS, listening, piped
from tests.server.sessions import command, http_server

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher

pytestmark = pytest.mark.slow

_LONG = 30
BODY, GUIDE, OTHER = (f"skill://hub/{file}" for file in ("pdf/SKILL.md", "pdf/references/guide.md", "csv/SKILL.md"))

ways = pytest.mark.parametrize("way", WAYS, ids=["-".join(way) for way in WAYS])


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
def test_each_change_of_a_file_is_sent_to_its_subscribers(
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
            # A file that the index does not hold, so that no list has changed.
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


def test_after_unsubscribing_no_notification_comes(
    hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})

    async def journey(url: str) -> None:
        async with subscribed(url, "legacy", GUIDE, GUIDE, BODY) as subscriber, subscribed(url, "auto", GUIDE) as other:
            await subscriber.subscribe(GUIDE, no_more=True)
            # What was never asked for, or no longer, is no error to end.
            await subscriber.subscribe(GUIDE, no_more=True)
            await subscriber.subscribe(OTHER, no_more=True)
            put_file(skills_dir / "pdf" / "references" / "guide.md", "Two.")
            assert await other.next() == GUIDE
            write_skill("pdf", "Another.", files={"references/guide.md": "Two."})
            assert await subscriber.next() == BODY
            assert subscriber.heard.empty()

    with listening(hub_environment) as url:
        asyncio.run(journey(url))


def test_what_is_not_there_cannot_be_subscribed_to(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})
    nothing = (
        "skill://hub/none/SKILL.md",
        "skill://hub/pdf",
        "skill://hub/pdf/.env",
        "file:///etc/passwd",
        "skill://%",
    )

    async def journey(url: str) -> list[int]:
        codes = []
        async with subscribed(url, "legacy") as subscriber:
            for uri in nothing:
                with pytest.raises(MCPError) as refused:
                    await subscriber.subscribe(uri)
                codes.append(refused.value.error.code)
        async with subscribed(url, "auto", *nothing, GUIDE) as subscriber:
            assert subscriber.agreed == [GUIDE]
        return codes

    with listening(hub_environment) as url:
        assert asyncio.run(journey(url)) == [-32602] * len(nothing)


def test_unreadable_rules_are_logged_and_no_change_is_sent(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    skills_dir: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})
    rules = tmp_path / "rules.json"
    rules.write_text('{"permissions": {}}', encoding="utf-8")

    async def journey(url: str) -> None:
        async with subscribed(url, "legacy", GUIDE) as subscriber:
            rules.write_text("{", encoding="utf-8")
            with pytest.raises(MCPError, match="POLICY_UNREADABLE"):
                await subscriber.subscribe(BODY)
            write_skill("pdf", "Another.", files={"references/guide.md": "One."})
            await untold(caplog)
            rules.write_text('{"permissions": {}}', encoding="utf-8")
            put_file(skills_dir / "pdf" / "references" / "guide.md", "Two.")
            assert await subscriber.next() == GUIDE
            assert subscriber.heard.empty()

    with listening({**hub_environment, **own_rules(rules)}) as url:
        asyncio.run(asyncio.wait_for(journey(url), _LONG))


@dataclass(frozen=True, slots=True)
class Tokens:
    """A server of two skills with two tokens: one sees both, one sees `csv` alone."""

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


async def untold(caplog: pytest.LogCaptureFixture) -> None:
    """Return when the server has logged that it cannot notify subscribers."""
    while "Subscribers cannot be notified of changed files" not in caplog.text:  # noqa: ASYNC110 - a log sets no event
        await asyncio.sleep(0.05)


def test_a_change_just_before_another_subscribes_is_sent_all_the_same(
    hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})
    command(hub_environment, "index")

    async def journey(url: str) -> None:
        async with subscribed(url, "legacy", GUIDE) as first:
            put_file(skills_dir / "pdf" / "references" / "guide.md", "Two.")
            async with subscribed(url, "auto", GUIDE):
                # Files are scanned only for a request.
                while first.heard.empty():
                    await first.client.call_tool("search_skills", {"query": "pdf"})
                    await asyncio.sleep(0.2)
                assert await first.next() == GUIDE

    with listening({**hub_environment, "SKILLHUB_SKIP_AUTO_REINDEX": "1"}) as url:
        asyncio.run(asyncio.wait_for(journey(url), _LONG))


def test_a_scan_for_a_caller_with_few_skills_reports_no_other_skill_as_removed(
    tokens: Tokens, write_skill: SkillWriter
) -> None:
    async def journey(url: str) -> None:
        async with (
            bearer(url, tokens.for_csv) as narrow,
            bearer(url, tokens.for_all) as wide,
            wide.client.listen(resource_subscriptions=[BODY, OTHER]) as every,
        ):
            assert (await narrow.call("refresh_index")).code is None
            write_skill("csv", "Another.")
            # The first word is of what has changed.
            assert await asyncio.wait_for(anext(every), _LONG) == ResourceUpdated(uri=OTHER)

    with listening({**tokens.environment, "SKILLHUB_TOOLS": "core,registry"}) as url:
        asyncio.run(journey(url))


def test_a_client_that_left_does_not_keep_the_others_from_being_notified(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})

    async def journey(url: str) -> None:
        async with subscribed(url, "auto", BODY, GUIDE) as listener, subscribed(url, "legacy", BODY) as subscriber:
            async with subscribed(url, "legacy", BODY):
                pass
            for text in ("Another.", "Yet another."):
                write_skill("pdf", text, files={"references/guide.md": "One."})
                assert [await listener.next(), await subscriber.next()] == [BODY, BODY]

    with listening(hub_environment) as url:
        asyncio.run(journey(url))


def test_a_change_during_notifications_is_sent_too(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    skills_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_skill("pdf", files={"references/guide.md": "One."})
    guide = skills_dir / "pdf" / "references" / "guide.md"
    begun, go_on = threading.Event(), threading.Event()
    digests = Publisher.digests

    def slow(self: Publisher, uris: Iterable[str]) -> dict[str, str | None]:
        found = digests(self, uris)
        begun.set()
        assert go_on.wait(_LONG)
        return found

    async def journey(url: str) -> None:
        async with subscribed(url, "legacy", GUIDE, BODY) as subscriber:
            monkeypatch.setattr(Publisher, "digests", slow)
            guide.write_text("Two.", encoding="utf-8")
            assert await asyncio.to_thread(begun.wait, _LONG)
            guide.write_text("Three.", encoding="utf-8")
            await subscriber.subscribe(BODY, no_more=True)
            go_on.set()
            assert [await subscriber.next(), await subscriber.next()] == [GUIDE, GUIDE]

    with listening(hub_environment) as url:
        asyncio.run(asyncio.wait_for(journey(url), _LONG))
    assert "Subscribers cannot be notified" not in caplog.text


def test_an_unexpected_failure_is_not_sent_to_clients_and_stops_nothing(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_skill("pdf")
    close, closed = SkillHub.close, threading.Event()

    def noted(self: SkillHub) -> None:
        closed.set()
        close(self)

    monkeypatch.setattr(SkillHub, "close", noted)

    def broken(_: Publisher, __: Iterable[str]) -> dict[str, str | None]:
        raise OSError("/a/path/of/this/machine")

    async def journey(url: str) -> None:
        async with subscribed(url, "legacy", BODY) as subscriber:
            with monkeypatch.context() as patch:
                patch.setattr(Publisher, "digests", broken)
                with pytest.raises(MCPError, match="Internal server error"):
                    await subscriber.subscribe(OTHER)
                write_skill("pdf", "Another.")
                await untold(caplog)
            write_skill("pdf", "Yet another.")
            assert await subscriber.next() == BODY

    with listening(hub_environment) as url:
        asyncio.run(asyncio.wait_for(journey(url), _LONG))
    assert closed.is_set()


def test_no_client_is_notified_of_a_skill_outside_its_tokens_filter(tokens: Tokens, write_skill: SkillWriter) -> None:
    async def journey(url: str) -> None:
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

    with listening(tokens.environment) as url:
        asyncio.run(journey(url))


def test_subscriptions_have_a_bound(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillhub_mcp.server.notifications.MAX_SUBSCRIPTIONS", 2)
    write_skill("pdf", files={"a.md": "", "b.md": "", "c.md": ""})
    uris = [f"skill://hub/pdf/{name}.md" for name in "abc"]

    async def journey(url: str) -> None:
        async with subscribed(url, "legacy", *uris[:2]) as subscriber:
            with pytest.raises(MCPError, match="uri exceeds the maximum number of subscriptions"):
                await subscriber.subscribe(uris[2])
            await subscriber.subscribe(uris[0], no_more=True)
            await subscriber.subscribe(uris[2])
            for uri in uris:
                await subscriber.subscribe(uri, no_more=True)
        async with subscribed(url, "auto", *uris) as subscriber:
            assert subscriber.agreed == uris[:2]
        monkeypatch.setattr("skillhub_mcp.server.notifications.MAX_SUBSCRIPTIONS", 9)
        monkeypatch.setattr("skillhub_mcp.server.notifications.MAX_WATCHED", 2)
        async with subscribed(url, "auto", *uris[:2]) as first, subscribed(url, "auto", *reversed(uris)) as second:
            # What is watched already is no burden.
            assert (first.agreed, second.agreed) == (uris[:2], [uris[1], uris[0]])

    with listening(hub_environment) as url:
        asyncio.run(journey(url))


def test_a_stateless_server_says_that_clients_of_the_older_era_cannot_subscribe(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("pdf")

    async def journey(url: str) -> None:
        async with mcp.Client(url, mode="legacy") as client:
            assert client.server_capabilities.resources is not None
            assert not client.server_capabilities.resources.subscribe

    with http_server({**hub_environment, "--workers": "2"}) as url:
        asyncio.run(journey(f"{url}/mcp"))
