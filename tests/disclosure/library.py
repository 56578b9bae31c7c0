"""Skills as values, for tests of the card."""

from __future__ import annotations

from typing import Any

from skillhub_mcp.skills.model import FileStamp, Skill


def skill(name: str, description: str = "Does it. Use when due.", **facts: Any) -> Skill:
    """A skill of that name in a directory of its own."""
    return Skill(
        **{
            "name": name,
            "description": description,
            "directory": f"/s/{name}",
            "root": "/s",
            "category": None,
            "tags": (),
            "always_apply": False,
            "allowed_tools": (),
            "license": None,
            "compatibility": None,
            "metadata": {},
            "diagnostics": (),
            "stamp": FileStamp(1, 1, "", 1),
            **facts,
        }
    )
