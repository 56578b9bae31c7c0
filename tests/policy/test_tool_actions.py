"""The actions of the tools."""

from __future__ import annotations

import asyncio

from tests.server.sessions import in_process

from skillhub_mcp.policy.tool_actions import ALLOWING, DENYING, SESSION_TOOLS, TOOL_ACTIONS, Action, rule_tool


def test_every_registered_tool_has_an_action(hub_environment: dict[str, str]) -> None:
    async def registered() -> list[str]:
        environment = {**hub_environment, "SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1"}
        async with in_process(environment) as client:
            return [tool.name for tool in await client.list_tools()]

    # `agents_read` is only for clients without access to this machine's files.
    assert {*asyncio.run(registered()), "agents_read"} == set(TOOL_ACTIONS)
    assert set(SESSION_TOOLS) <= set(TOOL_ACTIONS)


def test_an_action_decides_which_tools_deny_and_allow_it() -> None:
    assert [rule_tool(action) for action in Action] == ["skill_load", "read_skill_file", "run_skill_command"]
    load = {"skill_load", "load_skill", "Skill"}
    assert [DENYING[action] for action in Action] == [load, load | {"read_skill_file"}, load | {"run_skill_command"}]
    assert [ALLOWING[action] for action in Action] == [load, load | {"read_skill_file"}, {"run_skill_command"}]
