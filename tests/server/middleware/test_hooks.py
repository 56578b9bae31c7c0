"""Hooks that block loading a skill or reading a file apply everywhere."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter
from tests.server.connections import WAYS, Caller, reached

from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS, Action

pytestmark = pytest.mark.slow

ROOT = "skill://project/alpha"


@pytest.fixture
def environment(trusting: dict[str, str], project: Path, tmp_path: Path, write_skill: SkillWriter) -> dict[str, str]:
    root = project / ".agents" / "skills"
    for name in ("alpha", "beta"):
        files: dict[str, str | bytes] = {"notes.md": f"The notes of {name}.\n"}
        write_skill(name, body=f"The body of {name}.\n", root=root, files=files)
    (root / "alpha" / "linked.md").symlink_to("SKILL.md")
    os.link(root / "alpha" / "SKILL.md", root / "alpha" / "hard.md")
    return {**trusting, "SKILLHUB_HOOKS": str(tmp_path / "hooks.json")}


def hooks(environment: dict[str, str], *groups: dict[str, Any]) -> None:
    Path(environment["SKILLHUB_HOOKS"]).write_text(json.dumps({"hooks": {"PreToolUse": groups}}), encoding="utf-8")


def group(matcher: str, command: str) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command}]}


async def tool(hub: Caller, name: str, /, **arguments: Any) -> str:
    said = await hub.call(name, **arguments)
    return f"{said.code or ''} {said.text}"


async def run(hub: Caller, file: str) -> str:
    return await tool(hub, "run_skill_command", skill_name="alpha", command="cat", args=[file])


async def read(hub: Caller, file: str) -> str:
    return await tool(hub, "read_skill_file", skill_name="alpha", file_path=file)


async def resource(hub: Caller, uri: str) -> str:
    try:
        return str(await hub.client.read_resource(uri))
    except MCPError as error:
        return f"{(error.error.data or {}).get('code')} {error.error.message}"


async def prompt(hub: Caller, name: str, /, **arguments: str) -> str:
    try:
        return await hub.prompt(name, **arguments)
    except MCPError as error:
        return f"{(error.error.data or {}).get('code')} {error.error.message}"


Ways = dict[str, Callable[[Caller], Awaitable[str]]]

TO_THE_BODY: Ways = {
    "load_skill": lambda hub: tool(hub, "load_skill", skill_name="alpha"),
    "load_skill by a path": lambda hub: tool(hub, "load_skill", skill_name="alpha@project"),
    "Skill": lambda hub: tool(hub, "Skill", skill="alpha"),
    "skill_load": lambda hub: tool(hub, "skill_load", name="alpha"),
    "skill_load by a path": lambda hub: tool(hub, "skill_load", path=".agents/skills/alpha"),
    "read_skill_file": lambda hub: read(hub, "SKILL.md"),
    "read_skill_file ./": lambda hub: read(hub, "./SKILL.md"),
    "a link": lambda hub: read(hub, "linked.md"),
    "a hard link": lambda hub: read(hub, "hard.md"),
    "run_skill_command": lambda hub: run(hub, "SKILL.md"),
    "a prompt": lambda hub: prompt(hub, "alpha"),
    "the prompt skill": lambda hub: prompt(hub, "skill", name="alpha"),
    "a resource": lambda hub: resource(hub, f"{ROOT}/SKILL.md"),
    "a linked resource": lambda hub: resource(hub, f"{ROOT}/linked.md"),
}
TO_A_FILE: Ways = {
    "read_skill_file": lambda hub: read(hub, "notes.md"),
    "run_skill_command": lambda hub: run(hub, "notes.md"),
    "a resource": lambda hub: resource(hub, f"{ROOT}/notes.md"),
    "the resource of a SKILL.md": lambda hub: resource(hub, f"{ROOT}/SKILL.md"),
}


def said(environment: dict[str, str], way: tuple[str, str], ways: Ways) -> dict[str, str]:
    async def go() -> dict[str, str]:
        async with reached(way, environment) as hub:
            return {name: await act(hub) for name, act in ways.items()}

    return asyncio.run(go())


@pytest.mark.parametrize("way", [*WAYS, ("http", "stateless")], ids="-".join)
def test_a_hook_can_block_every_way_to_a_skill(way: tuple[str, str], environment: dict[str, str]) -> None:
    if way[1] == "stateless":
        environment, way = {**environment, "--workers": "2"}, ("http", "legacy")
    refusing = """! grep -q '"skill_name": "alpha"'"""
    hooks(environment, group("load_skill|read_skill_file", refusing))
    fine: Ways = {
        "load": lambda hub: tool(hub, "load_skill", skill_name="beta"),
        "prompt": lambda hub: prompt(hub, "beta"),
        "resource": lambda hub: resource(hub, "skill://project/beta/notes.md"),
    }
    forbidden = {**TO_THE_BODY, **{f"{name} of a file": act for name, act in TO_A_FILE.items()}}
    answers = said(environment, way, {**forbidden, **fine})
    for name in forbidden:
        assert "BLOCKED_BY_HOOK" in answers[name], (name, answers[name])
        assert "of alpha" not in answers[name], name
    assert all("of beta" in answers[name] for name in fine)


def test_a_hook_gets_the_arguments_of_its_tool_and_the_request(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks(environment, group("load_skill", f"cat >> '{log}'"))
    alpha = Path(environment["SKILLHUB_CWD"], ".agents", "skills", "alpha")
    said(
        environment,
        ("stdio", "auto"),
        {
            name: TO_THE_BODY[name]
            for name in ("load_skill", "load_skill by a path", "Skill", "a prompt", "a resource", "read_skill_file")
        },
    )
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert {line["tool_name"] for line in lines} == {"load_skill"}
    assert [(line["method"], line["tool_input"]["skill_name"]) for line in lines] == [
        ("tools/call", "alpha"),
        # The hook runs again with the canonical name, so no other spelling passes.
        ("tools/call", "alpha@project"),
        ("tools/call", "alpha"),
        ("tools/call", "alpha"),
        ("prompts/get", "alpha"),
        ("resources/read", "alpha"),
        ("tools/call", "alpha"),
    ]
    assert lines[-1]["skill"] == {"name": "alpha", "handle": "alpha", "path": str(alpha)}


def test_every_tool_that_returns_a_skill_is_tested() -> None:
    handing = {name for name in TOOL_ACTIONS if TOOL_ACTIONS.get(name) is not None}
    assert handing == {way for way in TO_THE_BODY if way in TOOL_ACTIONS}
    assert {TOOL_ACTIONS.get(name) for name in handing} == set(Action)
