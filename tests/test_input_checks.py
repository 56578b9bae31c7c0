"""A NUL character in any argument, of a tool, a prompt, a resource, a command or a Python call, is INVALID_ARGUMENT."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.server.connections import Caller, reached

import skillhub_mcp
from skillhub_mcp.cli.main import run
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import refuse_nul

NUL = "one\0"
OTHERS = ("a\x1b[31m\nb", "\x7f\x85\u2028\u202e\uffff")
GIVEN = {"file_path": "a.md", "command": "python3", "saved_state": {}}


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter, project: Path) -> dict[str, str]:
    write_skill("one", root=project / ".agents" / "skills", files={"a.md": "x"})
    own = {"SKILLHUB_CWD": str(project), "SKILLHUB_ROOTS": "project", "SKILLHUB_TOOLS": "all"}
    return {**hub_environment, **own, "SKILLHUB_ENABLE_RUN": "1"}


def calls(tool: mcp_types.Tool, text: str) -> Iterator[dict[str, Any]]:
    """The calls of a tool with `text` in one of its arguments, and the others as they should be."""
    needed = {name: GIVEN.get(name, "one") for name in tool.input_schema.get("required", [])}
    for name, schema in tool.input_schema["properties"].items():
        kind = schema.get("type")
        of_kind: dict[str, list[Any]] = {"string": [text], "array": [[text]], "object": [{text: 1}, {"cwd": [text]}]}
        values = of_kind.get(kind, [])
        yield from ({**needed, name: value} for value in values)


@pytest.mark.slow
@pytest.mark.parametrize("way", [("stdio", "legacy"), ("http", "auto")], ids="-".join)
def test_every_tool_prompt_and_resource_refuses_nul(way: tuple[str, str], environment: dict[str, str]) -> None:
    async def sweep(hub: Caller) -> None:
        tools = await hub.look()
        assert len(tools) > 12
        for tool in tools:
            for arguments in calls(tool, NUL):
                hub.handle = None  # or it would take the place of a handle in the call
                said = await hub.call(tool.name, **arguments)
                assert said.code == "INVALID_ARGUMENT", (tool.name, arguments, said)
                assert "contains a NUL character" in said.text
            for other in OTHERS:
                for arguments in calls(tool, other):
                    # Raises where a tool failed otherwise than by an error of ours.
                    await hub.call(tool.name, **arguments)
        unknown = await hub.call("search_skills", **{"query": "one", NUL: "x"})
        assert unknown.code == "INVALID_ARGUMENT"
        for prompt in (await hub.client.list_prompts()).prompts:
            for argument in prompt.arguments or []:
                refused = await hub.prompt_error(prompt.name, **{"name": "one", argument.name: NUL})
                assert refused.startswith("INVALID_ARGUMENT: "), (prompt.name, argument.name)
        for uri in (f"skill://{NUL}/SKILL.md", NUL):
            with pytest.raises(MCPError, match="INVALID_ARGUMENT: uri contains a NUL character"):
                await hub.client.read_resource(uri)

    async def go() -> None:
        async with reached(way, environment) as hub:
            await sweep(hub)

    asyncio.run(go())


def test_every_python_call_refuses_nul(environment: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir(exist_ok=True)
    registry = skillhub_mcp.Registry([str(tmp_path)])
    loader = skillhub_mcp.SkillLoader(tmp_path)
    root = skillhub_mcp.SkillRoot(NUL, NUL)
    resolver = skillhub_mcp.AgentsResolver(str(tmp_path))
    with hub_of(dict(environment)) as hub:
        refused: list[Callable[[], object]] = [
            lambda: hub.search(NUL),
            lambda: hub.search("one", category=NUL),
            lambda: hub.search("one", tags=["x", NUL]),
            lambda: hub.load(NUL),
            lambda: hub.find(NUL),
            lambda: hub.read_file(NUL, "a.md"),
            lambda: hub.read_file("one", NUL),
            lambda: hub.list_files(NUL),
            lambda: hub.run_command(NUL, "python3"),
            lambda: hub.run_command("one", NUL),
            lambda: hub.run_command("one", "python3", [NUL]),
            lambda: hub.resolve(NUL, cwd="/"),
            lambda: hub.resolve("$one", cwd=NUL),
            lambda: hub.refresh(only=[NUL]),
            lambda: registry.find(NUL),
            lambda: registry.find("one", source=NUL),
            lambda: registry.skills(source=NUL),
            lambda: registry.refresh_index([NUL]),
            lambda: skillhub_mcp.Registry([NUL]),
            lambda: skillhub_mcp.Registry([root]),
            lambda: skillhub_mcp.Registry([{"path": NUL}]),
            lambda: skillhub_mcp.SkillLoader(NUL),
            lambda: loader.get_skill_content(NUL),
            lambda: loader.parse_skill_md(NUL),
            lambda: skillhub_mcp.AgentsResolver(NUL),
            lambda: resolver.resolve(NUL),
            lambda: skillhub_mcp.build_index([NUL]),
            lambda: skillhub_mcp.build_index(cwd=NUL),
            lambda: skillhub_mcp.refresh_index(skillhub_mcp.build_index([tmp_path]), [NUL]),
            lambda: skillhub_mcp.catalogue(NUL),
            lambda: skillhub_mcp.catalogue(cwd=NUL),
            lambda: skillhub_mcp.resolve(NUL),
            lambda: skillhub_mcp.resolve("$one", cwd=NUL),
        ]
        for number, call in enumerate(refused):
            try:
                call()
            except InvalidArgument:
                continue
            pytest.fail(f"call {number} took it")


@pytest.mark.parametrize(
    "arguments",
    [["search", NUL], ["show", NUL], ["context", "load", "--path", NUL], ["list", "--skills-dir", NUL], [NUL]],
)
def test_the_shell_refuses_nul(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "contain" in capsys.readouterr().err


def test_nul_is_found_at_any_depth() -> None:
    for value in (NUL, [NUL], {"a": {"b": ("c", NUL)}}, {NUL: 1}, iter([NUL])):
        with pytest.raises(InvalidArgument, match="given contains a NUL character") as caught:
            refuse_nul(fine="x", given=value)
        assert caught.value.subject == "given"
    refuse_nul(text="a\nb\x01", number=1, nothing=None, raw=b"\0", deep={"a": ["b", 2, None]})
