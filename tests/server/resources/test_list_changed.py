"""A client gets one notification that the skills have changed, in both protocol versions and over every transport."""

from __future__ import annotations

import shutil
from pathlib import Path

import mcp
import pytest
from tests.conftest import SkillWriter, own_file
from tests.server.connections import listening, ways
from tests.server.resources.notified import LIST_CHANGED, Notified, notified, notified_by
from tests.server.sessions import command

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


async def names(client: mcp.Client, query: str) -> list[str]:
    result = await client.call_tool("search_skills", {"query": query})
    assert result.structured_content is not None
    return [skill["name"] for skill in result.structured_content["skills"]]


@ways
@pytest.mark.acceptance("S3-24")
async def test_each_change_is_sent_once_and_its_skills_are_found(
    way: tuple[str, str], hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("already-there", "Something else entirely.")

    def write_birds() -> None:
        for number in range(5):
            write_skill(f"bird-{number}", f"Draws a seagull in pose {number}. Use when the sea is near.")

    def turn_one_into_a_lighthouse() -> None:
        write_skill("bird-2", "Draws a lighthouse. Use when the sea is dark.")

    async with notified_by(way, hub_environment) as client:
        assert await names(client.client, "seagull") == []
        for query, change, found in (
            ("seagull", write_birds, [f"bird-{number}" for number in range(5)]),
            ("lighthouse", turn_one_into_a_lighthouse, ["bird-2"]),
            ("lighthouse", lambda: shutil.rmtree(skills_dir / "bird-2"), []),
        ):
            change()
            assert await client.next() == LIST_CHANGED
            assert sorted(await names(client.client, query)) == found
        # A duplicate notification would be mistaken for the next change.
        assert client.heard.empty()


async def test_a_disabled_or_denied_skill_is_sent_as_removed(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("bird", "Draws a seagull.")
    rules = own_file("permissions.json")
    rules.write_text('{"permissions": {"others": "allow"}}', encoding="utf-8")

    async def list_becomes(expected: list[str], client: Notified) -> None:
        found: list[str] | None = None
        while found != expected:
            assert await client.next() == LIST_CHANGED
            found = [one.name for one in (await client.client.list_resources()).resources]

    with listening(hub_environment) as url:
        async with notified(url, "auto") as modern, notified(url, "legacy") as legacy:
            for change, expected in (
                (lambda: command(hub_environment, "disable", "bird"), []),
                (lambda: command(hub_environment, "enable", "bird"), ["bird"]),
                (lambda: rules.write_text("no rules", encoding="utf-8"), []),
            ):
                change()
                await list_becomes(expected, modern)
                await list_becomes(expected, legacy)


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
    with listening({**hub_environment, **options}) as url:
        async with mcp.Client(url, mode="legacy") as client:
            able = client.server_capabilities
            lists = [able.resources, able.prompts, able.tools]
            assert tuple(one is not None and one.list_changed for one in lists) == sent
