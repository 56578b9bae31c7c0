"""What a host asks that reads skills natively, as raw requests: the SDK's client knows nothing of the extension."""

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
    """A result whatever its fields are."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A JSON-RPC error: its number, its words, and the code and the facts that a program reads."""

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
    """Send a request that is refused and return how."""
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
    """What is read at `uri`; the client asks its person where it is told to."""
    result = await hub.client.read_resource(uri)
    assert isinstance(result, mcp_types.ReadResourceResult)
    (content,) = result.contents
    return content


async def code_of(asking: Awaitable[object]) -> str | None:
    """The code of the error that a request ends in, or None where it does not."""
    try:
        await asking
    except MCPError as error:
        return str(error.error.data["code"])
    return None


def bytes_of(content: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> bytes:
    """The bytes that a host holds against the digest."""
    if isinstance(content, mcp_types.TextResourceContents):
        return content.text.encode()
    return base64.b64decode(content.blob, validate=True)
