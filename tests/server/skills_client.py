"""Raw requests of a host that reads skills natively: the SDK's client does not know the extension."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict
from tests.server.connections import Caller
from tests.server.sessions import Answer


class AnyResult(mcp_types.Result):
    """A result with any fields."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A JSON-RPC error: number, message, code and data."""

    number: int
    text: str
    data: Mapping[str, Any]

    @property
    def code(self) -> str | None:
        return self.data.get("code")


async def ask(hub: Caller, method: str, **params: Any) -> dict[str, Any]:
    """Send a request and return its result."""
    request = mcp_types.Request[dict[str, Any], str](method=method, params=params)
    result = await hub.client.session.send_request(request, AnyResult)
    return result.model_dump(by_alias=True)


async def refused(hub: Caller, method: str, **params: Any) -> Refusal:
    """Send a request that fails, and return its error."""
    try:
        await ask(hub, method, **params)
    except MCPError as error:
        data = error.error.data
        return Refusal(error.error.code, error.error.message, data if isinstance(data, dict) else {})
    raise AssertionError(params)


async def pages(hub: Caller, method: str, key: str) -> list[list[dict[str, Any]]]:
    """Every page of a list."""
    found: list[list[dict[str, Any]]] = []
    more: dict[str, str] = {}
    while True:
        page = await ask(hub, method, **more)
        found.append(page[key])
        if page.get("nextCursor") is None:
            return found
        more = {"cursor": page["nextCursor"]}


async def listed(hub: Caller) -> list[str]:
    """The URIs of all the skills that are listed."""
    return [skill["uri"] for page in await pages(hub, "skills/list", "skills") for skill in page]


async def read(hub: Caller, uri: str) -> mcp_types.TextResourceContents | mcp_types.BlobResourceContents:
    """Read `uri`; the client asks its user if requested."""
    result = await hub.client.read_resource(uri)
    assert isinstance(result, mcp_types.ReadResourceResult)
    (content,) = result.contents
    return content


async def code_of(asking: Awaitable[object]) -> str | None:
    """The error code of a request, or None on success."""
    try:
        await asking
    except MCPError as error:
        return str(error.error.data["code"])
    return None


def bytes_of(content: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> bytes:
    """The bytes that a host verifies."""
    if isinstance(content, mcp_types.TextResourceContents):
        return content.text.encode()
    return base64.b64decode(content.blob, validate=True)


async def tool_uses(hub: Caller, name: str) -> dict[str, Answer]:
    """Load, read and run a skill of the project with each tool that can."""
    return {
        "load_skill": await hub.call("load_skill", skill_name=name),
        "load_skill by source": await hub.call("load_skill", skill_name=f"{name}@project"),
        "Skill": await hub.call("Skill", skill=name),
        "skill_load": await hub.call("skill_load", name=name, force=True),
        "skill_load by path": await hub.call("skill_load", path=f".agents/skills/{name}", force=True),
        "read_skill_file": await hub.call("read_skill_file", skill_name=name, file_path="SKILL.md"),
        "run_skill_command": await hub.call("run_skill_command", skill_name=name, command="cat", args=["SKILL.md"]),
    }


async def tool_lists(hub: Caller, query: str) -> dict[str, str]:
    """Search and list the skills with each tool that can."""
    asked: dict[str, dict[str, object]] = {
        "search_skills": {"query": query},
        "skill_search": {"query": query},
        "skills_list": {"force_reload": True},
        "available_skills": {},
        "build_index": {},
    }
    return {tool: (await hub.call(tool, **arguments)).text for tool, arguments in asked.items()}
