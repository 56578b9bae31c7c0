"""Tool texts for models: when to call, what returns and what next, in few bytes."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from tests.server.sessions import in_process

from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS
from skillhub_mcp.server.middleware.instructions import CONTEXT, CORE, SKILL

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]
Tool = dict[str, Any]

EVERYTHING = {"SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1"}
# Each text says when to call, what returns, and what to do next.
WHEN = re.compile(r"\b(Call|call) (it |only |once |before|for|as soon as|when|to)\b")
BACK = re.compile(r"\b[Rr]eturns\b")
NEXT = re.compile(r"\b(call|Load|load|follow|read|Read|go on|Next time|take the place|not be loaded again)\b")


def tools_of(environment: Environment, **options: Any) -> list[Tool]:
    async def listed() -> list[Tool]:
        async with in_process(environment, **options) as client:
            tools = await client.list_tools()
            return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]

    return asyncio.run(listed())


@pytest.fixture(params=[True, False], ids=["with the disk", "without"])
def tools(request: pytest.FixtureRequest, hub_environment: Environment) -> list[Tool]:
    return tools_of({**hub_environment, **EVERYTHING}, expose_paths=request.param)


def test_every_tool_text_says_when_to_call_what_returns_and_what_next(tools: list[Tool]) -> None:
    assert {tool["name"] for tool in tools} | {"agents_read"} == set(TOOL_ACTIONS)
    for tool in tools:
        text = tool["description"]
        for said in (WHEN, BACK, NEXT):
            assert said.search(text), (tool["name"], said.pattern)


def test_every_tool_and_argument_in_a_text_exists(tools: list[Tool]) -> None:
    known = {tool["name"] for tool in tools}
    for name, text in [
        *((tool["name"], tool["description"]) for tool in tools),
        ("", CORE),
        ("", CONTEXT),
        ("", SKILL),
    ]:
        for named in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text):
            assert named in known | {"exit_code", "next_part", "next_offset", "output_dir"}, (name, named)
        arguments = next((set(tool["inputSchema"]["properties"]) for tool in tools if tool["name"] == name), set())
        for named in re.findall(r"(?:with|at|by) `(\w+)`", text):
            assert named in arguments | {"path", "state"}, (name, named)


@pytest.mark.parametrize("tools", ["core", "context", "agents", "registry", "skill"])
async def test_a_set_alone_names_no_tool_that_it_lacks(tools: str, hub_environment: Environment) -> None:
    async with in_process({**hub_environment, "SKILLHUB_TOOLS": tools}, expose_paths=True) as client:
        listed = await client.list_tools()
        said = [client.initialize_result.instructions or ""] if client.initialize_result else []
        shown = [json.dumps(tool.model_dump(mode="json")) for tool in listed]
        offered, text = {tool.name for tool in listed}, " ".join([*said, *shown])
    assert {name for name in TOOL_ACTIONS if "_" in name and re.search(rf"\b{name}\b", text)} <= offered
