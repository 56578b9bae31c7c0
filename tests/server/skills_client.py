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


class Told(mcp_types.Result):
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
    result = await hub.client.session.send_request(request, Told)
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
