"""Two replica processes on one bucket serve each publication, even without the storage."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.fakes.object_storage import ObjectStorage
from tests.server.bearers import add_token, bearer, knock
from tests.server.sessions import command, serving

from skillhub_mcp.store.tables import Target

pytestmark = pytest.mark.slow


async def served(url: str, token: str, mode: str) -> dict[str, Any]:
    """Return what a bearer gets from a replica in every way."""
    async with bearer(url, token, mode) as hub:
        found = await hub.call("search_skills", query="feed the walrus")
        loaded = await hub.call("load_skill", skill_name="walrus")
        file = await hub.call("read_skill_file", skill_name="walrus", file_path="diet.md")
        resources = (await hub.client.list_resources()).resources
        tools = (await hub.client.list_tools()).tools
        texts = [getattr((await hub.client.read_resource(one.uri)).contents[0], "text", "") for one in resources]
    return {
        "found": [one["name"] for one in found.json["skills"]],
        "instructions": None if loaded.code else loaded.json["instructions"],
        "code": loaded.code,
        "file": None if file.code else file.json["content"],
        "resources": [str(one.uri) for one in resources],
        "texts": texts,
        "tools": {tool.name for tool in tools},
        "all": " ".join([found.text, loaded.text, file.text, *texts]),
    }


def ready(url: str, token: str) -> dict[str, Any]:
    answer = httpx2.get(url.replace("/mcp", "/readyz"), headers={"authorization": f"Bearer {token}"}, timeout=10)
    details: dict[str, Any] = answer.json()
    return details


def until_ready(urls: list[str], token: str, **wanted: object) -> None:
    """Wait until every replica agrees; fail at a limit."""
    end = time.monotonic() + 60
    for url in urls:
        while ready(url, token).items() & wanted.items() != wanted.items():
            assert time.monotonic() < end, ready(url, token)
            time.sleep(0.05)


def test_two_replicas_follow_publications_without_storage_and_roll_back(
    hub_environment: dict[str, str], bucket: Target, s3: ObjectStorage, tmp_path: Path, write_skill: SkillWriter
) -> None:
    publisher = {**hub_environment, "SKILLHUB_STORAGE_OPTIONS": s3.setting}
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Herring."})
    write_skill("otter", "Feeds the otter.")
    command(publisher, "publish", bucket.name)
    tokens = tmp_path / "tokens.json"
    whole, part = add_token(tokens, "whole"), add_token(tokens, "part", skills=["otter"])
    replica = {
        **publisher,
        "DB_PATH": bucket.name,
        "SKILLS_DIR": str(tmp_path / "nowhere"),
        "SKILLHUB_TOKENS_FILE": str(tokens),
        "SKILLHUB_MIRROR_DIR": str(tmp_path / "mirrors"),
        "SKILLHUB_REFRESH_SECONDS": "0.2",
        "SKILLHUB_ENABLE_RUN": "1",
        "--enable-run-over-http": "1",
    }

    async def both(token: str) -> list[dict[str, Any]]:
        # Clients of different protocols.
        return [await served(url, token, mode) for url, mode in zip(urls, ("auto", "legacy"), strict=True)]

    with serving(replica, "--read-only") as one, serving(replica, "--read-only") as two:
        urls = [one.url, two.url]
        until_ready(urls, whole, index="ready", publication=1, storage="ok", skills=2)
        for answer in asyncio.run(both(whole)):
            assert set(answer["found"]) == {"walrus", "otter"}
            assert (answer["instructions"], answer["file"]) == ("Fish.", "Herring.")
            assert answer["resources"] == ["skill://hub/otter/SKILL.md", "skill://hub/walrus/SKILL.md"]
            assert "Feeds the walrus." in answer["texts"][1]
            assert answer["tools"] == {"search_skills", "load_skill", "read_skill_file"}
            assert str(tmp_path) not in answer["all"]
        # A stream starts before its answer, so a balancer cannot try the other replica any more.
        assert {knock(url, whole).headers["content-type"] for url in urls} == {"application/json"}
        for answer in asyncio.run(both(part)):
            assert (answer["found"], answer["code"]) == (["otter"], "SKILL_NOT_FOUND")
            assert answer["resources"] == ["skill://hub/otter/SKILL.md"]

        write_skill("walrus", "Feeds the walrus.", body="Squid.", files={"diet.md": "Squid."})
        command(publisher, "publish", bucket.name)
        until_ready(urls, whole, publication=2)
        s3.faults.add("GET", "", "503", times=100_000)
        until_ready(urls, whole, index="ready", publication=2, storage="failing")
        for answer in asyncio.run(both(whole)):
            assert (answer["instructions"], answer["file"]) == ("Squid.", "Squid.")
        s3.faults.due.clear()
        until_ready(urls, whole, storage="ok")

        command(publisher, "publish", bucket.name, "--rollback", "1")
        until_ready(urls, whole, publication=3)
        assert [answer["instructions"] for answer in asyncio.run(both(whole))] == ["Fish.", "Fish."]
        for process in (one, two):
            process.process.terminate()
    for process in (one, two):
        said = "".join(process.said)
        assert said.count("The storage of the publication fails") == said.count("answers again") == 1, said
        assert "not offered with --read-only" in said
