"""Errors of malformed calls: the same text in both protocols, and none from a library."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp
import pytest
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter, is_golden
from tests.server.connections import RUN, Caller, caller, listening
from tests.server.skills_client import Refusal, refused

Environment = dict[str, str]


MALFORMED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_skills", {}),
    ("search_skills", {"q": "pdf"}),
    ("search_skills", {"arguments": {"query": "pdf"}}),
    ("search_skills", {"query": None}),
    ("search_skills", {"query": 5}),
    ("search_skills", {"query": ["pdf"]}),
    ("search_skills", {"query": "x" * 65_537}),
    ("search_skills", {"query": "pdf", "limit": "many"}),
    ("search_skills", {"query": "pdf", "limit": 1.5}),
    ("search_skills", {"query": "pdf", "limit": 0}),
    ("search_skills", {"query": "pdf", "limit": 101}),
    ("search_skills", {"query": "pdf", "tags": "pdf"}),
    ("search_skills", {"query": "pdf", "tags": ["pdf", 5]}),
    ("search_skills", {"query": "pdf", "tags": ["pdf"] * 21}),
    ("search_skills", {"query": "pdf", "source": "mars"}),
    ("search_skills", {"query": "pdf", "source": "two\nlines"}),
    ("search_skills", {"query": "pdf", "explain": "perhaps"}),
    ("search_skills", {"limit": 0, "tags": 3, "colour": "red"}),
    ("load_skill", {"name": "one"}),
    ("load_skill", {"skill_name": {"name": "one"}}),
    ("load_skill", {"skill_name": "one", "part": 0}),
    ("read_skill_file", {"skill_name": "one"}),
    ("read_skill_file", {"skill_name": "one", "file_path": "a.md", "offset": -1}),
    ("run_skill_command", {"skill_name": "one", "command": "ls", "args": "-l"}),
    ("Skill", {"skill_name": "one"}),
    ("refresh_index", {"changes": ["a", 1]}),
    ("build_index", {"mode": "odd", "limit": 5_000}),
    ("skill_search", {"query": "one", "scope": "system"}),
    ("agents_resume_diff", {"saved_state": "x"}),
)
UNKNOWN = ("search_skill", "Search", "load", "nothing-like-it", "x" * 200)
JARGON = ("pydantic", "http", "input_value", "Traceback", "kwargs")


@pytest.fixture
def environment(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    write_skill("one", files={"a.md": "A."})
    return hub_environment


@pytest.fixture
def everything(environment: Environment) -> Environment:
    return {
        **environment,
        "SKILLHUB_TOOLS": "all",
        **RUN,
    }


def in_both_eras(environment: Environment, ask: Any, modes: tuple[str, ...] = ("auto", "legacy")) -> Any:
    """Return the answer, which both protocols must share."""

    async def journey(url: str, mode: str) -> Any:
        async with caller(url, mode) as hub:
            return await ask(hub)

    with listening(environment) as url:
        first, *others = [asyncio.run(journey(url, mode)) for mode in modes]
    assert others in ([], [first])
    return first


async def error_of(asking: Any) -> tuple[int, str, Any]:
    with pytest.raises(MCPError) as failed:
        await asking
    return failed.value.error.code, failed.value.error.message, failed.value.error.data


@pytest.mark.slow
def test_malformed_arguments_are_answered_with_the_valid_ones(everything: Environment) -> None:
    async def ask(hub: Caller) -> list[str]:
        said = [await hub.call(tool, **arguments) for tool, arguments in MALFORMED]
        assert {one.code for one in said} == {"INVALID_ARGUMENT"}
        return [one.text for one in said]

    texts = in_both_eras(everything, ask)
    for text in texts:
        assert not [word for word in JARGON if word in text], text
    shown = [
        f"{tool} {json.dumps(arguments) if len(json.dumps(arguments)) < 200 else '…'}\n  {text}\n"
        for (tool, arguments), text in zip(MALFORMED, texts, strict=True)
    ]
    is_golden("errors/arguments.txt", "".join(shown))


@pytest.mark.slow
def test_an_unknown_tool_is_a_protocol_error_with_the_known_ones(environment: Environment) -> None:
    async def ask(hub: Caller) -> list[tuple[int, str, Any]]:
        return [await error_of(hub.client.call_tool(name, {})) for name in (*UNKNOWN, "run_skill_command", "Skill")]

    answers = in_both_eras(environment, ask)
    assert {code for code, _, _ in answers} == {mcp.types.INVALID_PARAMS}
    for _, message, data in answers:
        assert data["tools"] == ["search_skills", "load_skill", "read_skill_file"]
        assert all(tool in message for tool in data["tools"])
    assert answers[0][2]["near"][0] == "search_skills"
    is_golden("errors/unknown_tools.txt", "".join(f"{message}\n" for _, message, _ in answers))


@pytest.mark.slow
def test_unknown_prompts_and_resources_are_protocol_errors(everything: Environment) -> None:
    async def ask(hub: Caller) -> list[tuple[int, str]]:
        failed = [
            await error_of(hub.client.get_prompt("nothing-like-it")),
            await error_of(hub.client.get_prompt("skill")),
            await error_of(hub.client.get_prompt("skill", {"name": "oen"})),
            await error_of(hub.client.read_resource("skill://hub/nothing/SKILL.md")),
        ]
        return [(code, message) for code, message, _ in failed]

    answers = in_both_eras(everything, ask)
    assert {code for code, _ in answers} == {mcp.types.INVALID_PARAMS}
    is_golden("errors/prompts_and_resources.txt", "".join(f"{message}\n" for _, message in answers))


@pytest.mark.slow
def test_an_invalid_parameter_is_named(environment: Environment) -> None:
    asked: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("tools/call", {"arguments": {}}, "INVALID_ARGUMENT: name is missing."),
        ("tools/call", {"name": "search_skills", "arguments": []}, "INVALID_ARGUMENT: arguments is invalid: "),
        ("resources/read", {"uri": 5}, "INVALID_ARGUMENT: uri is invalid: "),
        ("prompts/get", {"arguments": {}}, "INVALID_ARGUMENT: name is missing."),
        ("tools/list", {"cursor": 5}, "INVALID_ARGUMENT: cursor is invalid: "),
    )

    async def ask(hub: Caller) -> list[Refusal]:
        return [await refused(hub, method, **params) for method, params, _ in asked]

    for (_, _, message), error in zip(asked, in_both_eras(environment, ask, ("legacy",)), strict=True):
        assert error.number == mcp.types.INVALID_PARAMS
        assert error.text.startswith(message)
        assert error.data["argument"] == message.split()[1]
