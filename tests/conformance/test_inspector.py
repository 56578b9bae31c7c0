"""The MCP Inspector finds nothing wrong with the server, over HTTP and stdio, in both protocol versions."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import FULL
from tests.conformance.inspector import inspect, over_http, over_stdio
from tests.conformance.library import COUNT, FIRST, FIRST_BODY, FIRST_SKILL
from tests.server.sessions import COMMAND

pytestmark = pytest.mark.conformance

URI = f"skill://hub/{FIRST}/SKILL.md"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspector")


Call = Callable[..., str]

# Each protocol version over each transport at least once.
HTTP, STDIO = "http", "stdio"
WAYS = [(HTTP, "modern"), (HTTP, "legacy"), (STDIO, "modern"), (STDIO, "legacy")]
one_each = pytest.mark.parametrize(("transport", "mode"), [WAYS[0], WAYS[3]])


@pytest.fixture
def call(transport: str, mode: str, home: Path, library: Mapping[str, str], address: Callable[[str], str]) -> Call:
    """The Inspector, to call one method of the server."""
    http = transport == HTTP
    target = over_http(address("full")) if http else over_stdio(home, COMMAND, {**library, **FULL})
    return functools.partial(inspect, home, target, mode)


def result(printed: str) -> Any:
    return json.loads(printed)["result"]


@one_each
def test_tool_schemas_are_portable(call: Call) -> None:
    names = {tool["name"] for tool in result(call("tools/list", "--strict"))["tools"]}
    assert {"search_skills", "skill_load", "agents_context", "available_skills", "Skill"} <= names


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_a_tool_is_called(call: Call) -> None:
    called = result(call("tools/call", "--tool-name", "load_skill", "--tool-arg", f"skill_name={FIRST}"))
    assert json.loads(called["content"][0]["text"])["instructions"] == FIRST_BODY


@one_each
def test_skills_are_listed_and_read_as_resources(call: Call) -> None:
    listed = [resource["uri"] for resource in result(call("resources/list"))["resources"]]
    assert (len(listed), listed[0]) == (COUNT, URI)
    (content,) = result(call("resources/read", "--uri", URI))["contents"]
    assert content["text"] == FIRST_SKILL


@pytest.mark.parametrize(("transport", "mode"), WAYS[:1])
def test_every_file_has_the_digest_that_is_listed(call: Call) -> None:
    reports = [json.loads(line) for line in call("skills/list", "--verify", "--require-digests").splitlines()]
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
