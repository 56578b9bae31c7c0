"""The journey that is the same for every client library.

Imports only the standard library: each `with_….py` beside it runs in the environment of its library, as
`with_….py http URL` or `with_….py stdio COMMAND ENVIRONMENT`, and prints its results as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Reached:
    """A connected client: its instructions and lists, and how it calls a tool and reads a resource.

    A call gives a text, and whether it failed.
    """

    protocol: str
    instructions: str
    tools: Sequence[str]
    resources: Sequence[str]
    call: Callable[[str, dict[str, Any]], Awaitable[tuple[str, bool]]]
    read: Callable[[str], Awaitable[str]]


async def walk(client: Reached) -> dict[str, Any]:
    """Search, load, read and fail as an agent does; return the results."""

    async def reported(tool: str, **arguments: str) -> Any:
        text, failed = await client.call(tool, arguments)
        assert not failed, text
        return json.loads(text)

    found = (await reported("search_skills", query="read a PDF"))["skills"][0]["name"]
    loaded = await reported("load_skill", skill_name=found)
    file = await reported("read_skill_file", skill_name=found, file_path="references/a.md")
    text, failed = await client.call("load_skill", {"skill_name": "nope"})
    uris = [uri for uri in client.resources if uri.endswith(f"/{found}/SKILL.md")]
    return {
        "protocol": client.protocol,
        "instructed": "search_skills" in client.instructions,
        "tools": list(client.tools),
        "found": found,
        "body": loaded["instructions"],
        "file": file["content"],
        "failed": [failed, text.split(".")[0]],
        "resource": [await client.read(uri) for uri in uris],
    }


def show(seen: object) -> None:
    """Print the results for the test."""
    json.dump(seen, sys.stdout)


def target() -> str | tuple[str, list[str], dict[str, str]]:
    """Return what to connect to: a URL, or a command, its arguments and its environment."""
    transport, where, *rest = sys.argv[1:]
    return where if transport == "http" else (where, ["-m", "skillhub_mcp"], json.loads(rest[0]))
