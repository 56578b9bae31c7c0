"""Subscribers of a skill's file are notified of its changes, in both protocol versions, and never of hidden files."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import mcp
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from tests.conftest import SkillWriter, put_file
from tests.server.bearers import add_token, bearer
from tests.server.connections import listening, ways
from tests.server.resources.notified import LONG, Notified, notified, notified_by

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

BODY, GUIDE, OTHER = (f"skill://hub/{file}" for file in ("pdf/SKILL.md", "pdf/references/guide.md", "csv/SKILL.md"))


async def text_of(client: mcp.Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, mcp_types.TextResourceContents)
    return content.text


@ways
async def test_each_file_change_is_sent_to_its_subscribers(
    way: tuple[str, str], hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("pdf", "Reads PDF files.", files={"references/guide.md": "One."})
    write_skill("csv", "Reads tables.")

    async with notified_by(way, hub_environment, BODY, GUIDE) as subscriber:
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
        async with notified(url, "legacy") as subscriber:
            for uri in nothing:
                with pytest.raises(MCPError) as refused:
                    await subscriber.subscribe(uri)
                codes.append(refused.value.error.code)
        async with notified(url, "auto", *nothing, GUIDE) as subscriber:
            assert subscriber.agreed == [GUIDE]
        assert codes == [-32602] * len(nothing)


async def test_no_client_is_notified_of_a_skill_outside_its_tokens_filter(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    for name in ("pdf", "csv"):
        write_skill(name)
    file = tmp_path / "tokens.json"
    for_all, for_csv = add_token(file, "all"), add_token(file, "csv", skills=["csv"])

    with listening({**hub_environment, "SKILLHUB_TOKENS_FILE": str(file)}) as url:
        async with (
            bearer(url, for_csv) as narrow,
            bearer(url, for_all) as wide,
            narrow.client.listen(resource_subscriptions=[BODY, OTHER]) as some,
            wide.client.listen(resource_subscriptions=[BODY, OTHER]) as every,
        ):
            assert some.honored.resource_subscriptions == [OTHER]
            assert every.honored.resource_subscriptions == [BODY, OTHER]
            write_skill("pdf", "Another.")
            assert await asyncio.wait_for(anext(every), LONG) == ResourceUpdated(uri=BODY)
            write_skill("csv", "Another.")
            assert await asyncio.wait_for(anext(every), LONG) == ResourceUpdated(uri=OTHER)
            assert await asyncio.wait_for(anext(some), LONG) == ResourceUpdated(uri=OTHER)
        async with bearer(url, for_csv, "legacy") as narrow:
            with pytest.raises(MCPError):
                await Notified(narrow.client).subscribe(BODY)
