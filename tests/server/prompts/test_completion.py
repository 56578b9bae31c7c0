"""Completion of skills' names and of their files' paths, over stdio and HTTP, in both protocol versions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from tests.conftest import SkillWriter, own_rules
from tests.server.connections import WAYS, Caller, listening, reached
from tests.server.sessions import command

from skillhub_mcp.publishing.uris import TEMPLATE
from skillhub_mcp.server.prompts import BY_NAME, complete_path, completion

pytestmark = pytest.mark.slow

Environment = dict[str, str]

ways = pytest.mark.parametrize("way", WAYS, ids=["-".join(way) for way in WAYS])


async def completed(hub: Caller, typed: str, *, path: bool = False) -> mcp_types.Completion:
    reference = mcp_types.ResourceTemplateReference(uri=TEMPLATE) if path else mcp_types.PromptReference(name=BY_NAME)
    result = await hub.client.complete(reference, {"name": "path" if path else "name", "value": typed})
    return result.completion


@ways
def test_names_and_files_are_completed(
    way: tuple[str, str], hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("pdf", files={"references/a b.md": "A.", "scripts/x.py": ""})
    write_skill("read-pdf")
    write_skill("for-models", extra="user-invocable: false")
    environment = {**hub_environment, "SKILLHUB_TOOLS": "core,skill"}

    async def journey() -> None:
        async with reached(way, environment) as hub:
            assert hub.client.server_capabilities.completions is not None
            assert (await completed(hub, "pd")).values == ["pdf", "read-pdf"]
            assert (await completed(hub, "/PDF")).values == ["pdf", "read-pdf"]
            # What is not for people to call is not offered to them.
            assert (await completed(hub, "for")).values == []

            assert (await completed(hub, "hub/pd", path=True)).values == ["hub/pdf/SKILL.md"]
            assert (await completed(hub, "pdf", path=True)).values == ["hub/pdf/SKILL.md", "hub/read-pdf/SKILL.md"]
            files = (await completed(hub, "hub/pdf/", path=True)).values
            assert files == ["hub/pdf/SKILL.md", "hub/pdf/references/a%20b.md", "hub/pdf/scripts/x.py"]
            assert (await completed(hub, "hub/pdf/ref", path=True)).values == files[1:2]
            # Each is what a URI is made of.
            for file in files:
                await hub.client.read_resource(f"skill://{file}")

    asyncio.run(journey())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("tools", ["core", "core,skill"])
def test_what_nothing_is_known_of_is_completed_with_nothing(
    hub_environment: Environment, write_skill: SkillWriter, mode: str, tools: str
) -> None:
    write_skill("pdf")
    environment = {**hub_environment, "SKILLHUB_TOOLS": tools}
    # A prompt that no list has is none to complete.
    not_offered = [(mcp_types.PromptReference(name=BY_NAME), "name")] if tools == "core" else []

    async def journey() -> list[list[str]]:
        async with reached(("http", mode), environment) as hub:
            asked: list[tuple[Any, str]] = [
                *not_offered,
                (mcp_types.PromptReference(name="other"), "name"),
                (mcp_types.PromptReference(name=BY_NAME), "arguments"),
                (mcp_types.ResourceTemplateReference(uri="file:///{path}"), "path"),
                (mcp_types.ResourceTemplateReference(uri=TEMPLATE), "other"),
            ]
            answers = [await hub.client.complete(ref, {"name": name, "value": "p"}) for ref, name in asked]
            answers.append(
                await hub.client.complete(
                    mcp_types.ResourceTemplateReference(uri=TEMPLATE), {"name": "path", "value": "hub/pdf/../../x"}
                )
            )
            return [answer.completion.values for answer in answers]

    assert asyncio.run(journey()) == [[]] * (5 + len(not_offered))


def test_what_is_switched_off_denied_or_filtered_is_not_completed(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:
    for name in ("alpha", "beta", "gamma", "delta"):
        write_skill(name, files={"a.md": "A."})
    rules = tmp_path / "permissions.json"
    rules.write_text(
        json.dumps({"permissions": {"deny": [{"tool": "load_skill", "skill_name": "beta"}]}}), encoding="utf-8"
    )
    environment = {
        **hub_environment,
        **own_rules(rules),
        "SKILLHUB_ENABLED_SKILLS": "alpha,beta,gamma",
        "SKILLHUB_TOOLS": "core,skill",
    }
    command(environment, "disable", "gamma")

    async def journey() -> None:
        async with reached(("http", "auto"), environment) as hub:
            assert (await completed(hub, "")).values == ["alpha"]
            assert (await completed(hub, "", path=True)).values == ["hub/alpha/SKILL.md"]
            for name in ("beta", "gamma", "delta"):
                assert (await completed(hub, f"hub/{name}/", path=True)).values == []

    asyncio.run(journey())


def test_a_file_of_rules_that_cannot_be_read_completes_nothing(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("alpha")
    rules = tmp_path / "permissions.json"
    rules.write_text("{", encoding="utf-8")

    async def journey(url: str) -> None:
        from tests.server.connections import caller

        async with caller(url, "auto") as hub:
            assert (await completed(hub, "")).values == []

    with listening({**hub_environment, **own_rules(rules), "SKILLHUB_TOOLS": "core,skill"}) as url:
        asyncio.run(journey(url))


def test_what_begins_so_comes_before_what_has_a_word_that_does_and_that_before_the_rest() -> None:
    found = completion("read", ["proofread", "pdf-reader", "reader", "Readme", "zzz", "write-read"])
    assert found.values == ["Readme", "reader", "pdf-reader", "write-read", "proofread"]
    assert (found.total, found.has_more) == (5, False)


def test_of_very_many_a_hundred_are_returned_with_their_number() -> None:
    found = completion("s", (f"s{number:05}" for number in range(100_000)))
    assert len(found.values) == 100
    assert (found.values[0], found.total, found.has_more) == ("s00000", 100_000, True)


def test_files_are_asked_for_of_the_one_skill_that_was_typed() -> None:
    asked: list[str] = []

    def files(place: str) -> list[str]:
        asked.append(place)
        return [f"{place}/SKILL.md", f"{place}/b.md"]

    assert complete_path("hub/p", ["hub/pdf", "hub/pdf-forms"], files).values == [
        "hub/pdf-forms/SKILL.md",
        "hub/pdf/SKILL.md",
    ]
    assert complete_path("hub/pdf/b", ["hub/pdf", "hub/pdf-forms"], files).values == ["hub/pdf/b.md"]
    assert asked == ["hub/pdf"]
