"""A client gets one notification that the skills have changed, in both protocol versions and over every transport."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.conftest import SkillWriter, own_file
from tests.server.connections import listening as served
from tests.server.connections import modes, piped
from tests.server.sessions import COMMAND, command

pytestmark = pytest.mark.slow

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


async def notifications(target: Any, mode: str, changes: Mapping[str, Callable[[], object]]) -> dict[str, list[str]]:
    """Make each change after the notification of the previous one; return what each query then finds."""
    found = {}
    async with listening(target, mode) as (client, heard):
        for query, change in changes.items():
            assert await names(client, query) == []
            change()
            assert await asyncio.wait_for(heard.get(), _LONG) == WORD
            found[query] = await names(client, query)
        # A duplicate notification would be mistaken for the next change.
        assert heard.empty()
    return found


@modes
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_each_change_is_sent_once_and_its_skills_are_found(
    transport: str, mode: str, hub_environment: dict[str, str], skills_dir: Path, write_skill: SkillWriter
) -> None:
    write_skill("already-there", "Something else entirely.")

    def write_birds() -> None:
        for number in range(5):
            write_skill(f"bird-{number}", f"Draws a seagull in pose {number}. Use when the sea is near.")

    changes: dict[str, Callable[[], object]] = {
        "seagull": write_birds,
        "lighthouse": lambda: write_skill("bird-2", "Draws a lighthouse. Use when the sea is dark."),
        "anchor": lambda: write_skill("anchor", "Draws an anchor."),
    }
    if transport == "stdio":
        found = asyncio.run(notifications(piped(hub_environment), mode, changes))
    else:
        with served(hub_environment) as url:
            found = asyncio.run(notifications(url, mode, changes))
    assert sorted(found["seagull"]) == [f"bird-{number}" for number in range(5)]
    assert (found["lighthouse"], found["anchor"]) == (["bird-2"], ["anchor"])


@pytest.mark.acceptance("S3-24")
def test_skills_installed_or_removed_by_hand_are_sent_and_indexed(
    hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("already-there", "Draws a lighthouse.")

    async def journey() -> tuple[list[str], list[str]]:
        parameters = StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=hub_environment)
        async with listening(stdio_client(parameters), "auto") as (client, heard):
            assert await names(client, "lighthouse") == ["already-there"]
            write_skill("installed", "Draws a seagull.")
            await asyncio.wait_for(heard.get(), _LONG)
            installed = await names(client, "seagull")
            shutil.rmtree(skills_dir / "already-there")
            await asyncio.wait_for(heard.get(), _LONG)
            return installed, await names(client, "lighthouse")

    assert asyncio.run(journey()) == (["installed"], [])


@modes
def test_a_disabled_or_denied_skill_is_sent_as_removed(
    mode: str, hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("bird", "Draws a seagull.")
    rules = own_file("permissions.json")

    def permissions(text: str) -> None:
        rules.write_text(text, encoding="utf-8")

    async def journey(url: str) -> list[list[str]]:
        found = []
        async with listening(url, mode) as (client, heard):
            assert len((await client.list_resources()).resources) == 1
            for change in (
                lambda: command(hub_environment, "disable", "bird"),
                lambda: command(hub_environment, "enable", "bird"),
                lambda: permissions('{"permissions": {"others": "allow", "deny": [{"tool": "skill_load"}]}}'),
                lambda: permissions("no rules"),
            ):
                await asyncio.to_thread(change)
                assert await asyncio.wait_for(heard.get(), _LONG) == WORD
                found.append([one.name for one in (await client.list_resources()).resources])
            assert heard.empty()
        return found

    permissions('{"permissions": {"others": "allow"}}')
    with served(hub_environment) as url:
        assert asyncio.run(journey(url)) == [[], ["bird"], [], []]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, (True, False, False)),
        ({"SKILLHUB_TOOLS": "core,skill"}, (True, True, False)),
        ({"SKILLHUB_TOOLS": "core,skill", "--workers": "2"}, (False, False, False)),
    ],
    ids=["core", "skill", "stateless"],
)
def test_an_older_client_learns_which_lists_send_notifications(
    hub_environment: dict[str, str], options: dict[str, str], told: tuple[bool, ...]
) -> None:
    async def journey(url: str) -> None:
        async with mcp.Client(url, mode="legacy") as client:
            able = client.server_capabilities
            lists = [able.resources, able.prompts, able.tools]
            assert tuple(one is not None and one.list_changed for one in lists) == told

    with served({**hub_environment, **options}) as url:
        asyncio.run(journey(url))
