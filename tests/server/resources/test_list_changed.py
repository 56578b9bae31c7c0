"""A client gets one notification that the skills have changed, in both protocol versions and over every transport."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from tests.conftest import SkillWriter, own_file
from tests.server.connections import listening as served
from tests.server.connections import piped, stdio, ways
from tests.server.sessions import command

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

_LONG = 30
WORD = "notifications/resources/list_changed"


@asynccontextmanager
async def listening(target: Any, mode: str) -> AsyncIterator[tuple[mcp.Client, asyncio.Queue[str]]]:
    """A client and the change notifications that it gets, by method."""
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: object) -> None:
        if isinstance(message, mcp_types.ResourceListChangedNotification):
            heard.put_nowait(message.method)

    # In the 2026-07-28 protocol it comes on the requested stream, and the SDK passes it to both.
    async with mcp.Client(target, mode=mode, message_handler=on_message if mode == "legacy" else None) as client:
        if mode == "legacy":
            yield client, heard
            return
        async with client.listen(resources_list_changed=True) as subscription:

            async def relay() -> None:
                async for _ in subscription:
                    heard.put_nowait(WORD)

            relaying = asyncio.create_task(relay())
            try:
                yield client, heard
            finally:
                relaying.cancel()
                await asyncio.gather(relaying, return_exceptions=True)


async def names(client: mcp.Client, query: str) -> list[str]:
    result = await client.call_tool("search_skills", {"query": query})
    assert result.structured_content is not None
    return [skill["name"] for skill in result.structured_content["skills"]]


@ways
async def test_each_change_is_sent_once_and_its_skills_are_found(
    way: tuple[str, str], hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    transport, mode = way
    write_skill("already-there", "Something else entirely.")

    def write_birds() -> None:
        for number in range(5):
            write_skill(f"bird-{number}", f"Draws a seagull in pose {number}. Use when the sea is near.")

    def turn_one_into_a_lighthouse() -> None:
        write_skill("bird-2", "Draws a lighthouse. Use when the sea is dark.")

    async def check(target: Any) -> None:
        async with listening(target, mode) as (client, heard):
            for query, change, found in (
                ("seagull", write_birds, [f"bird-{number}" for number in range(5)]),
                ("lighthouse", turn_one_into_a_lighthouse, ["bird-2"]),
            ):
                assert await names(client, query) == []
                change()
                assert await asyncio.wait_for(heard.get(), _LONG) == WORD
                assert sorted(await names(client, query)) == found
            # A duplicate notification would be mistaken for the next change.
            assert heard.empty()

    if transport == "stdio":
        await check(piped(hub_environment))
        return
    with served(hub_environment) as url:
        await check(url)


@pytest.mark.acceptance("S3-24")
async def test_skills_installed_or_removed_by_hand_are_sent_and_indexed(
    hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("already-there", "Draws a lighthouse.")
    async with listening(stdio(hub_environment), "auto") as (client, heard):
        assert await names(client, "lighthouse") == ["already-there"]
        write_skill("installed", "Draws a seagull.")
        await asyncio.wait_for(heard.get(), _LONG)
        assert await names(client, "seagull") == ["installed"]
        shutil.rmtree(skills_dir / "already-there")
        await asyncio.wait_for(heard.get(), _LONG)
        assert await names(client, "lighthouse") == []


async def test_a_disabled_or_denied_skill_is_sent_as_removed(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("bird", "Draws a seagull.")
    rules = own_file("permissions.json")
    rules.write_text('{"permissions": {"others": "allow"}}', encoding="utf-8")

    async def list_becomes(expected: list[str], client: mcp.Client, heard: asyncio.Queue[str]) -> None:
        found: list[str] | None = None
        while found != expected:
            assert await asyncio.wait_for(heard.get(), _LONG) == WORD
            found = [one.name for one in (await client.list_resources()).resources]

    with served(hub_environment) as url:
        async with listening(url, "auto") as modern, listening(url, "legacy") as legacy:
            for change, expected in (
                (lambda: command(hub_environment, "disable", "bird"), []),
                (lambda: command(hub_environment, "enable", "bird"), ["bird"]),
                (lambda: rules.write_text("no rules", encoding="utf-8"), []),
            ):
                change()
                await list_becomes(expected, *modern)
                await list_becomes(expected, *legacy)


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, (True, False, False)),
        ({"SKILLHUB_TOOLS": "core,skill"}, (True, True, False)),
        ({"SKILLHUB_TOOLS": "core,skill", "--workers": "2"}, (False, False, False)),
    ],
    ids=["core", "skill", "stateless"],
)
async def test_an_older_client_learns_which_lists_send_notifications(
    hub_environment: dict[str, str], options: dict[str, str], sent: tuple[bool, ...]
) -> None:
    with served({**hub_environment, **options}) as url:
        async with mcp.Client(url, mode="legacy") as client:
            able = client.server_capabilities
            lists = [able.resources, able.prompts, able.tools]
            assert tuple(one is not None and one.list_changed for one in lists) == sent
