"""The MCP Inspector finds nothing wrong with the server, over HTTP and stdio, in both protocol versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from tests.conformance.conftest import FULL
from tests.conformance.inspector import MODES, inspect, over_http, over_stdio
from tests.conformance.library import COUNT, FIRST, FIRST_BODY, FIRST_SKILL
from tests.server.sessions import COMMAND

pytestmark = pytest.mark.conformance

URI = f"skill://hub/{FIRST}/SKILL.md"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspector")


@pytest.fixture(scope="module", params=["http", "stdio"])
def target(
    request: pytest.FixtureRequest, home: Path, library: Mapping[str, str], address: Callable[[str], str]
) -> Sequence[str]:
    if request.param == "http":
        return over_http(address("full"))
    return over_stdio(home, COMMAND, {**library, **FULL})


@pytest.mark.parametrize("mode", MODES)
def test_the_schemas_of_the_tools_are_portable(home: Path, target: Sequence[str], mode: str) -> None:
    shown = inspect(home, target, mode, "tools/list", "--strict")
    names = {tool["name"] for tool in shown.result["tools"]}
    assert {"search_skills", "skill_load", "agents_context", "available_skills", "Skill"} <= names


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_is_called(home: Path, target: Sequence[str], mode: str) -> None:
    shown = inspect(home, target, mode, "tools/call", "--tool-name", "load_skill", "--tool-arg", f"skill_name={FIRST}")
    assert json.loads(shown.result["content"][0]["text"])["instructions"] == FIRST_BODY


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_fails_is_an_error_of_the_tool(home: Path, target: Sequence[str], mode: str) -> None:
    shown = inspect(home, target, mode, "tools/call", "--tool-name", "load_skill", "--tool-arg", "skill_name=nope")
    assert shown.exit_code == 5  # what the Inspector keeps for isError
    assert "SKILL_NOT_FOUND: No skill is named 'nope'." in shown.printed


@pytest.mark.parametrize("mode", MODES)
def test_the_skills_are_listed_and_read_as_resources(home: Path, target: Sequence[str], mode: str) -> None:
    listed = [resource["uri"] for resource in inspect(home, target, mode, "resources/list").result["resources"]]
    assert (len(listed), listed[0]) == (COUNT, URI)
    (content,) = inspect(home, target, mode, "resources/read", "--uri", URI).result["contents"]
    assert content["text"] == FIRST_SKILL


@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_is_returned(home: Path, target: Sequence[str], mode: str) -> None:
    (message,) = inspect(home, target, mode, "prompts/get", "--prompt-name", FIRST).result["messages"]
    assert FIRST_BODY in message["content"]["text"]


def test_every_file_of_every_skill_has_the_digest_that_is_listed(home: Path, target: Sequence[str]) -> None:
    shown = inspect(home, target, "modern", "skills/list", "--verify", "--require-digests")
    assert shown.exit_code == 0, shown
    reports = [json.loads(line) for line in shown.printed.splitlines()]
    assert len(reports) == COUNT
    assert {report["outcome"] for report in reports} == {"verified"}
    first = next(report for report in reports if report["uri"] == URI)
    assert sorted(file["uri"].removeprefix(f"skill://hub/{FIRST}/") for file in first["files"]) == [
        "SKILL.md",
        "assets/logo.png",
        "empty.txt",
        "references/deep/one.md",
        "references/two.md",
        "scripts/run.py",
    ]
