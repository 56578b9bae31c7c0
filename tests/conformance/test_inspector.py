"""The MCP Inspector finds nothing wrong with the server, over HTTP and stdio, in both protocol versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests import installs
from tests.conformance.conftest import FULL
from tests.conformance.library import COUNT, FIRST, FIRST_BODY, FIRST_SKILL
from tests.server.sessions import COMMAND

pytestmark = pytest.mark.conformance

URI = f"skill://hub/{FIRST}/SKILL.md"


# Each protocol version over each transport at least once.
WAYS = [("http", "modern"), ("http", "legacy"), ("stdio", "modern"), ("stdio", "legacy")]
one_each = pytest.mark.parametrize(("transport", "mode"), [WAYS[0], WAYS[3]])

Call = Callable[..., str]


@pytest.fixture
def call(transport: str, mode: str, tmp_path: Path, library: Mapping[str, str], address: Callable[[str], str]) -> Call:
    """The Inspector's command line, to call one method of the server: it prints lines of JSON.

    Skips the test if the Inspector cannot be installed.
    """
    modules = installs.npm_packages(Path(__file__).with_name("package.json"))
    program = modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    target = ["--server-url", address("full"), "--transport", "http"]
    if transport == "stdio":
        servers = tmp_path / "servers.json"
        server = {"command": COMMAND[0], "args": COMMAND[1:], "env": {**library, **FULL}}
        servers.write_text(json.dumps({"mcpServers": {"skillhub": server}}), encoding="utf-8")
        target = ["--config", str(servers), "--server", "skillhub"]
    command = [str(installs.node()), str(program), "--cli", *target, "--protocol-era", mode, "--format", "json"]

    def inspect(method: str, *arguments: str) -> str:
        environment = {"HOME": str(tmp_path), "MCP_INSPECTOR_SECRET_STORE": "memory"}
        return installs.output_of([*command, "--method", method, *arguments], environment)

    return inspect


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
