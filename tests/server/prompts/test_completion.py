"""Completion of skill names, over stdio and HTTP, in both protocols."""

from __future__ import annotations

from typing import Any

import mcp_types
import pytest
from tests.conftest import SkillWriter, own_rules
from tests.server.connections import Caller, reached, two_ways
from tests.server.sessions import command

from skillhub_mcp.server.prompts import BY_NAME, matching

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


async def completed(hub: Caller, typed: str, *, prompt: str = BY_NAME, argument: str = "name") -> list[Any]:
    reference = mcp_types.PromptReference(name=prompt)
    return (await hub.client.complete(reference, {"name": argument, "value": typed})).completion.values


@two_ways
async def test_only_available_skill_names_are_completed(
    way: tuple[str, str], hub_environment: Environment, write_skill: SkillWriter
) -> None:
    for name in ("pdf", "read-pdf", "pdf-denied", "pdf-off", "pdf-filtered"):
        write_skill(name)
    write_skill("for-models", extra="user-invocable: false")
    own_rules(deny=[{"tool": "load_skill", "skill_name": "pdf-denied"}])
    environment = {
        **hub_environment,
        "SKILLHUB_ENABLED_SKILLS": "pdf,read-pdf,pdf-denied,pdf-off,for-models",
        "SKILLHUB_TOOLS": "core,skill",
    }
    command(environment, "disable", "pdf-off")

    async with reached(way, environment) as hub:
        assert hub.client.server_capabilities.completions is not None
        assert await completed(hub, "pd") == ["pdf", "read-pdf"]
        assert await completed(hub, "/PDF") == ["pdf", "read-pdf"]
        assert await completed(hub, "for") == []
        assert await completed(hub, "p", prompt="other") == []
        assert await completed(hub, "p", argument="arguments") == []


def test_completion_orders_prefixes_before_the_rest() -> None:
    found = matching("read", ["proofread", "pdf-reader", "reader", "Readme", "zzz", "write-read"])
    assert found == ["Readme", "reader", "pdf-reader", "proofread", "write-read"]
