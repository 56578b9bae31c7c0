"""The policy gets its tools from the server, and names none itself."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

from tests.server.sessions import in_process

import skillhub_mcp.policy
from skillhub_mcp.mcp_tools import SESSION_TOOLS, TOOL_ACTIONS
from skillhub_mcp.policy.tool_actions import Action, ToolActions

OWN = ToolActions(load=("open", "fetch"), read=("look",), run=("do",), other=("find",))


def test_every_tool_that_a_server_can_register_has_its_facts_and_no_other(hub_environment: dict[str, str]) -> None:
    async def registered() -> list[str]:
        environment = {**hub_environment, "SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1"}
        async with in_process(environment) as client:
            return [tool.name for tool in await client.list_tools()]

    declared = [*TOOL_ACTIONS.load, *TOOL_ACTIONS.read, *TOOL_ACTIONS.run, *TOOL_ACTIONS.other]
    # One tool reads files for clients that do not share this machine's disk, and is not offered here.
    assert sorted([*asyncio.run(registered()), "agents_read"]) == sorted(declared)
    assert set(SESSION_TOOLS) <= set(declared)


def test_the_policy_names_no_tool() -> None:
    for file in Path(skillhub_mcp.policy.__file__).parent.glob("*.py"):
        source = file.read_text(encoding="utf-8")
        texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
        assert not set(TOOL_ACTIONS.by_tool) & {text for text in texts if isinstance(text, str)}, file.name
        assert not [tool for tool in TOOL_ACTIONS.by_tool if "_" in tool and tool in source], file.name


def test_a_tools_action_decides_what_its_denial_and_its_permission_cover() -> None:
    assert [OWN.action(tool) for tool in ("fetch", "look", "do", "find", "unknown")] == [*Action, None, None]
    assert [OWN.rule_tool(action) for action in Action] == ["open", "look", "do"]
    assert [OWN.denying(action) for action in Action] == [
        {"open", "fetch"},
        {"open", "fetch", "look"},
        {"open", "fetch", "do"},
    ]
    assert [OWN.allowing(action) for action in Action] == [{"open", "fetch"}, {"open", "fetch", "look"}, {"do"}]
